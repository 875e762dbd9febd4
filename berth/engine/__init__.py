"""Finds or builds the programs, drives the Pulumi CLI, speaks for Python to a CLI that cannot."""
