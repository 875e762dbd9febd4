"""Versions, and the list of programs."""

import re
from pathlib import Path

import pytest

from berth.engine.tools.program import is_at_least, load_recipes, version_numbers

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v3.274.1", (3, 274, 1)),
        ("go1.26", (1, 26, 0)),
        ("3.9.0-alpha.1+dirty", (3, 9, 0)),
        ("etcd Version: 3.7.3", (3, 7, 3)),
        ("devel", None),
    ],
)
def test_version_numbers(text: str, expected: tuple[int, int, int] | None) -> None:
    assert version_numbers(text) == expected


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        pytest.param("v3.100.0", "v3.99.9", True, id="numbers-not-letters"),
        pytest.param("v3.272.0", "v3.272.0", True, id="equal"),
        pytest.param("v3.271.9", "v3.272.0", False, id="one-below"),
        pytest.param("go1.26", "1.26.0", True, id="two-numbers"),
        pytest.param("devel", "1.0.0", False, id="unreadable-is-older"),
    ],
)
def test_is_at_least(found: str, wanted: str, expected: bool) -> None:
    assert is_at_least(found, wanted) is expected


@pytest.mark.parametrize("name", sorted(load_recipes()))
def test_every_program_has_a_go_mod_that_names_its_package(name: str) -> None:
    recipe = load_recipes()[name]

    module = CHECKOUT / "tools" / (recipe.module or name)
    text = (module / "go.mod").read_text("utf-8")

    assert recipe.version in text
    if recipe.package == ".":
        assert (module / "main.go").is_file()
    else:
        assert re.search(rf"^(tool )?\t?{re.escape(recipe.package)}$", text, re.MULTILINE)
