"""A value put into a YAML text: it is read back, and every other character stays."""

import pytest
import yaml

from berth.catalog.pinned_text import with_value

PATH = ("ami_releases", "us-east-1", "releases", "1.35", "AL2023_x86_64_NVIDIA")
TEXT = """\
# of everything
vllm: {tag: v1}   # a tag
ami_releases:
  # read by hand
  us-east-1:
    checked: 2026-11-30   # a Monday
    releases:
      "1.35":
        AL2023_x86_64_NVIDIA: 1.35.1-20261101  # first
      # older
      '1.34': {}
after: 1   # the end
"""


def test_a_value_is_replaced_where_it_stands() -> None:
    changed = with_value(TEXT, PATH, "1.35.2-20261120")

    assert changed == TEXT.replace("1.35.1-20261101", "1.35.2-20261120")


def test_a_new_key_goes_to_the_end_of_its_mapping() -> None:
    changed = with_value(TEXT, (*PATH[:-1], "AL2023_ARM_64_NVIDIA"), "1.35.1-20261101")

    expected = "  # first\n        AL2023_ARM_64_NVIDIA: 1.35.1-20261101\n      # older\n"
    assert changed == TEXT.replace("  # first\n      # older\n", expected)


def test_mappings_that_are_missing_are_made_and_versions_stay_texts() -> None:
    changed = with_value(TEXT, ("ami_releases", "eu-west-1", "releases", "1.30", "X"), "a")

    assert yaml.safe_load(changed)["ami_releases"]["eu-west-1"] == {
        "releases": {"1.30": {"X": "a"}}
    }
    assert changed.startswith(TEXT.partition("after")[0])
    assert changed.endswith("after: 1   # the end\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# only a comment\n", id="comment"),
        pytest.param("a: 1", id="no line break at the end"),
        pytest.param("a: 1\nami_releases: {}  # none yet\n", id="empty mapping"),
        pytest.param("a: [1,\n  2]\n", id="list over two lines"),
        pytest.param("a: |\n  text\n", id="block text"),
    ],
)
def test_the_value_is_read_back_from_any_file(text: str) -> None:
    before = yaml.safe_load(text) or {}
    changed = with_value(text, PATH, "1.35.2-20261120")

    found = yaml.safe_load(changed)
    assert found.pop("ami_releases") == {
        "us-east-1": {"releases": {"1.35": {"AL2023_x86_64_NVIDIA": "1.35.2-20261120"}}}
    }
    before.pop("ami_releases", None)
    assert found == before
    assert [line for line in text.splitlines() if "#" in line and "{}" not in line] == [
        line for line in changed.splitlines() if "#" in line and "none yet" not in line
    ]


def test_an_empty_mapping_loses_no_comment() -> None:
    changed = with_value("ami_releases: {}  # none yet\n", ("ami_releases", "a"), "b")

    assert changed == "ami_releases:\n  a: b  # none yet\n"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param("ami_releases: {us-east-1: {checked: 2026-11-30}}\n", "ami_releases",
                     id="on one line"),
        pytest.param("ami_releases: none\n", "ami_releases", id="a text"),
        pytest.param("- a\n", "the file", id="a list"),
    ],
)  # fmt: skip
def test_what_is_no_mapping_over_lines_is_refused(text: str, where: str) -> None:
    with pytest.raises(ValueError, match=f"{where}: is not a mapping"):
        with_value(text, PATH, "1.35.2-20261120")
