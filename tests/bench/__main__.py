"""`make bench`: every measure, as ratios of runs on this machine; seconds depend on it more."""

import importlib
import sys

MEASURES = ("preview", "tiers", "plans", "search", "policies")
"""Modules here, each with a `main` that prints what it measured."""


def main() -> int:
    """Run the measures named on the command line, else all."""
    for name in sys.argv[1:] or MEASURES:
        importlib.import_module(f"tests.bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
