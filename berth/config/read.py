"""The way in: a stack file, or the values that Pulumi read from one, to a `StackConfig`."""

import re
from collections.abc import Collection, Mapping
from datetime import date
from pathlib import Path as FilePath

from pydantic import ValidationError

from berth.config.cross_checks import cross_checks
from berth.config.document import DEEPEST_NESTING, SECRET, Document, document_of
from berth.config.nearest import did_you_mean, nearest
from berth.config.problems import ConfigError, Path, Problem, dotted, one_line, plain
from berth.config.rewrite import Rewriter
from berth.config.stack import HF_TOKEN_KEY, StackConfig
from berth.config.yaml_file import read_yaml_file

_PREFIX = "berth:"
_REGION = "aws:region"
_OTHER_ACCOUNT = (
    "aws:accessKey",
    "aws:assumeRoleWithWebIdentity",
    "aws:assumeRoles",
    "aws:secretKey",
    "aws:token",
)
"""Settings of Pulumi's default provider that choose an account. The resources have a provider of
their own, which takes region and profile only."""
_GO_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?) ([+-]\d{2})(\d{2}) (?:[A-Z]+|[+-]\d+)"
)
"""How Pulumi hands on, and writes back, a time that stands in the file without quotes."""

_SHOWN_TOKEN = Problem(
    ("config", HF_TOKEN_KEY),
    "a token in plain text, which everybody with the file can use",
    f"replace it, and set the new one with `pulumi config set --secret {HF_TOKEN_KEY}`",
)


def read_stack_file(path: FilePath, today: date) -> StackConfig:
    """The stack that the file at `path` describes.

    Args:
        path: a Pulumi stack file; keys of other projects in it are left alone.
        today: what `berth:as_of` is when the file leaves it out.

    Raises:
        ConfigError: with every problem of the file, ordered as in the file.
    """
    return _stack(read_yaml_file(path, _shown_path(path)), today)


def with_lines(path: FilePath, problems: Collection[str]) -> list[str]:
    """Problems that name a key, such as `berth:models.chat.tier: ...`, with file and line before.

    Args:
        path: a stack file that has been read before.
        problems: what the planner said of it.
    """
    document = read_yaml_file(path, _shown_path(path))
    return [f"{document.place(_path_of(each.partition(': ')[0]))}: {each}" for each in problems]


def _path_of(key: str) -> Path:
    """`berth:models.chat.tier` as steps in the file."""
    first, *rest = key.split(".")
    return ("config", first, *rest)


def parse_stack(
    values: Mapping[str, object],
    file: str,
    today: date,
    secret_keys: Collection[str] = frozenset(),
) -> StackConfig:
    """The stack that Pulumi's configuration describes.

    Args:
        values: by full key (`berth:tiers`, `aws:region`), JSON texts already decoded.
        file: what messages call the place that the values come from.
        today: what `berth:as_of` is when it is left out.
        secret_keys: full keys whose values are secrets, never to be shown.

    Raises:
        ConfigError: with every problem, ordered as in `values`.
    """
    config = {
        key: {"secure": ""} if key in secret_keys else None if value == "" else value
        for key, value in values.items()
        if key.startswith(_PREFIX) or key in (_REGION, *_OTHER_ACCOUNT)
    }
    return _stack(document_of({"config": config}, file), today)


def stack_file(name: str, folder: FilePath) -> FilePath:
    """The file of the stack `name`, or of `organization/project/name`, in `folder`.

    A path of a file is that file.

    Raises:
        ConfigError: if there is none; it lists those that there are.
    """
    if name.endswith(".yaml") and FilePath(name).is_file():
        return FilePath(name)
    short = name.rsplit("/", 1)[-1]
    files = {each.name[len("Pulumi.") : -len(".yaml")]: each for each in _stack_files(folder)}
    if short in files:
        return files[short]
    where = f"{_shown_path(folder)}/Pulumi.{plain(short)}.yaml"
    if not files:
        raise ConfigError([f"{where}: no such stack, and the folder has none; name its folder"])
    stacks = ", ".join(files)
    otherwise = f"name one of {stacks}"
    fix = did_you_mean(short, files, otherwise)
    if fix != otherwise:
        fix += f" (stacks: {stacks})"
    raise ConfigError([f"{where}: no such stack; {fix}"])


def _stack_files(folder: FilePath) -> list[FilePath]:
    try:
        return sorted(each for each in folder.glob("Pulumi.*.yaml") if each.is_file())
    except OSError:
        return []


def _stack(document: Document, today: date) -> StackConfig:
    settings, problems = _settings(document)
    values = {key: _iso_times(value, depth=0) for key, value in settings.items()}
    stack: StackConfig | None = None
    rewriter = Rewriter(StackConfig, document, _in_file, also_at_the_top=(HF_TOKEN_KEY,))
    try:
        stack = StackConfig.model_validate({"as_of": today} | values)
    except ValidationError as error:
        told = {problem.path for problem in document.problems}
        problems += [each for each in rewriter.problems(error) if each.path not in told]
    for each in cross_checks(values):
        problems.append(Problem(_in_file(each.path), each.what, each.fix))
    problems += [*document.problems, *_secrets(document, rewriter.unknown_keys)]
    if problems or stack is None:
        raise document.refuse(problems)
    return stack


def _settings(document: Document) -> tuple[dict[str, object], list[Problem]]:
    """Berth's own settings without prefix, and what is wrong with the keys around them."""
    root = document.values
    if not isinstance(root, Mapping):
        what = "is empty" if root is None else "is not a mapping"
        raise document.refuse([Problem((), what, "write the stack's settings below config:")])
    config = root.get("config")
    if not isinstance(config, Mapping):
        raise document.refuse(_without_config(root, document))
    problems = [_outside(key) for key in root if key.startswith(_PREFIX)]
    values: dict[str, object] = {}
    for key, value in config.items():
        wrong = _wrong_key(key)
        if wrong is not None:
            problems.append(wrong)
        elif key == HF_TOKEN_KEY:
            problems += [] if value is SECRET else [_SHOWN_TOKEN]
        elif key == _REGION:
            values["region"] = value
        elif key.startswith(_PREFIX):
            values[key.removeprefix(_PREFIX)] = value
    return values, problems


def _without_config(root: Mapping[str, object], document: Document) -> list[Problem]:
    fix = "write the stack's settings below config:"
    if "config" in root:
        what = "is a secret" if root["config"] is SECRET else "is not a mapping"
        return [*document.problems, Problem(("config",), what, fix)]
    likely = nearest("config", root)
    path: Path = (likely,) if likely else ()
    what = "unknown key" if likely else "has no config:"
    return [*document.problems, Problem(path, what, "did you mean config" if likely else fix)]


def _outside(key: str) -> Problem:
    return Problem((key,), "stands outside config:", "move it below config: and indent it")


def _wrong_key(key: str) -> Problem | None:
    """A key of the configuration that Pulumi refuses, or that means another one."""
    path: Path = ("config", key)
    if key == "berth:region":
        return Problem(path, "unknown key", f"did you mean {_REGION}")
    if key in _OTHER_ACCOUNT:
        what = "would choose the account of the look-ups and not that of the resources"
        return Problem(path, what, "remove it; set aws:profile, or AWS_PROFILE where it runs")
    if key.startswith("berth:config:"):
        what, short = "a key with three parts", key.replace("config:", "", 1)
        return Problem(path, what, f"write {plain(short)}")
    if ":" not in key:
        likely = nearest(key, StackConfig.model_fields)
        fix = f"did you mean {dotted(_in_file((likely,)))}" if likely else "write project:key"
        return Problem(path, "has no project before it", fix)
    return None


def _secrets(document: Document, unknown_keys: Collection[Path]) -> list[Problem]:
    """Secrets where Berth needs plain values; below an unknown key they are told with it."""
    problems = []
    for path in document.secrets:
        key = str(path[1]) if len(path) > 1 and path[0] == "config" else ""
        below_unknown = any(path[: len(above)] == above for above in unknown_keys)
        is_ours = key == _REGION or (key.startswith(_PREFIX) and path[1:] != (HF_TOKEN_KEY,))
        if is_ours and not below_unknown:
            what = "is a secret, and Berth reads plain values only"
            problems.append(Problem(path, what, "write the value itself, without secure"))
    return problems


def _in_file(path: Path) -> Path:
    """The path in the file of a path in the vocabulary."""
    if path[:1] == ("region",):
        return ("config", _REGION)
    return ("config", f"{_PREFIX}{path[0]}", *path[1:]) if path else ("config",)


def _iso_times(value: object, depth: int) -> object:
    """The value with times in ISO form; Pulumi rewrites those that stand without quotes."""
    if depth > DEEPEST_NESTING:
        return value  # refused as too deep
    if isinstance(value, Mapping):
        return {key: _iso_times(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_iso_times(item, depth + 1) for item in value]
    match = _GO_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    day, time, hours, minutes = match.groups()
    zone = "Z" if (hours, minutes) in (("+00", "00"), ("-00", "00")) else f"{hours}:{minutes}"
    return f"{day}T{time}{zone}"


def _shown_path(path: FilePath) -> str:
    """The path as a reader types it: relative where it is below the working folder."""
    try:
        shown = path.relative_to(FilePath.cwd()) if path.is_absolute() else path
    except (OSError, ValueError):
        shown = path
    return one_line(str(shown))
