"""The aws package as the service sees it: its configuration, and a provider for each."""

import json
import os
from typing import Any

from berth.offline.aws.control_plane import ControlPlaneAddress
from berth.offline.aws.facts import known_types
from berth.offline.aws.lookups import pretended_account
from berth.offline.aws.provider import SDK, AwsProvider, AwsSettings, settings_of
from berth.offline.changes import Comparison
from berth.offline.checks import Problem, unknown_settings
from berth.offline.cloud import Cloud
from berth.offline.provider import Difference
from berth.offline.schema import schema_of
from berth.offline.servicer import Package
from berth.offline.values import Properties

_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


def aws_package(cloud: Cloud, control_plane: ControlPlaneAddress | None = None) -> Package:
    """The stand-in for the aws package over a pretended cloud."""
    return Package(
        name="aws",
        version=SDK.version,
        configure=lambda config: AwsProvider(cloud, _settings(config), control_plane),
        check_config=_check_config,
        diff_config=_diff_config,
        schema=lambda: schema_of(SDK, known_types()),
        components="components need the real aws provider; run it without the offline providers",
    )


def _settings(config: Properties) -> AwsSettings:
    return settings_of(config, _region_of_environment(), pretended_account())


def _region_of_environment() -> str:
    return next((os.environ[name] for name in _REGION_VARIABLES if os.environ.get(name)), "")


def _check_config(config: Properties) -> tuple[Properties, list[Problem]]:
    problems = unknown_settings(config, SDK.config_keys())
    if not config.get("region") and not _region_of_environment():
        text = "missing region; set it with `pulumi config set aws:region us-east-1`"
        problems.append(Problem(("region",), text))
    return config, problems


def _diff_config(old: Properties, new: Properties) -> Difference:
    """As the real provider: another region or account is another provider, the rest is not."""
    changes = Comparison(lenient=True).changes(_parsed(old), _parsed(new))
    replacing = [change for change in changes if change.path[0] in ("region",)]
    return Difference(changes=tuple(changes), replacing=tuple(replacing))


def _parsed(config: Properties) -> Properties:
    return {key: _json(value) for key, value in config.items() if key != "version"}


def _json(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value
