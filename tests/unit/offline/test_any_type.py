"""Types that no table lists: made, unchanged in a second look, read and removed."""

from typing import Any

import pytest

from berth.offline.aws.facts import facts_of
from berth.offline.shapes import Kind, ListOf, MapOf, Scalar, Sdk
from berth.offline.values import UNKNOWN, contains
from tests.unit.offline.conftest import Engine, Providers

VALUES = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "any": "x"}
AWS_TYPES = [token for token in sorted(Sdk("aws").tokens())[::40] if facts_of(token) is None]
KUBERNETES_TYPES = sorted(Sdk("kubernetes").tokens())[::15]


def a_value(kind: Kind) -> Any:
    """The least that a property of this kind can be."""
    if isinstance(kind, Scalar):
        return VALUES[kind.name]
    if isinstance(kind, ListOf):
        return [a_value(kind.item)]
    if isinstance(kind, MapOf):
        return {"k": a_value(kind.item)}
    return {name: a_value(kind.fields[name]) for name in kind.required}


def required_inputs(sdk: Sdk, token: str) -> dict[str, Any]:
    shape = sdk.shape(token)
    assert shape is not None
    return {name: a_value(shape.inputs[name]) for name in shape.required}


def lives_its_life(engine: Engine, token: str, inputs: dict[str, Any]) -> None:
    checked, _ = engine.check(token, inputs)
    resource_id, outputs = engine.create(token, inputs)
    second = engine.diff(token, inputs, inputs, outputs)
    found = engine.read(token, resource_id, inputs=checked, outputs=outputs)
    engine.delete(token, resource_id)

    assert resource_id != ""
    assert not contains(outputs, lambda value: value is UNKNOWN)
    assert second.changes == second.DIFF_NONE
    assert found.id == resource_id
    assert engine.read(token, resource_id, inputs=checked, outputs=outputs).id == ""


@pytest.mark.parametrize("token", AWS_TYPES)
def test_an_aws_type(aws: Engine, token: str) -> None:
    lives_its_life(aws, token, required_inputs(Sdk("aws"), token))


@pytest.mark.parametrize("token", KUBERNETES_TYPES)
def test_a_kubernetes_type(kubernetes: Engine, token: str) -> None:
    lives_its_life(kubernetes, token, required_inputs(Sdk("kubernetes"), token))


def test_a_region_that_is_not_the_providers_own(providers: Providers) -> None:
    engine = providers.connect("aws", {"region": "eu-west-1"})

    resource_id, outputs = engine.create("aws:sqs/queue:Queue", {"region": "ap-south-1"})

    assert outputs["arn"].startswith("arn:aws:sqs:ap-south-1:")
    assert engine.read("aws:sqs/queue:Queue", resource_id, outputs=outputs).id == resource_id
