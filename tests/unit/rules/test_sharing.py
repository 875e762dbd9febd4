"""How many pods may take one GPU: time-slicing, MPS and MIG."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.sharing import (
    Sharing,
    capacity_of,
    mig_layout,
    mig_strategy,
    sharing_of,
)
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import ABSENT, node_group, node_pool, release

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"


def slicing(replicas: Any = 4, kind: str = "timeSlicing", name: str = GPU, more: str = "") -> str:
    """Text of a device plugin configuration."""
    return (
        f"version: v1\nsharing:\n  {kind}:\n{more}    resources:\n"
        f"    - {{name: {name}, replicas: {replicas}}}\n"
    )


RENAMED = "    renameByDefault: true\n"
REFUSING = "    failRequestsGreaterThanOne: true\n"


def operator(data: Any, **config: Any) -> Resource:
    return release(values={"devicePlugin": {"config": {"data": data, **config}}})


def plugin(values: Any) -> Resource:
    return release("nvidia-device-plugin", values=values)


def sharing(*resources: Resource) -> Sharing | None:
    """Of the last resource, a pool."""
    view = view_stack(resources)
    return sharing_of(view.pools[-1], view)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (slicing(), Sharing("gpu-operator", 4, renames=False, refuses_several=False)),
        (slicing(more=RENAMED), Sharing("gpu-operator", 4, renames=True, refuses_several=False)),
        (slicing(more=REFUSING), Sharing("gpu-operator", 4, renames=False, refuses_several=True)),
        (slicing(kind="mps"), Sharing("gpu-operator", 4, renames=False, refuses_several=True)),
        (slicing(2), Sharing("gpu-operator", 2, renames=False, refuses_several=False)),
        (slicing(1), None),
        (slicing(0), None),
        (slicing("many"), None),
        (slicing(name="nvidia.com/mig-1g.10gb"), None),
        ("version: v1", None),
        ("sharing: [1", None),
        (5, None),
    ],
)
def test_a_configuration_of_the_device_plugin(text: Any, expected: Sharing | None) -> None:
    assert sharing(operator({"any": text}), node_group()) == expected


def test_a_resource_with_a_name_of_its_own_is_renamed() -> None:
    text = slicing().replace("replicas: 4", "replicas: 4, rename: nvidia.com/slice")

    found = sharing(operator({"any": text}), node_group())
    assert found is not None
    assert found.renames


LABELLED = {"nvidia.com/device-plugin.config": "ten"}
BOTH = {"two": slicing(2), "ten": slicing(10)}


@pytest.mark.parametrize(
    ("resource", "labels", "replicas"),
    [
        (operator({"any": slicing()}), {}, 4),
        (operator(BOTH), {}, None),
        (operator(BOTH, default="two"), {}, 2),
        (operator(BOTH, default="two"), LABELLED, 10),
        (operator(BOTH, default="none"), {}, None),
        (plugin({"config": {"map": {"any": slicing()}}}), {}, 4),
        (plugin({"config": {"map": BOTH, "default": "ten"}}), {}, 10),
        (plugin({}), {}, None),
        (release("cert-manager", values={"config": {"map": {"any": slicing()}}}), {}, None),
    ],
)
def test_which_configuration_a_pool_gets(
    resource: Resource, labels: dict[str, str], replicas: int | None
) -> None:
    found = sharing(resource, node_group(labels=labels))

    assert (found.replicas if found else None) == replicas


def config_map(data: Any) -> Resource:
    return Resource("kubernetes:core/v1:ConfigMap", "plugin-config", "", {"data": data})


@pytest.mark.parametrize(
    ("data", "replicas"),
    [({"any": slicing()}, 4), ({"any": slicing(), "README": "text"}, 4), ({"any": "text"}, None),
     ({"any": 5}, None), (UNKNOWN, None), (None, None)],
)  # fmt: skip
def test_a_config_map_that_shares(data: Any, replicas: int | None) -> None:
    found = sharing(config_map(data), node_group())

    assert (found.replicas if found else None) == replicas
    assert found is None or found.source == "plugin-config"


def test_without_a_pool_the_only_configuration_counts() -> None:
    assert sharing_of(None, view_stack([config_map({"any": slicing()})])) is not None


@pytest.mark.parametrize(
    ("charts", "strategy"),
    [
        ([release()], "single"),
        ([release(values={"mig": {"strategy": "mixed"}})], "mixed"),
        ([release(valueYamlFiles=[None])], None),
        ([release(valueYamlFiles=["mig: {strategy: mixed}"])], "mixed"),
        ([plugin({"migStrategy": "mixed"})], "mixed"),
        ([plugin({})], None),
        ([release("cert-manager")], None),
        ([], None),
    ],
)
def test_the_mig_strategy(charts: list[Resource], strategy: str | None) -> None:
    assert mig_strategy(view_stack(charts)) == strategy


def sliced(config: Any = "all-1g.10gb", **changes: Any) -> Resource:
    labels = {"nvidia.com/mig.config": config}
    return node_group(**{"instanceTypes": ["p4de.24xlarge"], "labels": labels, **changes})


@pytest.mark.parametrize(
    ("config", "layout"),
    [("all-1g.10gb", "1g.10gb"), ("all-balanced", None), ("all-disabled", None), ("custom", None),
     ("1g.10gb", None), (ABSENT, None)],
)  # fmt: skip
def test_a_layout_that_cuts_every_gpu_alike(config: Any, layout: str | None) -> None:
    labels = {} if config is ABSENT else {"nvidia.com/mig.config": config}

    assert mig_layout(view_stack([sliced(labels=labels)]).pools[0]) == layout


MIXED = release(values={"mig": {"strategy": "mixed"}})
MIG = "nvidia.com/mig-1g.10gb"


@pytest.mark.parametrize(
    ("resources", "key", "capacity"),
    [
        ([node_group(instanceTypes=["g6.12xlarge"])], GPU, 4),
        ([node_group(instanceTypes=["g6.12xlarge", "g6.xlarge"])], GPU, 1),
        (
            [
                node_pool(
                    requirements=[
                        {
                            "key": "node.kubernetes.io/instance-type",
                            "operator": "In",
                            "values": ["g6.12xlarge", "g6.xlarge"],
                        }
                    ]
                )
            ],
            GPU,
            4,
        ),
        ([node_group(instanceTypes=["m7i.large"])], GPU, None),
        ([node_group()], "amd.com/gpu", None),
        ([node_group(instanceTypes=["g4ad.16xlarge"])], "amd.com/gpu", 4),
        ([node_group(instanceTypes=["g4ad.16xlarge"])], GPU, 0),
        ([node_group(instanceTypes=["inf2.48xlarge"])], "aws.amazon.com/neuron", 12),
        # seven slices of 1g.10gb on each of eight A100
        ([MIXED, sliced()], MIG, 56),
        ([MIXED, sliced()], "nvidia.com/mig-2g.20gb", None),
        ([MIXED, sliced()], GPU, None),
        ([release(), sliced()], GPU, 56),
        ([release(), sliced()], MIG, None),
        ([sliced()], GPU, None),
        ([sliced()], MIG, None),
        ([MIXED, sliced("all-9g.90gb")], "nvidia.com/mig-9g.90gb", None),
        ([release(), sliced("all-9g.90gb")], GPU, None),
        ([MIXED, sliced("all-balanced")], MIG, None),
        ([MIXED, sliced("all-balanced")], GPU, 8),
        ([operator({"any": slicing()}), node_group(instanceTypes=["g6.12xlarge"])], GPU, 16),
        ([operator({"any": slicing()}), node_group()], SHARED, None),
        ([operator({"any": slicing(more=RENAMED)}), node_group()], SHARED, 4),
        ([operator({"any": slicing(more=RENAMED)}), node_group()], GPU, None),
    ],
)
def test_what_a_node_has_of_a_resource(
    resources: list[Resource], key: str, capacity: int | None
) -> None:
    view = view_stack(resources)

    assert capacity_of(view.pools[-1], key, view) == capacity


def test_slices_of_the_type_that_has_fewest() -> None:
    # p4d has A100 of 40 GB, of which 1g.10gb are four; p4de has seven.
    view = view_stack([MIXED, sliced(instanceTypes=["p4de.24xlarge", "p4d.24xlarge"])])

    assert capacity_of(view.pools[-1], MIG, view) == 32


def test_an_unknown_configuration_is_not_guessed() -> None:
    with pytest.raises(KnownAfterApplyError):
        sharing(operator({"any": UNKNOWN}), node_group())
