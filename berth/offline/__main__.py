"""`python -m berth.offline -- CMD ARGS...`: run a command with the offline providers attached."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from berth.offline.environment import DEFAULT_STATE_DIR, offline_environment
from berth.offline.providers import OfflineProviders

_USAGE_ERROR = 2
_SIGNALLED = 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    state_dir = Path(options.state)
    try:
        with OfflineProviders(state_dir) as providers:
            environment = offline_environment(state_dir, providers.debug_providers)
            return run_passing_signals(options.command, {**os.environ, **environment})
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
        default=str(DEFAULT_STATE_DIR),
        metavar="DIR",
        help="folder of the pretended cloud, the backend and Pulumi's home (%(default)s)",
    )
    parser.add_argument("command", nargs="+", metavar="CMD", help="what to run, after --")
    return parser.parse_args(arguments)


def run_passing_signals(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command; Ctrl-C and a polite end go to it, and we wait until it has ended."""
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        print(f"{command[0]}: no such command; check its name or your PATH", file=sys.stderr)
        return _USAGE_ERROR
    # a terminal sends Ctrl-C to the whole group, so the command has it already
    signal.signal(signal.SIGINT, lambda *_: _forward(process, signal.SIGINT))
    signal.signal(signal.SIGTERM, lambda *_: _forward(process, signal.SIGTERM))
    code = process.wait()
    return code if code >= 0 else _SIGNALLED - code


def _forward(process: "subprocess.Popen[bytes]", number: int) -> None:
    if number == signal.SIGINT and sys.stdin.isatty():
        return
    process.send_signal(number)


if __name__ == "__main__":
    sys.exit(main())
