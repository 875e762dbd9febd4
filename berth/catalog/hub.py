"""One model's `config.json` from the Hugging Face hub, for machines that reach it."""

import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from berth.catalog.config_values import MAX_BYTES, ModelConfigError, parse_config

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
TIMEOUT_S = 15


def fetch_config(repository: str) -> Mapping[str, Any]:
    """The configuration of `repository`, with the token of HF_TOKEN where there is one.

    Raises:
        ModelConfigError: if the name is no repository, the hub cannot be reached, refuses, or
            answers with something else.
    """
    shown = repository[:80]
    if REPOSITORY.fullmatch(repository) is None or ".." in repository:
        raise ModelConfigError([f"{shown!r}: is no repository name; give owner/name"])
    request = urllib.request.Request(
        f"https://huggingface.co/{repository}/resolve/main/config.json"
    )
    if token := os.environ.get("HF_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  # https
            text = answer.read(MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        fix = "set HF_TOKEN" if error.code in (401, 403) else "check the name"
        raise ModelConfigError([f"{shown}: the hub answers {error.code}; {fix}"]) from None
    except OSError as error:
        reason = str(getattr(error, "reason", error)).lower()
        fix = "give --model-config FILE instead"
        raise ModelConfigError([f"{shown}: the hub cannot be reached ({reason}); {fix}"]) from None
    if len(text) > MAX_BYTES:
        raise ModelConfigError([f"{shown}: config.json has more than {MAX_BYTES} bytes; check it"])
    return parse_config(text.decode("utf-8", "replace"), shown)
