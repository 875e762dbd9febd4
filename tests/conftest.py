"""What is the same for every test: how Python looks for garbage."""

import gc


def pytest_configure() -> None:
    """Do not look for garbage while modules are loaded: they stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From here on as always, but never again among what was loaded."""
    gc.freeze()
    gc.enable()
