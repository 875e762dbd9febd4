"""A private Kubernetes control plane with simulated GPU nodes, and the `up` of a stack on it."""
