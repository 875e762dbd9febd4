"""What `vllm serve` takes, as its own argument parser lists it."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from berth.catalog.entry import Entry


class VllmOption(Entry):
    """One option."""

    flags: tuple[str, ...]
    """All spellings, the long ones first; `--no-...` among them switches it off."""
    takes_value: bool
    choices: tuple[str, ...] | None = None


class _OptionFile(Entry):
    vllm: str
    read_from: str
    options: tuple[VllmOption, ...]


@cache
def load_vllm_options() -> Mapping[str, VllmOption]:
    """Options of vLLM 0.32.0 by each of their spellings."""
    text = files(__package__).joinpath("vllm_options.json").read_text(encoding="utf-8")
    listed = _OptionFile.model_validate(json.loads(text))
    return {flag: option for option in listed.options for flag in option.flags}
