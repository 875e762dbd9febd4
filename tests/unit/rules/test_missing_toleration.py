"""What runs on GPU nodes tolerates the taints of a pool that it may be put on."""

from typing import Any

import pytest

from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    ABSENT,
    GPU_TAINT,
    GPU_TOLERATION,
    auto_scaling_group,
    container,
    deployment,
    found,
    gpus,
    launch_template,
    node_group,
    node_pool,
    not_checked,
    pod_spec,
    release,
)

KIND = "missing-toleration"
DEDICATED = {"key": "dedicated", "value": "inference", "effect": "NO_SCHEDULE"}
PLUGIN = container(
    name="plugin", image="nvcr.io/nvidia/k8s-device-plugin:v0.20.0", resources=ABSENT
)


def intolerant(**changes: Any) -> Any:
    return deployment(pod_spec(tolerations=ABSENT, **changes))


def test_the_fix_is_the_toleration() -> None:
    (finding,) = found(KIND, intolerant(), node_group())

    assert finding.message == (
        "chat: spec.template.spec.tolerations does not tolerate nvidia.com/gpu=true:NoSchedule of "
        "pool pool, where it must run; tolerate what the pool is tainted with"
    )
    assert finding.fix == (
        "add tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}] to "
        "spec.template.spec"
    )
    assert (finding.severity, finding.enforcement_level) == ("high", "mandatory")


def test_a_list_that_is_there_is_added_to() -> None:
    (finding,) = found(KIND, deployment(), node_group(taints=[GPU_TAINT, DEDICATED]))

    assert finding.fix == (
        "add {key: dedicated, operator: Exists, effect: NoSchedule} to "
        "spec.template.spec.tolerations"
    )


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (GPU_TOLERATION, 0),
        ({"operator": "Exists"}, 0),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, 0),
        ({"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}, 0),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "true"}, 0),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, 1),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, 1),
        ({"key": "gpu", "operator": "Exists"}, 1),
        ({"key": "nvidia.com/gpu"}, 1),
    ],
)
def test_tolerations_match_as_kubernetes_matches_them(
    toleration: dict[str, Any], expected: int
) -> None:
    pod = deployment(pod_spec(tolerations=[toleration]))

    assert len(found(KIND, pod, node_group())) == expected


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        ({"key": "a", "effect": "NO_SCHEDULE"}, 1),
        ({"key": "a", "effect": "NO_EXECUTE"}, 1),
        ({"key": "a", "effect": "PREFER_NO_SCHEDULE"}, 0),
        ({"key": "node.cilium.io/agent-not-ready", "effect": "NO_EXECUTE"}, 0),
    ],
)
def test_only_taints_that_stay_and_refuse_count(taint: dict[str, Any], expected: int) -> None:
    assert len(found(KIND, deployment(), node_group(taints=[taint]))) == expected


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ([], 0),
        ([node_group(taints=ABSENT)], 0),
        ([node_group("a"), node_group("b", taints=ABSENT)], 0),
        ([node_group("a"), node_group("b")], 1),
        ([node_group(instanceTypes=["m7i.large"])], 0),
        ([node_pool(taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}])], 1),
        ([node_pool(startupTaints=[{"key": "a", "effect": "NoSchedule"}])], 0),
    ],
    ids=[
        "no-pool",
        "untainted",
        "one-open",
        "both-shut",
        "cpu",
        "karpenter",
        "startup",
    ],
)
def test_one_pool_that_can_be_entered_is_enough(pools: list[Any], expected: int) -> None:
    assert len(found(KIND, intolerant(), *pools)) == expected


def test_taints_of_an_auto_scaling_group_are_not_shown() -> None:
    template = launch_template("lt", name="lt", instanceType="g6.xlarge")
    group = auto_scaling_group(launchTemplate={"name": "lt", "version": "$Latest"})

    assert found(KIND, intolerant(), template, group) == []
    assert found(KIND, intolerant(), template, group, node_group()) == []


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"pool": "shut"}, 1),
        ({"pool": "open"}, 0),
        ({"pool": "elsewhere"}, 0),
        ({"eks.amazonaws.com/nodegroup": "shut-group"}, 1),
        ({"node.kubernetes.io/instance-type": "p5.48xlarge"}, 1),
        ({"node.kubernetes.io/instance-type": "g6.xlarge"}, 0),
        ({"nvidia.com/gpu.product": "NVIDIA-L4", "pool": "shut"}, 1),
        ({"kubernetes.io/arch": "arm64"}, 0),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, 1),
    ],
)
def test_only_pools_that_the_pod_selects_count(selector: dict[str, str], expected: int) -> None:
    shut = node_group(
        "shut",
        instanceTypes=["p5.48xlarge"],
        nodeGroupName="shut-group",
        capacityType="SPOT",
    )
    open_pool = node_group("open", taints=ABSENT, nodeGroupName="open-group")

    assert len(found(KIND, intolerant(nodeSelector=selector), shut, open_pool)) == expected


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ["shut", "third"], 1),
        ("In", ["shut", "open"], 0),
        ("NotIn", ["open"], 1),
        ("NotIn", ["shut"], 0),
        ("Exists", [], 0),
        ("DoesNotExist", [], 0),
    ],
)
def test_required_affinity_selects_too(operator: str, values: list[str], expected: int) -> None:
    expression = {"key": "pool", "operator": operator, "values": values}
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = intolerant(affinity={"nodeAffinity": required})

    assert len(found(KIND, pod, node_group("shut"), node_group("open", taints=ABSENT))) == expected


def test_a_pool_of_another_vendor_does_not_count() -> None:
    amd = intolerant_amd()

    assert found(KIND, amd, node_group()) == []


def intolerant_amd() -> Any:
    server = container(resources=gpus(1, key="amd.com/gpu"))
    return deployment(pod_spec(server, tolerations=ABSENT))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (deployment(pod_spec(PLUGIN, tolerations=ABSENT), kind="DaemonSet"), 1),
        (deployment(pod_spec(PLUGIN), kind="DaemonSet"), 0),
        (deployment(pod_spec(PLUGIN, tolerations=ABSENT)), 0),
        (deployment(pod_spec({"name": "web", "image": "nginx:1.29"}, tolerations=ABSENT)), 0),
    ],
    ids=["agent", "tolerant-agent", "no-daemon-set", "web"],
)
def test_gpu_agents_count_and_other_pods_do_not(pod: Any, expected: int) -> None:
    assert len(found(KIND, pod, node_group())) == expected


@pytest.mark.parametrize(
    ("chart", "values", "lists"),
    [
        ("gpu-operator", {}, []),
        ("gpu-operator", {"daemonsets": {"tolerations": []}}, ["values.daemonsets.tolerations"]),
        (
            "gpu-operator",
            {"node-feature-discovery": {"worker": {"tolerations": [{"key": "a"}]}}},
            ["values.node-feature-discovery.worker.tolerations"],
        ),
        (
            "gpu-operator",
            {
                "nfd": {"enabled": False},
                "node-feature-discovery": {"worker": {"tolerations": [{"key": "a"}]}},
            },
            [],
        ),
        ("nvidia-device-plugin", {}, []),
        ("nvidia-device-plugin", {"tolerations": [{"key": "a"}]}, ["values.tolerations"]),
        ("dcgm-exporter", {}, ["values.tolerations"]),
        ("dcgm-exporter", {"tolerations": [GPU_TOLERATION]}, []),
        ("dcgm-exporter", {"nodeSelector": {"pool": "other"}}, []),
        ("cert-manager", {"tolerations": []}, []),
    ],
)
def test_charts_tolerate_by_value_or_default(
    chart: str, values: dict[str, Any], lists: list[str]
) -> None:
    findings = found(KIND, release(chart, values=values), node_group())

    assert [f.message.split(": ")[1].split(" ")[0] for f in findings] == lists


def test_the_operator_has_two_lists_and_both_are_named() -> None:
    pool = node_group(taints=[DEDICATED])

    fixes = [finding.fix for finding in found(KIND, release("gpu-operator"), pool)]

    toleration = "{key: dedicated, operator: Exists, effect: NoSchedule}"
    assert fixes == [
        f"add {toleration} to values.daemonsets.tolerations",
        f"add {toleration} to values.node-feature-discovery.worker.tolerations",
    ]


def test_values_that_come_from_a_file_are_not_guessed() -> None:
    chart = release("dcgm-exporter", valueYamlFiles=[None])

    assert found(KIND, chart, node_group()) == []


@pytest.mark.parametrize(
    ("pod", "pool", "field"),
    [
        (deployment(pod_spec(tolerations=UNKNOWN)), node_group(), "spec.template.spec.tolerations"),
        (
            deployment(pod_spec(tolerations=[{"key": UNKNOWN, "operator": "Exists"}])),
            node_group(),
            "spec.template.spec.tolerations[0].key",
        ),
        (deployment(), node_group(taints=UNKNOWN), "taints"),
        (intolerant(nodeSelector=UNKNOWN), node_group(), "spec.template.spec.nodeSelector"),
        (intolerant(nodeSelector={"pool": UNKNOWN}), node_group(), "whether pool pool takes it"),
        (
            intolerant(),
            node_group(instanceTypes=ABSENT, amiType="CUSTOM", launchTemplate={"id": UNKNOWN}),
            "whether pool pool takes it",
        ),
    ],
)
def test_what_is_known_after_apply_is_not_judged(pod: Any, pool: Any, field: str) -> None:
    assert not_checked(KIND, pod, pool) == [f"chat: not checked: {field} is known after apply"]


def test_what_is_known_elsewhere_settles_it() -> None:
    exists = {"operator": "Exists"}

    assert (
        not_checked(KIND, deployment(pod_spec(tolerations=[UNKNOWN, exists])), node_group()) == []
    )
    assert not_checked(KIND, deployment(), node_group("a"), node_group("b", taints=UNKNOWN)) == []
    assert (
        not_checked(KIND, intolerant(nodeSelector={"pool": UNKNOWN}), node_group(taints=[])) != []
    )
