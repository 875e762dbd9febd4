"""How each family of architectures is built: one module per family, one table of class names."""
