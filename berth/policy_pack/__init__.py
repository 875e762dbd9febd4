"""The rules as Pulumi policies, and the analyzer that serves them."""
