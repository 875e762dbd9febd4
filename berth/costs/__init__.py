"""A plan as cost lines and totals. Pure."""
