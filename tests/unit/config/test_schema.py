"""The schema that editors complete from: up to date, and of one mind with the reader."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from berth.config.schema import schema_text, stack_schema

STACKS = Path(__file__).parents[3] / "stacks"


class _TimesAsText(yaml.SafeLoader):
    """Reads times as editors do: as text."""


_TimesAsText.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def errors_in(text: str) -> list[str]:
    document: Any = yaml.load(text, Loader=_TimesAsText)
    validator = jsonschema.Draft202012Validator(stack_schema())
    return [error.json_path for error in validator.iter_errors(document)]


def test_the_schema_in_the_repository_is_up_to_date() -> None:
    written = (STACKS / "schema.json").read_text(encoding="utf-8")

    assert written == schema_text(), "run `berth schema`"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(stack_schema())


@pytest.mark.parametrize("path", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda path: path.name)
def test_shipped_stacks_follow_it(path: Path) -> None:
    assert errors_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("max_nodes: 2", "max_node: 2", id="unknown-key"),
        pytest.param("max_nodes: 2", "max_nodes: 0", id="below-the-least"),
        pytest.param("max_nodes: 2", 'max_nodes: "2"', id="number-in-quotes"),
        pytest.param("berth:environment: dev", "berth:environment: prd", id="none-of-few"),
        pytest.param("berth:environment: dev", "berth:enviroment: dev", id="unknown-at-the-top"),
        pytest.param("  berth:environment: dev\n", "", id="missing"),
        pytest.param("    l4:\n", "    L4:\n", id="name"),
        pytest.param("endpoint: private", "endpoint: public", id="endpoint"),
        pytest.param("type: ON_DEMAND", "type: SPOTTY", id="capacity"),
        pytest.param('"1.35"', "1.35", id="version-as-a-number"),
        pytest.param("config:\n", "confg:\n", id="config-misspelt"),
        pytest.param("config:\n", "config:\n  berth:hf_token: hf_A\n", id="token-in-plain-text"),
    ],
)
def test_what_the_reader_refuses_is_marked_in_the_editor(
    old: str, new: str, on_demand: str
) -> None:
    assert errors_in(on_demand) == []

    assert errors_in(on_demand.replace(old, new)) != []


def test_secrets_and_keys_of_other_projects_are_left_open(on_demand: str) -> None:
    text = on_demand.replace(
        "config:\n",
        "encryptionsalt: v1\nconfig:\n  kubernetes:context: 5\n  berth:hf_token: {secure: A}\n",
    )

    assert errors_in(text) == []


def test_every_key_has_a_description() -> None:
    definitions = json.loads(schema_text())["$defs"]

    undescribed = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, schema in definition["properties"].items()
        if "description" not in schema and key != "type"
    ]

    assert undescribed == []
