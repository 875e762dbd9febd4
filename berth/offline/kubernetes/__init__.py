"""The stand-in Kubernetes provider."""
