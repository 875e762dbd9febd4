"""Stand-in aws and kubernetes providers: preview and up without an account or a cluster."""
