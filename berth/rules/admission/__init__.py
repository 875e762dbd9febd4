"""The rules that one object decides, as admission policies of Kubernetes (CEL)."""
