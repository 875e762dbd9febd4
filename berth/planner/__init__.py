"""Pure arithmetic: memory, placement, replicas."""
