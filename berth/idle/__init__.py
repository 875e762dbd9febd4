"""GPUs of a live stack that served nothing: what Prometheus saw, and whose money it was."""
