"""Plan, price and check GPU inference stacks; everything that needs no Pulumi program around it."""
