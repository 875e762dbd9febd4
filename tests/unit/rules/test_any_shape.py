"""Resources of any shape: no rule fails on one, whatever its author wrote."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from berth.rules.check import check
from berth.rules.registry import RULES
from berth.rules.resource import Resource
from berth.rules.rule import run_rule
from berth.rules.stack_view import view_stack
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    GPU_TAINT,
    auto_scaling_group,
    container,
    deployment,
    gpus,
    launch_template,
    leader_worker_set,
    node_group,
    node_pool,
    pod_spec,
    release,
)

ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        [UNKNOWN, "", "1", "-1", "1e9", "0.5", "$(X)", "sh", "-c", "'", "nvidia.com/gpu"]
    ),
    st.text(max_size=20),
    st.lists(st.just(UNKNOWN), max_size=2),
    st.dictionaries(st.sampled_from(["name", "key", "value", "a"]), st.integers(), max_size=2),
)
SELECTED = {
    "nodeSelector": {"pool": "pool"},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["pool"]}]}
                ]
            }
        }
    },
    "resourceClaims": [{"name": "gpu"}],
}
STACK = [
    deployment(
        pod_spec(container(command=["sh", "-c", "vllm serve -tp $TP"], env=[{"name": "TP"}]))
    ),
    deployment(pod_spec(container(args=["-tp", "2"]), initContainers=[container()], **SELECTED)),
    leader_worker_set(container(args=["-tp", "2"], resources=gpus(2))),
    node_group(launchTemplate={"id": "lt"}, taints=[GPU_TAINT]),
    node_group(instanceTypes=[], launchTemplate={"name": "lt"}),
    auto_scaling_group(launchTemplate={"id": "lt"}, tags=[{"key": "a", "value": "prod"}]),
    launch_template(id="lt", name="lt", instanceType="g6.xlarge", userData="ZG5mIGluc3RhbGw="),
    node_pool(taints=[GPU_TAINT]),
    Resource("aws:eks/addon:Addon", "addon", "", {"addonName": "amazon-cloudwatch-observability"}),
    release(
        "gpu-operator", values={"driver": {"enabled": True}, "daemonsets": {"tolerations": []}}
    ),
    Resource(
        "kubernetes:nvidia.com/v1alpha1:DynamoGraphDeployment",
        "graph",
        "",
        {
            "spec": {
                "services": {
                    "worker": {
                        "resources": {"limits": {"gpu": "2"}},
                        "volumeMounts": [{"name": "w", "mountPoint": "/w"}],
                        "sharedMemory": {"size": "8Gi"},
                        "multinode": {"nodeCount": 2},
                        "extraPodSpec": {"mainContainer": container(args=["-tp", "2"])},
                    }
                }
            }
        },
    ),
    Resource(
        "kubernetes:argoproj.io/v1alpha1:Application",
        "argo",
        "",
        {
            "spec": {
                "sources": [
                    {
                        "chart": "gpu-operator",
                        "targetRevision": "v26.3.3",
                        "helm": {
                            "values": "driver: {enabled: true}",
                            "parameters": [{"name": "mig.strategy", "value": "mixed"}],
                        },
                    }
                ]
            }
        },
    ),
    Resource(
        "kubernetes:helm.toolkit.fluxcd.io/v2:HelmRelease",
        "flux",
        "",
        {
            "spec": {
                "chart": {"spec": {"chart": "dcgm-exporter", "version": "4"}},
                "values": {"tolerations": []},
            }
        },
    ),
    Resource(
        "kubernetes:nvidia.com/v1:ClusterPolicy",
        "policy",
        "",
        {
            "metadata": {"labels": {"helm.sh/chart": "gpu-operator-v26.3.3"}},
            "spec": {"driver": {"enabled": True}, "daemonsets": {"tolerations": []}},
        },
    ),
    release(
        "vllm-stack",
        values={"servingEngineSpec": {"modelSpec": [{"requestGPU": 1, "vllmConfig": {}}]}},
    ),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path inside a value."""
    keys = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, inner in keys for place in places(inner, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """A copy of `value` with `odd` at `path`."""
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], odd)
    return copy


@st.composite
def mutated_stacks(draw: st.DrawFn) -> list[Resource]:
    """The stack above with a few values replaced by odd ones."""
    stack = []
    for resource in STACK:
        props: Any = resource.props
        for _ in range(draw(st.integers(0, 2))):
            path = draw(st.sampled_from(places(props)[1:] or [()]))
            props = put(props, path, draw(ODD_VALUES)) if path else props
        stack.append(Resource(resource.type, resource.name, resource.urn, props))
    return stack


@settings(max_examples=150, deadline=None)
@given(mutated_stacks())
def test_no_rule_fails_and_every_text_is_one_line(stack: list[Resource]) -> None:
    report = check(stack)

    assert report.surprises == ()
    texts = [text for finding in report.findings for text in (finding.message, finding.fix)]
    assert [text for text in texts if "UNKNOWN" in text] == []
    assert [text for text in texts if len(text.splitlines()) != 1] == []
    assert all(finding.fix for finding in report.findings)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(STACK), ODD_VALUES)
def test_properties_may_be_anything(resource: Resource, odd: Any) -> None:
    stack = [
        Resource(resource.type, resource.name, "", {"spec": odd, "values": odd, "taints": odd})
    ]

    assert check(stack).surprises == ()


def test_an_addon_without_a_name_of_text_is_no_exporter() -> None:
    addon = Resource("aws:eks/addon:Addon", "addon", "", {"addonName": ["a", "b"]})

    report = check([node_group(scalingConfig={"minSize": 0}), addon])

    assert report.surprises == ()
    assert "no-gpu-metrics" in {finding.kind for finding in report.findings}


def test_a_large_list_and_a_cycle_end() -> None:
    cycle: dict[str, Any] = {}
    cycle["template"] = {"spec": cycle, "metadata": cycle}
    many = pod_spec(*[container()] * 5_000)
    view = view_stack([deployment(many), deployment(cycle), Resource("t", "n", "", cycle)])

    reports = [run_rule(rule, view, None) for rule in RULES]

    assert [report.surprises for report in reports] == [()] * len(RULES)
