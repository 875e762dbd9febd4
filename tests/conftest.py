"""What is the same for every test: interrupts, and how Python looks for garbage."""

import gc
import signal


def pytest_configure() -> None:
    """Take interrupts, also in a job in the background, which starts with them ignored.

    And do not look for garbage while modules are loaded: they stay.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()


def pytest_collection_finish() -> None:
    """From here on as always, but never again among what was loaded."""
    gc.freeze()
    gc.enable()
