"""The host for Python programs that a Pulumi CLI without one starts and talks to."""
