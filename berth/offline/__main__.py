"""`python -m berth.offline -- CMD ARGS...`: run a command with the offline providers attached."""

import argparse
import os
import signal
import sys

# While the imports below run, an interrupt just ends this process, without a traceback.
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from collections.abc import Sequence
from pathlib import Path

from berth.offline.command import run_command
from berth.offline.environment import DEFAULT_STATE_DIR, offline_environment
from berth.offline.providers import OfflineProviders
from berth.offline.stack_files import find_project_dir, without_salt

_USAGE_ERROR = 2
_SIGNALLED = 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    project_dir = find_project_dir(Path.cwd())
    state_dir = options.state or (project_dir or Path.cwd()) / DEFAULT_STATE_DIR
    try:
        with OfflineProviders(state_dir) as providers, without_salt(project_dir):
            environment = {**os.environ, **offline_environment(state_dir, providers)}
            if project_dir is not None:
                environment["PATH"] = _path_with_made_programs(project_dir)
            return run_command(options.command, environment)
    except OSError as error:
        print(f"{state_dir}: {error.strerror}; name another folder with --state", file=sys.stderr)
        return _USAGE_ERROR


def _path_with_made_programs(project_dir: Path) -> str:
    """The PATH, and after all else the programs that `berth tools` made for the project."""
    made = project_dir / ".berth" / "bin"
    return os.pathsep.join([os.environ.get("PATH", os.defpath), str(made)])


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
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(_SIGNALLED + signal.SIGINT)
