"""Options of an engine in a file or an application, as words of a command."""

from collections.abc import Mapping

import yaml


def options_of_file(text: str) -> list[str] | None:
    """Options of an engine's configuration file as words; None if it cannot be read."""
    try:
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return None
    return options_as_words(data) if isinstance(data, Mapping) else None


def options_as_words(options: Mapping[object, object]) -> list[str]:
    """`{tensor_parallel_size: 2}` as `--tensor-parallel-size=2`."""
    words = []
    for key, value in options.items():
        if not isinstance(key, str) or value is False or not isinstance(value, str | int | float):
            continue
        name = f"--{key.lstrip('-').replace('_', '-')}"
        words.append(name if value is True else f"{name}={value}")
    return words
