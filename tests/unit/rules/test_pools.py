"""Pools of nodes: what their instance types, images and labels say about the nodes."""

from dataclasses import replace
from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view.instances import load_accelerators
from berth.rules.stack_view.pool import Open, Pool, read_pools
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import (
    ABSENT,
    auto_scaling_group,
    launch_template,
    node_group,
    node_pool,
)

TYPE = "node.kubernetes.io/instance-type"


def pool(*resources: Resource) -> Pool:
    """The last pool of these resources."""
    return read_pools(resources, load_accelerators())[-1]


def group(**changes: Any) -> Pool:
    return pool(node_group(**changes))


def fresh(read: Pool) -> Pool:
    """The same pool with nothing read of it yet."""
    return replace(read)


def asks(**wanted: list[str]) -> list[dict[str, Any]]:
    """Requirements for properties of instances by Karpenter's names."""
    return [
        {
            "key": f"karpenter.k8s.aws/instance-{key.replace('_', '-')}",
            "operator": "In",
            "values": v,
        }
        for key, v in wanted.items()
    ]


MIXED = {"launchTemplate": {"overrides": [{"instanceType": "g6.xlarge"}, {"instanceType": ""}]}}


@pytest.mark.parametrize(
    ("read", "types"),
    [
        (group(), ("g6.xlarge",)),
        (group(instanceTypes=["g6.xlarge", "", "m7i.large"]), ("g6.xlarge", "m7i.large")),
        (group(instanceTypes=ABSENT), ()),
        (pool(auto_scaling_group(mixedInstancesPolicy=MIXED)), ("g6.xlarge",)),
        (pool(node_pool()), ("g6.xlarge",)),
    ],
)
def test_instance_types(read: Pool, types: tuple[str, ...]) -> None:
    assert fresh(read).instance_types == types


def test_a_launch_template_states_the_type_where_the_group_does_not() -> None:
    template = launch_template(id="lt-1", instanceType="p5.48xlarge")
    linked = node_group(instanceTypes=ABSENT, launchTemplate={"id": "lt-1"})

    assert pool(template, linked).instance_types == ("p5.48xlarge",)
    assert pool(launch_template(id="lt-1"), linked).instance_types == ()


def test_types_of_a_template_that_is_not_linked_yet_are_known_after_apply() -> None:
    with pytest.raises(KnownAfterApplyError) as caught:
        _ = group(instanceTypes=ABSENT, launchTemplate={"id": UNKNOWN}).instance_types

    assert caught.value.field == "launchTemplate.id"


TEMPLATE = launch_template(id="lt-1", name="gpu", instanceType="g6.xlarge")
OTHER = launch_template("other", id="lt-2", name="cpu", instanceType="m7i.large")


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"id": "lt-1"}, TEMPLATE),
        ({"id": "lt-2"}, OTHER),
        ({"name": "cpu"}, OTHER),
        ({"id": "lt-9"}, None),
        ({"name": "none"}, None),
        ({"id": UNKNOWN}, UNKNOWN),
        ({"name": UNKNOWN}, UNKNOWN),
        ({"id": UNKNOWN, "name": "gpu"}, TEMPLATE),
        ({"version": "1"}, None),
        (ABSENT, None),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_the_launch_template_that_a_group_names(reference: Any, expected: Any) -> None:
    linked = pool(TEMPLATE, OTHER, node_group(launchTemplate=reference))

    assert linked.launch_template is expected


@pytest.mark.parametrize("key", ["launchTemplateId", "launchTemplateName"])
def test_the_launch_template_of_mixed_instances(key: str) -> None:
    value = {"launchTemplateId": "lt-2", "launchTemplateName": "cpu"}[key]
    policy = {"launchTemplate": {"launchTemplateSpecification": {key: value}}}

    assert (
        pool(TEMPLATE, OTHER, auto_scaling_group(mixedInstancesPolicy=policy)).launch_template
        is OTHER
    )


@pytest.mark.parametrize(
    ("urns", "expected"),
    [(("urn:template",), TEMPLATE), (("urn:other",), OTHER), (("urn:x",), UNKNOWN),
     (("urn:template", "urn:other"), UNKNOWN)],
)  # fmt: skip
def test_the_resource_that_an_unknown_id_was_made_of(urns: tuple[str, ...], expected: Any) -> None:
    token = "aws:eks/nodeGroup:NodeGroup"
    props = {"launchTemplate": {"id": UNKNOWN}}

    linked = Resource(token, "g", "urn:g", props, {"launchTemplate": urns})
    assert pool(TEMPLATE, OTHER, linked).launch_template is expected


def test_a_template_without_a_urn_is_not_linked_by_one() -> None:
    template = Resource(TEMPLATE.type, "t", "", {})
    linked = Resource(
        "aws:eks/nodeGroup:NodeGroup",
        "g",
        "",
        {"launchTemplate": {"id": UNKNOWN}},
        {"launchTemplate": ("",)},
    )

    assert pool(template, linked).launch_template is UNKNOWN


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (group(), False),
        (group(instanceTypes=["m7i.large"]), True),
        (group(instanceTypes=["m7i.large", "g6.xlarge"]), False),
        (group(instanceTypes=["q9new.large"]), False),
        (group(instanceTypes=ABSENT, amiType=ABSENT), True),
        (group(instanceTypes=ABSENT), None),
        (group(instanceTypes=ABSENT, amiType="AL2023_x86_64_STANDARD"), True),
        (group(instanceTypes=ABSENT, amiType=ABSENT, launchTemplate={"id": "lt-9"}), None),
        (
            pool(
                launch_template(id="l"),
                node_group(instanceTypes=ABSENT, amiType=ABSENT, launchTemplate={"id": "l"}),
            ),
            None,
        ),
        (pool(auto_scaling_group()), None),
        (pool(node_pool(requirements=asks(family=["g6"]))), False),
        (pool(node_pool(requirements=asks(family=["m7i", "c7i"]))), True),
        (pool(node_pool(requirements=asks(category=["c", "m", "r"]))), True),
        (pool(node_pool(requirements=asks(category=["m", "g"]))), False),
        (
            pool(
                node_pool(
                    requirements=[
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
                    ]
                )
            ),
            None,
        ),
    ],
)
def test_pools_that_are_sure_to_have_no_gpu(read: Pool, expected: bool | None) -> None:
    assert fresh(read).has_no_gpus is expected


@pytest.mark.parametrize(
    ("read", "vendor"),
    [
        (group(), "nvidia"),
        (group(instanceTypes=["inf2.xlarge"]), "neuron"),
        (group(instanceTypes=["g4ad.xlarge"]), "amd"),
        (group(instanceTypes=["m7i.large"]), None),
        (group(instanceTypes=ABSENT), "nvidia"),
        (group(instanceTypes=ABSENT, amiType="AL2_x86_64_GPU"), "nvidia"),
        (group(instanceTypes=ABSENT, amiType="AL2023_x86_64_NEURON"), "neuron"),
        (group(instanceTypes=ABSENT, amiType="AL2023_x86_64_STANDARD"), None),
        (group(instanceTypes=ABSENT, amiType=UNKNOWN), None),
        (group(instanceTypes=UNKNOWN), "nvidia"),
    ],
)
def test_makers_of_the_accelerators(read: Pool, vendor: str | None) -> None:
    assert fresh(read).vendor == vendor


def test_the_maker_is_unknown_with_the_types_where_the_image_does_not_say() -> None:
    with pytest.raises(KnownAfterApplyError):
        _ = group(instanceTypes=UNKNOWN, amiType=ABSENT).vendor


@pytest.mark.parametrize(
    ("ami_type", "expected"),
    [
        ("AL2023_x86_64_NVIDIA", True),
        ("BOTTLEROCKET_ARM_64_NVIDIA", True),
        ("AL2_x86_64_GPU", True),
        ("AL2023_x86_64_STANDARD", False),
        ("AL2023_x86_64_NEURON", False),
        ("CUSTOM", False),
        (ABSENT, False),
    ],
)
def test_images_with_the_driver(ami_type: Any, expected: bool) -> None:
    assert group(amiType=ami_type).has_driver_image is expected


@pytest.mark.parametrize(
    ("template", "changes", "expected"),
    [
        ({"imageId": "ami-1"}, {"amiType": ABSENT}, "CUSTOM"),
        ({}, {"amiType": ABSENT}, None),
        ({"imageId": "ami-1"}, {"amiType": "AL2_x86_64"}, "AL2_x86_64"),
    ],
)
def test_an_image_of_the_template_makes_the_ami_type_custom(
    template: dict[str, Any], changes: dict[str, Any], expected: str | None
) -> None:
    linked = node_group(launchTemplate={"id": "lt-1"}, **changes)

    assert pool(launch_template(id="lt-1", **template), linked).ami_type == expected


def test_only_managed_groups_have_an_ami_type() -> None:
    scaled = auto_scaling_group(launchTemplate={"id": "lt-1"})

    assert pool(launch_template(id="lt-1", imageId="ami-1"), scaled).ami_type is None


@pytest.mark.parametrize(
    ("read", "fewest", "most"),
    [
        (group(scalingConfig={"minSize": 1, "maxSize": 4}), 1, 4),
        (group(minSize=1), None, None),
        (pool(auto_scaling_group(minSize=2, maxSize=3)), 2, 3),
        (
            pool(Resource("kubernetes:karpenter.sh/v1:NodePool", "p", "", {"minSize": 1})),
            None,
            None,
        ),
    ],
)
def test_bounds_of_the_number_of_nodes(read: Pool, fewest: int | None, most: int | None) -> None:
    assert (fresh(read).node_bound("minSize"), fresh(read).node_bound("maxSize")) == (fewest, most)


@pytest.mark.parametrize(
    ("read", "expected"),
    [(pool(node_pool("system")), True), (pool(node_pool("general-purpose")), True),
     (pool(node_pool("gpu")), False), (pool(node_group("system")), False)],
)  # fmt: skip
def test_pools_that_auto_mode_brings(read: Pool, expected: bool) -> None:
    assert fresh(read).is_of_auto_mode is expected


def test_taints_of_an_auto_scaling_group_are_arguments_of_its_kubelets() -> None:
    assert pool(auto_scaling_group(taints=[])).taints is None
    assert group(taints=ABSENT).taints == ()


def test_taints_of_a_node_pool_are_in_its_template() -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}

    assert [str(t) for t in pool(node_pool(taints=[taint])).taints or ()] == [
        "nvidia.com/gpu:NoSchedule"
    ]


@pytest.mark.parametrize(
    ("read", "key", "expected"),
    [
        (group(), "pool", "pool"),
        (group(labels={"a": 5}), "a", Open.NOT_SHOWN),
        (group(labels={"a": UNKNOWN}), "a", Open.NOT_SHOWN),
        (group(), "team", None),
        (group(), "nvidia.com/gpu.product", Open.AT_RUN_TIME),
        (group(labels={"nvidia.com/gpu.product": "L4"}), "nvidia.com/gpu.product", "L4"),
        (group(), "topology.kubernetes.io/zone", Open.AT_RUN_TIME),
        (group(), "kubernetes.io/hostname", Open.AT_RUN_TIME),
        (group(), "kubernetes.io/os", "linux"),
        (group(), "beta.kubernetes.io/os", "linux"),
        (group(), "kubernetes.io/arch", "amd64"),
        (group(), "beta.kubernetes.io/arch", "amd64"),
        (group(amiType="AL2023_ARM_64_NVIDIA"), "kubernetes.io/arch", "arm64"),
        (group(amiType="AL2_ARM_64"), "kubernetes.io/arch", "arm64"),
        (group(amiType="CUSTOM", instanceTypes=["g5g.xlarge"]), "kubernetes.io/arch", "arm64"),
        (group(amiType=ABSENT), "kubernetes.io/arch", "amd64"),
        (
            group(amiType=ABSENT, instanceTypes=["g5g.xlarge", "g6.xlarge"]),
            "kubernetes.io/arch",
            Open.AT_RUN_TIME,
        ),
        (group(amiType=ABSENT, instanceTypes=UNKNOWN), "kubernetes.io/arch", Open.AT_RUN_TIME),
        (group(), TYPE, Open.NOT_SHOWN),
        (group(nodeGroupName="gpu"), "eks.amazonaws.com/nodegroup", "gpu"),
        (group(), "eks.amazonaws.com/nodegroup", Open.NOT_SHOWN),
        (group(), "eks.amazonaws.com/capacityType", "ON_DEMAND"),
        (group(capacityType="SPOT"), "eks.amazonaws.com/capacityType", "SPOT"),
        (group(capacityType=UNKNOWN), "eks.amazonaws.com/capacityType", Open.NOT_SHOWN),
        (group(), "karpenter.sh/nodepool", None),
        (pool(node_pool("gpu")), "karpenter.sh/nodepool", "gpu"),
        (pool(node_pool("gpu")), "karpenter.sh/capacity-type", Open.AT_RUN_TIME),
        (pool(node_pool("gpu")), "team", None),
        (
            pool(node_pool("gpu", requirements=[{"key": "team", "operator": "Exists"}])),
            "team",
            Open.AT_RUN_TIME,
        ),
        (pool(node_pool("gpu")), "eks.amazonaws.com/nodegroup", None),
        (pool(node_pool("gpu")), "eks.amazonaws.com/capacityType", None),
        (pool(auto_scaling_group()), "kubernetes.io/os", Open.NOT_SHOWN),
    ],
)
def test_labels_of_nodes(read: Pool, key: str, expected: Any) -> None:
    assert fresh(read).label(key) == expected


def test_labels_of_a_node_pool_are_in_its_template() -> None:
    resource = node_pool()
    template = {**resource.props["spec"]["template"], "metadata": {"labels": {"team": "ml"}}}
    labelled = Resource(resource.type, "p", "", {"spec": {"template": template}})

    assert pool(labelled).label("team") == "ml"


def test_other_resources_are_no_pools() -> None:
    others = [
        launch_template(),
        Resource("kubernetes:karpenter.sh/v1:NodeClaim", "c", "", {}),
        Resource("kubernetes:example.com/v1:NodePool", "p", "", {}),
    ]

    assert read_pools(others, load_accelerators()) == ()
