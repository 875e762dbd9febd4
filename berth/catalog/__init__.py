"""Facts as data: GPUs, instance types, models, software, dated prices; each has source and day."""
