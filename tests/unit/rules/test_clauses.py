"""Single clauses of rules: what they except, and what they still find, on a stack of few lines."""

from typing import Any

import pytest

from berth.rules.check import check
from berth.rules.resource import Resource
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    gpus,
    node_group,
    pod_spec,
    release,
)

LLAMA = ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--max-model-len", "8192"]
TINY = ["--model", "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "--dtype", "half"]
ADAPTERS = ["--enable-lora"]
CACHE = [{"name": "c", "mountPath": "/root/.cache/huggingface"}]
OPERATOR = release(
    "gpu-operator", values={"driver": {"enabled": False}, "toolkit": {"enabled": False}}
)
CORE = "kubernetes:core/v1:"


def on(instance_type: str, *, spec: Any = None, **changes: Any) -> Resource:
    """A Deployment of one vLLM server on nodes of one type, right but for the changes."""
    served = container(**{"args": LLAMA, "volumeMounts": CACHE, **changes})
    pod = pod_spec(
        served,
        volumes=[{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}],
        nodeSelector={"node.kubernetes.io/instance-type": instance_type},
    )
    template = {"metadata": {"labels": {"app": "chat"}}, "spec": pod}
    props = {
        "metadata": {"name": "chat"},
        "spec": {"strategy": {"type": "Recreate"}, "template": template, **(spec or {})},
    }
    return Resource("kubernetes:apps/v1:Deployment", "chat", "", props)


def pool(**changes: Any) -> Resource:
    defaults = {
        "releaseVersion": "1.34.3-20260714",
        "diskSize": 200,
        "scalingConfig": {"minSize": 0, "maxSize": 2},
        "instanceTypes": ["g6e.2xlarge"],
    }
    return node_group(**{**defaults, **changes})


def cut(profile: str) -> Resource:
    """A pool whose GPUs are cut, so that a slice is a plain GPU to a pod."""
    labels = {"pool": "pool", "nvidia.com/mig.config": f"all-{profile}"}
    return pool(instanceTypes=["p4de.24xlarge"], labels=labels)


def claim(size: str, mode: str = "ReadWriteOnce") -> Resource:
    spec = {"accessModes": [mode], "resources": {"requests": {"storage": size}}}
    return Resource(
        f"{CORE}PersistentVolumeClaim", "c", "", {"metadata": {"name": "c"}, "spec": spec}
    )


def door(**spec: Any) -> Resource:
    props = {"metadata": {"name": "door"}, "spec": {"type": "LoadBalancer", **spec}}
    return Resource(f"{CORE}Service", "door", "", props)


MIG = gpus(1, 1, key="nvidia.com/mig-1g.10gb")
AMD = gpus(1, 1, key="amd.com/gpu")
SELECTS = {"selector": {"app": "chat"}}

CLAUSES: dict[str, tuple[list[Resource], list[str]]] = {
    "right": ([on("g6e.2xlarge")], []),
    "e5m2-cache-is-stored": ([on("p4d.24xlarge", args=[*LLAMA, "--kv-cache-dtype=fp8_e5m2"])], []),
    "fp8-cache-below-8.9": (
        [on("p4d.24xlarge", args=[*LLAMA, "--kv-cache-dtype=fp8"])],
        ["dtype-unsupported"],
    ),
    "fp8-cache-from-0.30": (
        [
            on(
                "g5.2xlarge",
                image="vllm/vllm-openai:v0.30.0",
                args=[*LLAMA[:3], "2048", "--kv-cache-dtype=fp8"],
            )
        ],
        [],
    ),
    "fp8-weights-slowly": (
        [on("p4d.24xlarge", args=[*LLAMA, "--quantization", "fp8"])],
        ["dtype-unsupported"],
    ),
    "volta-with-an-old-image": (
        [on("p3.2xlarge", image="vllm/vllm-openai:v0.8.5", args=TINY)],
        [],
    ),
    "volta-with-a-new-image": ([on("p3.2xlarge", args=TINY)], ["image-gpu-arch-mismatch"]),
    "no-mig-on-this-gpu": ([on("g6e.2xlarge", resources=MIG)], ["mig-resource-mismatch"]),
    # 32 slots of rank 64 are 10.0 GiB beside 15.0 of weights; one of rank 16 is 0.08.
    "room-for-adapters": (
        [on("g6.2xlarge", args=[*LLAMA, *ADAPTERS, "--max-loras", "32", "--max-lora-rank", "64"])],
        ["startup-oom"],
    ),
    "room-for-one-adapter": ([on("g6.2xlarge", args=[*LLAMA, *ADAPTERS])], []),
    "slice-too-small": ([on("p4de.24xlarge", resources=MIG)], ["startup-oom"]),
    "gpus-cut-too-small": ([on("p4de.24xlarge"), cut("1g.10gb"), OPERATOR], ["startup-oom"]),
    "gpus-cut-large-enough": ([on("p4de.24xlarge"), cut("3g.40gb"), OPERATOR], []),
    "nim-on-amd": (
        [
            on(
                "none",
                image="nvcr.io/nim/meta/llama:1.8.0",
                args=ABSENT,
                resources=AMD,
                volumeMounts=[{"name": "c", "mountPath": "/opt/nim/.cache"}],
            )
        ],
        ["vendor-mismatch"],
    ),
    "every-gpu-by-variable": (
        [on("g6e.2xlarge", env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])],
        ["gpu-isolation-bypass"],
    ),
    "key-in-arguments": (
        [on("g6e.2xlarge", args=[*LLAMA, "--api-key", "abc"])],
        ["secret-plain-env"],
    ),
    "key-by-reference": ([on("g6e.2xlarge", args=[*LLAMA, "--api-key", "$(KEY)"])], []),
    "no-probes": ([on("g6e.2xlarge", readinessProbe={"periodSeconds": 1})], []),
    "short-probe": (
        [on("g6e.2xlarge", startupProbe={"failureThreshold": 10})],
        ["startup-probe-too-short"],
    ),
    "claim-of-two-replicas": (
        [claim("100Gi"), on("g6e.2xlarge", spec={"replicas": 2})],
        ["rwo-shared-volume"],
    ),
    "shared-claim": (
        [claim("100Gi", "ReadWriteMany"), on("g6e.2xlarge", spec={"replicas": 2})],
        [],
    ),
    "claim-with-little-room": ([claim("15500Mi"), on("g6e.2xlarge")], ["model-volume-too-small"]),
    "open-to-the-internet": ([on("g6e.2xlarge"), door(**SELECTS)], ["public-endpoint-no-auth"]),
    "open-to-some": (
        [on("g6e.2xlarge"), door(**SELECTS, loadBalancerSourceRanges=["10.0.0.0/8"])],
        [],
    ),
    "x86-image-on-arm": (
        [on("p6e-gb200.36xlarge", image="vllm/vllm-openai:v0.21.0")],
        ["cpu-arch-mismatch"],
    ),
    "cuda-13-on-570": (
        [
            pool(releaseVersion="1.33.1-20251015"),
            OPERATOR,
            on("g6e.2xlarge", image="vllm/vllm-openai:v0.20.0"),
        ],
        ["cuda-driver-mismatch"],
    ),
    "gpu-newer-than-the-driver": (
        [pool(instanceTypes=["g7.8xlarge"]), OPERATOR],
        ["cuda-driver-mismatch"],
    ),
    "plugin-of-bottlerocket": (
        [
            pool(amiType="BOTTLEROCKET_x86_64_NVIDIA"),
            release(
                "dcgm-exporter",
                values={
                    "nodeSelector": {"pool": "pool"},
                    "tolerations": [{"operator": "Exists"}],
                },
            ),
        ],
        [],
    ),
    "room-for-the-surge": ([pool(), OPERATOR, on("g6e.2xlarge", spec={"strategy": {}})], []),
    "no-room-for-the-surge": (
        [pool(), OPERATOR, on("g6e.2xlarge", spec={"strategy": {}, "replicas": 2})],
        ["rollout-deadlock"],
    ),
    "image-with-another-driver": (
        [pool(instanceTypes=["inf2.xlarge"])],
        ["ami-gpu-mismatch"],
    ),
    "amazon-linux-2": (
        [pool(amiType="AL2_x86_64_GPU", releaseVersion="1.31.1-20250101"), OPERATOR],
        ["ami-eol"],
    ),
    "small-disk": ([pool(diskSize=ABSENT), OPERATOR], ["node-disk-too-small"]),
}


@pytest.mark.parametrize(("stack", "kinds"), CLAUSES.values(), ids=CLAUSES)
def test_a_clause(stack: list[Resource], kinds: list[str]) -> None:
    report = check(stack)

    assert sorted({finding.kind for finding in report.findings}) == kinds
    assert (report.not_checked, report.surprises) == ((), ())


@pytest.mark.parametrize(
    ("stack", "level"),
    [
        (CLAUSES["fp8-weights-slowly"][0], "advisory"),
        (CLAUSES["fp8-cache-below-8.9"][0], "mandatory"),
        (CLAUSES["short-probe"][0], "mandatory"),
        (CLAUSES["claim-with-little-room"][0], "advisory"),
        ([claim("10Gi"), on("g6e.2xlarge")], "mandatory"),
        (CLAUSES["amazon-linux-2"][0], "advisory"),
        ([pool(amiType="AL2_x86_64_GPU", version="1.33"), OPERATOR], "mandatory"),
        (CLAUSES["small-disk"][0], "mandatory"),
        ([pool(diskSize=50), OPERATOR], "advisory"),
    ],
)
def test_the_level_follows_the_case(stack: list[Resource], level: str) -> None:
    assert {finding.enforcement_level for finding in check(stack).findings} == {level}
