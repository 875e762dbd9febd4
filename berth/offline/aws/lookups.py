"""What look-ups are asked and answered with: `lookups.yaml`, the pretended account."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from berth.offline.cloud import Cloud
from berth.offline.provider import UnsupportedError
from berth.offline.values import Properties

ANSWERS_FILE: Final = "berth/offline/aws/lookups.yaml"
FUNCTIONS_FILE: Final = "berth/offline/aws/answers.py"


@dataclass(frozen=True, slots=True)
class Asked:
    """One look-up: its arguments, and where it is asked."""

    token: str
    arguments: Properties
    region: str
    account: str
    cloud: Cloud


Answer = Callable[[Asked], Mapping[str, Any]]


@cache
def lookup_data() -> Mapping[str, Any]:
    """The answers file."""
    text = resources.files("berth.offline.aws").joinpath("lookups.yaml").read_text("utf-8")
    data: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    return data


def pretended_account() -> str:
    """The account that everything belongs to, unless the configuration allows another."""
    return str(lookup_data()["account"]["id"])


def missing(asked: Asked, what: str) -> UnsupportedError:
    """An error that says what has no answer, and where to add one."""
    return UnsupportedError(
        f"{asked.token}: {what} has no answer offline; add one to {ANSWERS_FILE}"
    )
