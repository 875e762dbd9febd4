"""Facts as data: GPUs, instance types, models, software and dated prices, each with its source and day."""
