"""The comment of a pull request: what a change costs, rendered and posted."""
