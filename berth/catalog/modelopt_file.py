"""ModelOpt's `hf_quant_config.json`: where older repositories tell their format."""

import re
from collections.abc import Mapping
from typing import Any

MODELOPT_FILE = "hf_quant_config.json"
_FORMAT_IN_NAME = re.compile(
    r"(?<![a-z0-9])(nvfp4|mxfp4|fp8|awq|gptq|int4|int8)(?![a-z0-9])", re.IGNORECASE
)


def needs_modelopt_file(config: Mapping[str, Any]) -> bool:
    """Whether `config` itself tells no format; where it does, the other file does not count.

    Source: vLLM, `get_config` in `transformers_utils/config.py`.
    """
    return config.get("quantization_config") is None


def with_modelopt_file(config: Mapping[str, Any], content: Mapping[str, Any]) -> Mapping[str, Any]:
    """`config` with the format that the `content` of the file tells, if any."""
    told = content.get("quantization")
    if not isinstance(told, dict) or told.get("quant_algo") is None:
        return config
    return {**config, "quantization_config": {**told, "quant_method": "modelopt"}}


def format_in_name(name: str) -> str | None:
    """The format that a repository or file is named after, as `berth plan` spells it."""
    found = _FORMAT_IN_NAME.search(name)
    return found[1].lower() if found else None
