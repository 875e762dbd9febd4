"""Whatever stands in the file, the answer is a stack or lines that its author can act on."""

import copy
import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.config.problems import ConfigError
from berth.config.read import parse_stack, read_stack_file
from berth.config.stack import StackConfig

STACKS = Path(__file__).parents[3] / "stacks"
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(STACKS.glob("Pulumi.*.yaml"))]
VALID = [yaml.safe_load(text) for text in TEXTS]
TODAY = date(2026, 12, 1)
HIDDEN = "AAABAHiddenMarker"
NEVER_SHOWN = (
    HIDDEN,
    "Traceback",
    "pydantic",
    "validation error",
    "Input should",
    "input_value",
    "discriminator",
    "BaseModel",
    "NewCluster",
    "EksTier",
    "http",
    "constraint",
    "Decimal(",
    "object at 0x",
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-1, max_value=20),
    st.floats(),
    st.text(max_size=60),
    st.sampled_from(["", "on", "1.30", "010", "2026-11-30", "2026-11-20T11:30:00", "auto", "eks"]),
    st.just({"secure": HIDDEN}),
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=12), inner, max_size=4),
    ),
    max_leaves=8,
)
changes = st.lists(
    st.tuples(
        st.sampled_from(["drop", "misspell", "replace", "add", "hide", "copy"]),
        st.integers(min_value=0, max_value=10_000),
        junk,
    ),
    min_size=1,
    max_size=6,
)


def containers(value: Any) -> list[Any]:
    """The value and all mappings and lists below it that are not empty."""
    if not isinstance(value, dict | list) or not value:
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [value, *(below for part in parts for below in containers(part))]


def change(stack: dict[str, Any], how: str, seed: int, value: Any) -> None:
    """One edit of the kind that people and programs make, somewhere in the stack."""
    value = copy.deepcopy(value)
    choose = random.Random(seed)
    container = choose.choice(containers(stack) or [stack])
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    if not keys:
        return
    key = choose.choice(keys)
    if how == "drop":
        del container[key]
    elif how == "replace":
        container[key] = value
    elif how == "hide":
        container[key] = {"secure": HIDDEN}
    elif how == "copy":
        container[key] = copy.deepcopy(choose.choice(containers(stack)))
    elif isinstance(container, list):
        container.append(value)
    elif how == "misspell" and isinstance(key, str) and key != "secure":  # it would hide nothing
        at = choose.randrange(len(key) + 1)
        container[key[:at] + choose.choice("aex_-: ") + key[at + 1 :]] = container.pop(key)
    else:
        container[str(value)[:20]] = value


def is_told_well(error: ConfigError, file: str) -> None:
    assert error.lines
    for line in error.lines:
        assert line.startswith(f"{file}:")
        assert "; " in line or line.endswith("change these first")
        assert line.isprintable()
        assert len(line) < 600
        assert not [word for word in NEVER_SHOWN if word in line]


def read_any(folder: Path, content: bytes) -> None:
    path = folder / "any.yaml"
    path.write_bytes(content)
    try:
        stack = read_stack_file(path, TODAY)
    except ConfigError as error:
        is_told_well(error, str(path))
    else:
        assert isinstance(stack, StackConfig)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stacks")


@settings(max_examples=250, deadline=None, derandomize=True, print_blob=False)
@given(st.sampled_from(VALID), changes, st.sampled_from([None, True, False]))
def test_a_changed_stack_is_read_or_refused(
    folder: Path, valid: dict[str, Any], edits: list[tuple[str, int, Any]], flow: bool | None
) -> None:
    stack = copy.deepcopy(valid)
    for how, seed, value in edits:
        change(stack, how, seed, value)

    text = yaml.safe_dump(stack, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    read_any(folder, text.encode("utf-8", "surrogatepass"))


@settings(max_examples=200, deadline=None, derandomize=True, print_blob=False)
@given(st.sampled_from(VALID), changes)
def test_changed_values_from_pulumi_are_read_or_refused(
    valid: dict[str, Any], edits: list[tuple[str, int, Any]]
) -> None:
    stack = copy.deepcopy(valid)
    for how, seed, value in edits:
        change(stack, how, seed, value)
    config = stack.get("config")
    values = json.loads(json.dumps(config, default=str)) if isinstance(config, dict) else {}

    try:
        assert isinstance(parse_stack(values, "stack any", TODAY), StackConfig)
    except ConfigError as error:
        is_told_well(error, "stack any")


@settings(max_examples=200, deadline=None, derandomize=True, print_blob=False)
@given(st.sampled_from(TEXTS), st.integers(0, 2000), st.integers(0, 60), st.text(max_size=20))
def test_a_stack_with_a_piece_exchanged_is_read_or_refused(
    folder: Path, text: str, start: int, length: int, piece: str
) -> None:
    changed = text[:start] + piece + text[start + length :]

    read_any(folder, changed.encode("utf-8", "surrogatepass"))


@settings(max_examples=150, deadline=None, derandomize=True, print_blob=False)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.text(alphabet="-:{}[]&*!|>'\"%@`#,? \n\tab0", max_size=200).map(str.encode),
    )
)
def test_any_bytes_are_read_or_refused(folder: Path, content: bytes) -> None:
    read_any(folder, content)
