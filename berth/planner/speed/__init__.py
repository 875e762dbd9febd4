"""How fast a model server answers: what a step takes, and what a load makes of it."""
