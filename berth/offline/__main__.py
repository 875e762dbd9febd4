"""`python -m berth.offline -- CMD ARGS...`: run a command with the offline providers attached."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from berth.offline.command import run_command
from berth.offline.environment import DEFAULT_STATE_DIR, offline_environment
from berth.offline.providers import OfflineProviders
from berth.offline.stack_files import find_project_dir, without_salt

_USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    project_dir = find_project_dir(Path.cwd())
    state_dir = options.state or (project_dir or Path.cwd()) / DEFAULT_STATE_DIR
    try:
        with OfflineProviders(state_dir) as providers, without_salt(project_dir):
            environment = offline_environment(state_dir, providers)
            return run_command(options.command, {**os.environ, **environment})
    except OSError as error:
        print(f"{state_dir}: {error.strerror}; name another folder with --state", file=sys.stderr)
        return _USAGE_ERROR


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m berth.offline",
        description="Run a command with stand-in aws and kubernetes providers attached.",
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="folder of the pretended cloud, the backend and Pulumi's home "
        f"(default: {DEFAULT_STATE_DIR} below the project)",
    )
    parser.add_argument("command", nargs="+", metavar="CMD", help="what to run, after --")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
