"""Pulumi components that declare what a plan says; they look nothing up and decide nothing."""
