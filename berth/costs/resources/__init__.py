"""Cost lines from what the Pulumi engine shows: previews, exports and streams of events."""
