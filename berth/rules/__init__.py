"""The pitfalls as plain functions over plain data; no Pulumi."""
