"""Settings of `berth check`: what the policy pack's own configuration says, and exceptions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from berth.config.problems import ConfigError
from berth.rules.environment import ENVIRONMENTS
from berth.rules.exceptions import EXCEPTIONS_POLICY, PolicyException, read_exceptions
from berth.rules.finding import Finding
from berth.rules.rule import Rule

_LEVELS: Final = ("advisory", "mandatory", "remediate", "disabled")
_TYPES: Final[Mapping[str, Any]] = {"boolean": bool, "string": str, "array": list}


@dataclass(frozen=True, slots=True)
class Settings:
    """Levels and options by rule id; `all` is for every rule that has none of its own."""

    levels: Mapping[str, str]
    options: Mapping[str, Mapping[str, Any]]
    environment: str | None

    def apply(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings at the levels that were chosen, without those of disabled rules."""
        left = []
        for finding in findings:
            level = self.levels.get(finding.kind) or self.levels.get("all")
            if level == "disabled":
                continue
            if level in ("advisory", "mandatory"):
                finding = replace(finding, enforcement_level=level)  # type: ignore[arg-type]
            left.append(finding)
        return left


def read_settings(path: str | None, rules: Sequence[Rule]) -> Settings:
    """Read a configuration of the pack, in JSON or YAML.

    Raises:
        ConfigError: if it names a rule or a setting that does not exist.
    """
    data = _load(path) if path else {}
    if not isinstance(data, Mapping):
        raise ConfigError([f"{path}: no mapping; give rule ids with a level or settings"])
    known = {rule.id: rule for rule in rules}
    problems: list[str] = []
    levels: dict[str, str] = {}
    options: dict[str, dict[str, Any]] = {}
    environment: str | None = None
    for name, stated in data.items():
        if name == EXCEPTIONS_POLICY:
            continue
        if name != "all" and name not in known:
            problems.append(f"{path}: {name} is no rule; see `berth check --list`")
            continue
        entry = {"enforcementLevel": stated} if isinstance(stated, str) else stated
        if not isinstance(entry, Mapping):
            problems.append(f"{path}: {name}: neither a level nor settings; give one of them")
            continue
        level = entry.get("enforcementLevel")
        if level is not None and level not in _LEVELS:
            problems.append(f"{path}: {name}: {level} is no level; use {', '.join(_LEVELS)}")
        elif level is not None:
            levels[name] = level
        own = {k: v for k, v in entry.items() if k not in ("enforcementLevel", "environment")}
        _check_options(f"{path}: {name}", own, known.get(name), problems)
        options[name] = own
        environment = entry.get("environment") or environment
    if environment is not None and environment not in ENVIRONMENTS:
        problems.append(f"{path}: environment {environment}: use {' or '.join(ENVIRONMENTS)}")
    if problems:
        raise ConfigError(problems)
    return Settings(levels, options, environment)


def _check_options(
    where: str, stated: Mapping[str, Any], rule: Rule | None, problems: list[str]
) -> None:
    for key, value in stated.items():
        schema = rule.options.get(key) if rule else None
        if schema is None:
            problems.append(f"{where}: {key} is no setting of it; see `berth check --list`")
        elif not isinstance(value, _TYPES[schema["type"]]):
            problems.append(f"{where}: {key}: no {schema['type']}; give one")


def load_exceptions(
    path: str | None, config: str | None, rules: Sequence[Rule]
) -> tuple[PolicyException, ...]:
    """The exceptions of a file, and those in the pack's configuration.

    Raises:
        ConfigError: if one is not whole.
    """
    found: list[PolicyException] = []
    for name in filter(None, (path, config)):
        data = _load(name)
        if name == config:
            data = data.get(EXCEPTIONS_POLICY) if isinstance(data, Mapping) else None
            if data is None:
                continue
        try:
            found += read_exceptions(data, [rule.id for rule in rules])
        except ValueError as error:
            raise ConfigError([f"{name}: {line}" for line in str(error).splitlines()]) from None
    return tuple(found)


def _load(path: str) -> Any:
    text = Path(path).read_text(encoding="utf-8")
    try:
        if path.endswith(".json"):
            return json.loads(text)
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except (ValueError, yaml.YAMLError) as error:
        first = str(error).splitlines()[0]
        raise ConfigError([f"{path}: cannot be read ({first}); mend it"]) from None
