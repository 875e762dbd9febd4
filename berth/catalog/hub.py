"""One model's configuration from the Hugging Face hub, for machines that reach it."""

import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from berth.catalog.config_values import MAX_BYTES, ModelConfigError, parse_config
from berth.catalog.modelopt_file import MODELOPT_FILE, needs_modelopt_file, with_modelopt_file

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
HUB = "https://huggingface.co"
TIMEOUT_S = 15


def fetch_config(repository: str) -> Mapping[str, Any]:
    """The configuration of `repository`, with the format from ModelOpt's file where it has one.

    HF_TOKEN is the token and HF_ENDPOINT another hub, as Hugging Face's own programs take them.

    Raises:
        ModelConfigError: if the name is no repository, the hub cannot be reached, refuses, or
            answers with something else.
    """
    if REPOSITORY.fullmatch(repository) is None or ".." in repository:
        shown = repository[:80]
        raise ModelConfigError([f"{shown!r}: is no repository name; give owner/name"])
    config = _fetched(repository, "config.json", needed=True)
    if not needs_modelopt_file(config):
        return config
    return with_modelopt_file(config, _fetched(repository, MODELOPT_FILE, needed=False))


def _fetched(repository: str, file_name: str, *, needed: bool) -> Mapping[str, Any]:
    """One file of `repository`; nothing where it is not `needed` and not there."""
    shown = repository[:80]
    hub = os.environ.get("HF_ENDPOINT") or HUB
    if not hub.startswith(("https://", "http://")):
        raise ModelConfigError([f"HF_ENDPOINT: {hub[:80]} is no web address; start it with https"])
    request = urllib.request.Request(  # noqa: S310  # checked above
        f"{hub.rstrip('/')}/{repository}/resolve/main/{file_name}"
    )
    if token := os.environ.get("HF_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310  # as above
            text = answer.read(MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        if error.code == 404 and not needed:
            return {}
        fix = "set HF_TOKEN" if error.code in (401, 403) else "check the name"
        raise ModelConfigError([f"{shown}: the hub answers {error.code}; {fix}"]) from None
    except OSError as error:
        reason = str(getattr(error, "reason", error)).lower()
        fix = "give --model-config FILE instead"
        raise ModelConfigError([f"{shown}: the hub cannot be reached ({reason}); {fix}"]) from None
    if len(text) > MAX_BYTES:
        raise ModelConfigError([f"{shown}: {file_name} has more than {MAX_BYTES} bytes; check it"])
    return parse_config(text.decode("utf-8", "replace"), shown)
