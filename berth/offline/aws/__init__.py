"""The stand-in AWS provider."""
