"""Stacks as other teams and projects write them: what is read from each, and what must not be.

Shapes after public manifests: the recipes of Dynamo, what the chart of the GPU Operator renders,
the node pools of AI on EKS, text-generation-inference, clients of Triton.
"""

from typing import Any

import pytest

from berth.rules.check import check
from berth.rules.resource import Resource
from berth.rules.unknown import UNKNOWN
from tests.unit.rules.stacks import (
    container,
    deployment,
    gpus,
    leader_worker_set,
    node_group,
    node_pool,
    pod_spec,
    release,
    server,
)

QWEN = "Qwen/Qwen3-32B"
POOL = node_group(
    releaseVersion="1.34.3-20260714", diskSize=200, scalingConfig={"minSize": 0, "maxSize": 2}
)
CPU_POOL = node_group(
    "general",
    instanceTypes=["m7i.large"],
    amiType="AL2023_x86_64_STANDARD",
    taints=[],
    scalingConfig={"minSize": 1, "maxSize": 2},
)


def kinds(*resources: Resource) -> set[str]:
    report = check(list(resources))
    assert (report.not_checked, report.surprises) == ((), ())
    return {finding.kind for finding in report.findings}


# Dynamo: its operator mounts what a service names, and shared memory unasked


def graph(**service: Any) -> Resource:
    """A worker of two ranks of Dynamo."""
    main = {
        "image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.8.0",
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--model", QWEN, "--tensor-parallel-size", "2"],
    }
    worker = {
        "componentType": "worker",
        "resources": {"limits": {"gpu": "2"}},
        "extraPodSpec": {"mainContainer": main},
        **service,
    }
    props = {"metadata": {"name": "graph"}, "spec": {"services": {"Worker": worker}}}
    return Resource("kubernetes:nvidia.com/v1alpha1:DynamoGraphDeployment", "graph", "", props)


CACHE = [{"name": "weights", "mountPoint": "/root/.cache/huggingface"}]


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        pytest.param({"volumeMounts": CACHE}, set(), id="claim-and-8Gi-unasked"),
        pytest.param({}, {"ephemeral-model-cache"}, id="no-claim"),
        pytest.param(
            {"volumeMounts": CACHE, "sharedMemory": {"size": "80Gi"}}, set(), id="80Gi-stated"
        ),
        pytest.param(
            {"volumeMounts": CACHE, "sharedMemory": {"size": "1Gi"}},
            {"shm-too-small"},
            id="1Gi-for-two-ranks",
        ),
        pytest.param(
            {"volumeMounts": CACHE, "sharedMemory": {"disabled": True}},
            {"shm-too-small"},
            id="switched-off",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "weights", "mountPoint": "/elsewhere"}]},
            {"ephemeral-model-cache"},
            id="claim-elsewhere",
        ),
        pytest.param({"volumeMounts": "weights"}, {"ephemeral-model-cache"}, id="no-list"),
    ],
)
def test_volumes_that_dynamo_mounts(service: dict[str, Any], expected: set[str]) -> None:
    assert kinds(graph(**service)) == expected


@pytest.mark.parametrize(
    "service", [{"volumeMounts": UNKNOWN}, {"sharedMemory": UNKNOWN}, {"resources": UNKNOWN}]
)
def test_a_service_of_dynamo_that_is_known_after_apply_is_not_checked(
    service: dict[str, Any],
) -> None:
    report = check([graph(**service)])

    assert report.surprises == ()
    assert report.not_checked != ()
    assert "shm-too-small" not in {finding.kind for finding in report.findings}


# the GPU Operator as its chart renders it


def cluster_policy(version: str = "v25.10.1", **spec: Any) -> Resource:
    """What `helm template` makes of the chart on an image with a driver."""
    parts = {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "devicePlugin": {"enabled": True},
        "dcgmExporter": {"enabled": True},
        "mig": {"strategy": "single"},
        "daemonsets": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        },
        **spec,
    }
    labels = {"helm.sh/chart": f"gpu-operator-{version}"}
    props = {"metadata": {"name": "cluster-policy", "labels": labels}, "spec": parts}
    return Resource("kubernetes:nvidia.com/v1:ClusterPolicy", "cluster-policy", "", props)


TOOLKIT = {"enabled": True, "version": "v1.17.5-ubuntu20.04"}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(cluster_policy(), set(), id="brings-plugin-and-metrics"),
        pytest.param(
            cluster_policy(devicePlugin={"enabled": False}),
            {"device-plugin-missing"},
            id="no-plugin",
        ),
        pytest.param(
            cluster_policy(dcgmExporter={"enabled": False}), {"no-gpu-metrics"}, id="no-metrics"
        ),
        pytest.param(
            cluster_policy(driver={"enabled": True}), {"driver-double-install"}, id="second-driver"
        ),
        pytest.param(
            cluster_policy(daemonsets={"tolerations": []}), {"missing-toleration"}, id="kept-off"
        ),
        pytest.param(
            cluster_policy(toolkit=TOOLKIT),
            {"driver-double-install", "toolkit-outdated"},
            id="old-toolkit",
        ),
    ],
)
def test_a_rendered_operator_counts_as_the_chart(policy: Resource, expected: set[str]) -> None:
    assert kinds(POOL, CPU_POOL, policy) == expected


def test_a_slice_under_the_strategy_of_a_rendered_operator() -> None:
    asked = server(resources=gpus(1, 1, key="nvidia.com/mig-1g.10gb"), args=[])

    assert "mig-resource-mismatch" in kinds(cluster_policy(), asked)
    assert "mig-resource-mismatch" not in kinds(cluster_policy(mig={"strategy": "mixed"}), asked)


# charts that Argo CD and Flux install

OFF: dict[str, Any] = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}
OPERATOR = {"chart": "gpu-operator", "targetRevision": "v25.10.1"}


def application(*sources: dict[str, Any]) -> Resource:
    props = {"metadata": {"name": "op"}, "spec": {"sources": list(sources)}}
    return Resource("kubernetes:argoproj.io/v1alpha1:Application", "op", "", props)


def one_source(**source: Any) -> Resource:
    props = {"metadata": {"name": "op"}, "spec": {"source": source}}
    return Resource("kubernetes:argoproj.io/v1alpha1:Application", "op", "", props)


def helm_release(chart: str, values: dict[str, Any], **more: Any) -> Resource:
    spec = {"chart": {"spec": {"chart": chart, "version": "v25.10.1"}}, "values": values, **more}
    props = {"metadata": {"name": "op"}, "spec": spec}
    return Resource("kubernetes:helm.toolkit.fluxcd.io/v2:HelmRelease", "op", "", props)


SWITCHED_OFF = [
    {"name": "driver.enabled", "value": "false"},
    {"name": "toolkit.enabled", "value": "false"},
]


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        pytest.param(one_source(**OPERATOR, helm={"valuesObject": OFF}), set(), id="object"),
        pytest.param(
            one_source(**OPERATOR, helm={"values": "driver: {enabled: false}\n"}),
            {"driver-double-install"},
            id="text-without-toolkit",
        ),
        pytest.param(
            one_source(**OPERATOR, helm={"parameters": SWITCHED_OFF}), set(), id="parameters"
        ),
        pytest.param(one_source(**OPERATOR), {"driver-double-install"}, id="defaults"),
        pytest.param(
            application({**OPERATOR, "helm": {"valueFiles": ["$v/a.yaml"]}}, {"ref": "v"}),
            set(),
            id="files-that-are-not-shown",
        ),
        pytest.param(
            one_source(**{**OPERATOR, "targetRevision": "*"}, helm={"valuesObject": OFF}),
            {"image-unpinned"},
            id="any-version",
        ),
        pytest.param(helm_release("gpu-operator", OFF), set(), id="flux"),
        pytest.param(
            helm_release("gpu-operator", {}), {"driver-double-install"}, id="flux-defaults"
        ),
        pytest.param(
            helm_release("gpu-operator", {}, valuesFrom=[{"kind": "ConfigMap", "name": "v"}]),
            set(),
            id="flux-values-elsewhere",
        ),
    ],
)
def test_charts_that_others_install_count(installed: Resource, expected: set[str]) -> None:
    assert kinds(POOL, CPU_POOL, installed) == expected


def test_the_message_names_the_place_in_the_object_of_argo() -> None:
    report = check([POOL, one_source(**OPERATOR, helm={"valuesObject": {"mig": {}}})])

    (finding,) = [f for f in report.findings if f.kind == "driver-double-install"]
    assert finding.fix == (
        "set spec.source.helm.valuesObject.driver.enabled to false and "
        "spec.source.helm.valuesObject.toolkit.enabled to false"
    )


def test_what_is_known_after_apply_is_not_guessed() -> None:
    report = check([POOL, one_source(**OPERATOR, helm={"valuesObject": UNKNOWN})])

    assert {found.kind for found in report.findings} & {"driver-double-install"} == set()
    assert ("driver-double-install", "spec.source.helm.valuesObject") in {
        (entry.kind, entry.field) for entry in report.not_checked
    }


# a tensor parallel group over several nodes, which the arguments ask for


def sglang_group(*more: str, gpus_each: int = 1) -> Resource:
    """The example of LeaderWorkerSet: two ranks, one in each of two pods."""
    served = ["python3", "-m", "sglang.launch_server", "--model-path", "meta/x", "--tp", "2"]
    asked = container(
        image="lmsysorg/sglang:v0.5.3-cu126",
        command=[*served, *more],
        args=[],
        resources=gpus(gpus_each, gpus_each),
    )
    return leader_worker_set(asked, size=2, worker=asked)


@pytest.mark.parametrize(
    ("more", "fires"),
    [
        pytest.param([], True, id="of-one-pod"),
        pytest.param(["--nnodes", "2", "--node-rank", "$(LWS_WORKER_INDEX)"], False, id="of-two"),
        pytest.param(["--nnodes", "$(LWS_GROUP_SIZE)"], False, id="as-large-as-the-group"),
        pytest.param(["--nnodes", "1"], True, id="told-of-one"),
        pytest.param(["--nnodes", "2", "--pp-size", "2"], True, id="four-ranks-on-two-gpus"),
    ],
)
def test_ranks_may_span_nodes_where_the_engine_is_told_so(more: list[str], *, fires: bool) -> None:
    assert ("tp-exceeds-gpus" in kinds(sglang_group(*more))) is fires


# Karpenter pools that name series, makers and generations instead of types


def wants(*conditions: tuple[str, str, list[str]], **spec: Any) -> Resource:
    listed = [
        {"key": f"karpenter.k8s.aws/instance-{what}", "operator": operator, "values": values}
        for what, operator, values in conditions
    ]
    return node_pool(requirements=listed, **spec)


@pytest.mark.parametrize(
    ("pool", "has_gpus"),
    [
        pytest.param(wants(("category", "In", ["g", "p"])), True, id="series"),
        pytest.param(wants(("category", "In", ["m", "g"])), False, id="series-with-and-without"),
        pytest.param(wants(("category", "In", ["c", "m"])), False, id="series-without"),
        pytest.param(wants(("gpu-manufacturer", "In", ["nvidia"])), True, id="maker"),
        pytest.param(wants(("gpu-count", "Gt", ["0"])), True, id="count"),
        pytest.param(
            wants(("category", "In", ["g"]), ("generation", "Gt", ["9"])), False, id="none-so-new"
        ),
        pytest.param(
            wants(("family", "In", ["g6"]), ("size", "NotIn", ["metal"])), True, id="family"
        ),
    ],
)
def test_a_node_pool_without_a_taint_is_known_by_its_series(
    pool: Resource, *, has_gpus: bool
) -> None:
    assert ("gpu-pool-untainted" in kinds(pool)) is has_gpus


def test_series_do_not_say_which_gpu_a_pod_gets() -> None:
    """A pool of T4s cannot compute bfloat16; one of the whole series may well be given an L40S."""
    asked = server(args=["--model", "Qwen/Qwen2.5-3B-Instruct", "--dtype", "bfloat16"])

    assert "dtype-unsupported" in kinds(wants(("family", "In", ["g4dn"])), asked)
    assert "dtype-unsupported" not in kinds(wants(("category", "In", ["g"])), asked)


@pytest.mark.parametrize(
    ("least_mib", "fires"),
    [
        pytest.param("15000", True, id="a-T4-has-16384"),
        pytest.param("20000", False, id="no-T4-has-so-much"),
    ],
)
def test_memory_of_the_gpu_narrows_a_choice_of_families(least_mib: str, *, fires: bool) -> None:
    families = ("family", "In", ["g4dn", "g5"])
    asked = server(args=["--model", "Qwen/Qwen2.5-3B-Instruct", "--dtype", "bfloat16"])

    found = kinds(wants(families, ("gpu-memory", "Gt", [least_mib])), asked)

    assert ("dtype-unsupported" in found) is fires


# formats that other engines make while they load


@pytest.mark.parametrize(
    ("options", "fires"),
    [
        pytest.param([], True, id="16-bits"),
        pytest.param(["--quantize", "eetq"], False, id="8-bits"),
        pytest.param(["--quantize=bitsandbytes-nf4"], False, id="4-bits"),
        pytest.param(["--quantize", "marlin"], True, id="format-of-another-repository"),
    ],
)
def test_weights_that_tgi_quantizes_itself(options: list[str], *, fires: bool) -> None:
    """65.5 billion bytes on one L40S of 44.4 GiB: 61 GiB in 16 bits, about 33 in 8."""
    asked = deployment(
        pod_spec(
            container(
                image="ghcr.io/huggingface/text-generation-inference:3.3.4",
                args=["--model-id", QWEN, *options],
            ),
            nodeSelector={"node.kubernetes.io/instance-type": "g6e.4xlarge"},
        )
    )
    assert ("startup-oom" in kinds(asked)) is fires


@pytest.mark.parametrize(
    ("image", "fires"),
    [
        ("nvcr.io/nvidia/tritonserver:25.07-py3", True),
        ("nvcr.io/nvidia/tritonserver:25.07-py3-sdk", False),
        ("registry.example.com/sdk/tritonserver:25.07-py3", True),
    ],
)
def test_clients_of_triton_need_no_gpu(image: str, *, fires: bool) -> None:
    asked = server(image=image, command=["bash"], args=[], resources={})
    assert ("gpu-request-missing" in kinds(asked)) is fires


def test_a_release_of_an_unknown_chart_may_use_the_pool() -> None:
    warm = node_group(
        releaseVersion="1.34.3-20260714", diskSize=200, scalingConfig={"minSize": 1, "maxSize": 2}
    )
    assert "idle-gpus" in kinds(warm, cluster_policy())
    assert "idle-gpus" in kinds(warm, cluster_policy(), release("istiod"), release("argo-cd"))
    assert "idle-gpus" not in kinds(warm, cluster_policy(), release("team/own-chart"))
