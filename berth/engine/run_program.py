"""Runs one Pulumi program in the program's own interpreter.

Started by file name with an interpreter that may not have Berth, so it imports only Pulumi's SDK.
"""

import argparse
import asyncio
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

ALREADY_SHOWN = 32
"""Exit code that tells the language host: the user has seen the reason."""

INTERRUPTED = 130
"""128 + SIGINT, as a shell reports it."""


class SdkMissingError(Exception):
    """The interpreter of the program has no Pulumi SDK; the text is one line."""


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Read what the language host passes on from the engine."""
    parser = argparse.ArgumentParser(description="Run a Pulumi program.", allow_abbrev=False)
    for name in ("monitor", "engine", "project", "stack", "organization", "root-directory"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("program", type=Path)
    parser.add_argument("arguments", nargs="*")
    return parser.parse_args(arguments)


def connect(arguments: argparse.Namespace) -> None:
    """Tell the SDK where the engine is and what the stack's configuration says.

    Raises:
        SdkMissingError: when there is no SDK to tell.
    """
    try:
        import pulumi.runtime
    except ImportError as error:
        raise SdkMissingError(
            f"{sys.executable}: cannot import the Pulumi SDK ({error}); install it there, or name "
            "the environment that has it under runtime.options.virtualenv"
        ) from None

    pulumi.runtime.set_all_config(
        pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env()
    )
    settings = pulumi.runtime.Settings(
        monitor=arguments.monitor,
        engine=arguments.engine,
        project=arguments.project,
        stack=arguments.stack,
        organization=arguments.organization,
        root_directory=arguments.root_directory,
        parallel=arguments.parallel,
        dry_run=arguments.dry_run,
    )
    pulumi.runtime.configure(settings)


def run(program: Path, parallel: int) -> int:
    """Run the program inside a stack until every resource is registered.

    Returns:
        0, or `ALREADY_SHOWN` when it failed and the engine has been told why.
    """
    import pulumi.runtime

    entry = program / "__main__.py" if program.is_dir() else program
    if not entry.is_file():
        pulumi.log.error(f"{entry}: no such program; add it or correct `main` in Pulumi.yaml")
        return ALREADY_SHOWN
    sys.path.insert(0, str(entry.parent))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    # A failing program leaves futures unread; asyncio's complaints would bury its own error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    executor = ThreadPoolExecutor(max_workers=max(parallel, 1) * 4)
    loop.set_default_executor(executor)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: start(entry)))
    except KeyboardInterrupt:
        leave_at_once()
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return ALREADY_SHOWN
    except Exception as error:
        shown = "".join(traceback.format_exception(without_frames_above(error, entry)))
        pulumi.log.error(f"Program failed with an unhandled exception:\n{shown}")
        return ALREADY_SHOWN
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        loop.close()
    return 0


def start(entry: Path) -> None:
    """Execute the program's file as Python itself would."""
    try:
        runpy.run_path(str(entry), run_name="__main__")
    except KeyboardInterrupt:
        leave_at_once()


def leave_at_once() -> NoReturn:
    """End after Ctrl-C, once the program's own `finally` has run.

    The SDK would wait for an engine that is ending too, and report that as an error of the program.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def without_frames_above(error: Exception, entry: Path) -> Exception:
    """The error with a traceback that begins in the program, where it passes through it."""
    if isinstance(error, SyntaxError) and error.filename == str(entry):
        return error.with_traceback(None)
    frame = error.__traceback__
    while frame is not None and Path(frame.tb_frame.f_code.co_filename) != entry:
        frame = frame.tb_next
    return error.with_traceback(frame) if frame is not None else error


def main() -> int:
    """Run the program named on the command line and return its exit code."""
    arguments = parse_arguments(sys.argv[1:])
    own_folder = str(Path(__file__).resolve().parent)
    sys.path[:] = [entry for entry in sys.path if entry != own_folder]
    program = Path(arguments.program).resolve()
    sys.argv = [str(program), *arguments.arguments]
    try:
        connect(arguments)
        return run(program, arguments.parallel)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SdkMissingError as error:
        print(error, file=sys.stderr)
        return ALREADY_SHOWN
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
