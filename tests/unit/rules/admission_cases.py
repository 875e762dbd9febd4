"""Objects that both the rules and the API server judge, with the rules that each breaks."""

from collections.abc import Mapping
from typing import Any, Final

LITERAL = {"name": "HF_TOKEN", "value": "not-a-real-token"}
FROM_SECRET = {
    "name": "HF_TOKEN",
    "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "HF_TOKEN"}},
}
ALL_GPUS = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
PINNED = "vllm/vllm-openai:v0.32.0"
DIGEST = "sha256:" + "0" * 64
GPU = {"limits": {"nvidia.com/gpu": 1}}


def container(image: str = PINNED, **more: Any) -> dict[str, Any]:
    """A server with one GPU; `resources=None` takes it away."""
    stated = {"name": "server", "image": image, "resources": GPU, **more}
    return {key: value for key, value in stated.items() if value is not None}


def workload(
    *containers: dict[str, Any], kind: str = "Deployment", note: str = "", **pod: Any
) -> dict[str, Any]:
    """A workload of the apps group; `note` is an exception for image-unpinned."""
    labels = {"app": "chat"}
    metadata: dict[str, Any] = {"name": "chat"}
    if note:
        metadata["annotations"] = {"berth.dev/except-image-unpinned": note}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers), **pod}}
    spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = "chat"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def pod(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "chat"},
        "spec": {"containers": [container(**more)]},
    }


def cron_job(**more: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [container(**more)]}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "chat"}, "spec": spec}


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "chat"}, "data": data}


def of(image: str, **more: Any) -> dict[str, Any]:
    """A Deployment of one image that asks for no GPU."""
    return workload(container(image, resources=None, **more))


def claimed() -> dict[str, Any]:
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    return workload(container(resources={"claims": [{"name": "gpu"}]}), resourceClaims=claims)


PRIVILEGED = {"privileged": True}
UNPINNED, MISSING, SECRET = "image-unpinned", "gpu-request-missing", "secret-plain-env"
EFA = "vpc.amazonaws.com/efa"
BYPASS, DAEMON = "gpu-isolation-bypass", "model-server-daemonset"

CASES: Final[Mapping[str, tuple[dict[str, Any], frozenset[str]]]] = {
    name: (body, frozenset(kinds))
    for name, body, kinds in (
        ("right", workload(container(env=[FROM_SECRET])), []),
        ("no-gpu", of(PINNED), [MISSING]),
        ("zero-gpus", workload(container(resources={"limits": {"nvidia.com/gpu": 0}})), [MISSING]),
        ("a-slice", workload(container(resources={"limits": {"nvidia.com/mig-1g.10gb": 1}})), []),
        ("amd", workload(container(resources={"limits": {"amd.com/gpu": 1}})), []),
        ("a-claim", claimed(), []),
        ("cpu-build", of("vllm/vllm-cpu:v0.32.0"), []),
        ("cpu-by-option", of(PINNED, args=["--device", "cpu"]), []),
        ("cpu-by-one-word", of(PINNED, args=["--device=cpu"]), []),
        ("router", of("lmcache/vllm-router:v1"), []),
        ("engine-in-a-registry-name", of("vllm.example.com/team/web:v1"), []),
        ("engine-behind-a-port", of("registry.example.com:5000/team/vllm:v1"), [MISSING]),
        ("llm-d", of("ghcr.io/llm-d/llm-d-cuda:v0.4.0"), [MISSING]),
        ("llm-d-router", of("ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0"), []),
        ("triton", of("nvcr.io/nvidia/tritonserver:25.07-py3"), [MISSING]),
        ("cuda-base", of("nvcr.io/nvidia/cuda:12.9.1-base-ubuntu24.04"), [MISSING]),
        ("engine-named-in-the-tag", of("registry.example.com/team/serve:vllm-3"), [MISSING]),
        ("clients-of-triton", of("nvcr.io/nvidia/tritonserver:25.07-py3-sdk"), []),
        ("sdk-in-a-path", of("registry.example.com:5000/sdk/tritonserver:25.07-py3"), [MISSING]),
        ("tpu", workload(container(resources={"limits": {"google.com/tpu": 4}})), []),
        ("no-tpu", workload(container(resources={"limits": {"google.com/tpu": 0}})), [MISSING]),
        ("gaudi", workload(container(resources={"limits": {"habana.ai/gaudi": 1}})), []),
        ("share", workload(container(resources={"limits": {"nvidia.com/gpumem": 8000}})), []),
        ("network", workload(container(resources={"limits": {EFA: 4}})), [MISSING]),
        ("benchmark", of(PINNED, command=["vllm", "bench", "serve", "--model", "chat"]), []),
        ("cache-server", of(PINNED, command=["lmcache_experimental_server", "0.0.0.0"]), []),
        ("router-module", of(PINNED, command=["python"], args=["-m", "sglang_router.launch"]), []),
        (
            "benchmark-beside-a-server",
            of(PINNED, command=["sh", "-c", "vllm serve chat & vllm bench serve"]),
            [MISSING],
        ),
        ("part-of-a-router", of("ghcr.io/vllm-project/semantic-router/extproc:v0.1.0"), []),
        ("team-called-gateway", of("registry.example.com/gateway/vllm-openai:v1"), [MISSING]),
        ("engine-in-the-tag-alone", of("gateway/serve:vllm-3"), [MISSING]),
        ("download", of(PINNED, command=["huggingface-cli", "download", "chat"]), []),
        ("web", of("nginx:1.29"), []),
        ("latest", workload(container("vllm/vllm-openai:latest")), [UNPINNED]),
        ("no-tag", workload(container("vllm/vllm-openai")), [UNPINNED]),
        ("no-tag-behind-a-port", workload(container("reg.example.com:5000/vllm")), [UNPINNED]),
        ("nightly-of-a-kind", workload(container("vllm/vllm-openai:latest-cu129")), [UNPINNED]),
        ("digest", workload(container(f"vllm/vllm-openai@{DIGEST}")), []),
        ("floating-tag-with-digest", workload(container(f"vllm/vllm-openai:latest@{DIGEST}")), []),
        ("floating-web", of("nginx:latest"), []),
        ("floating-with-a-gpu", workload(container("registry.example.com/t/app:main")), [UNPINNED]),
        ("floating-plugin", of("nvcr.io/nvidia/k8s-device-plugin:latest"), [UNPINNED]),
        (
            "floating-init-container",
            workload(container(), initContainers=[{"name": "i", "image": "vllm/vllm-openai"}]),
            [UNPINNED],
        ),
        ("excepted", workload(container("vllm/vllm-openai:latest"), note="a canary"), []),
        ("excepted-without-a-reason", workload(container("vllm:edge"), note=" "), [UNPINNED]),
        ("literal-token", workload(container(env=[LITERAL])), [SECRET]),
        ("empty-token", workload(container(env=[{"name": "HF_TOKEN", "value": ""}])), []),
        ("passed-on", workload(container(env=[{"name": "HF_TOKEN", "value": "$(T)"}])), []),
        (
            "not-a-token",
            workload(container(env=[{"name": "TOKENIZERS_PARALLELISM", "value": "false"}])),
            [],
        ),
        ("key-among-args", workload(container(args=["--api-key", "abc-def"])), [SECRET]),
        ("key-in-one-word", workload(container(args=["--api-key=abc-def"])), [SECRET]),
        ("key-by-variable", workload(container(args=["--api-key", "$(KEY)"])), []),
        ("key-in-a-config-map", config_map(OPENAI_API_KEY="abc-def", REGION="us-east-1"), [SECRET]),
        ("harmless-config-map", config_map(MAX_TOKENS="4096"), []),
        ("takes-all-gpus", workload(container(env=[ALL_GPUS])), [BYPASS]),
        (
            "takes-none",
            workload(container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}])),
            [],
        ),
        ("privileged", workload(container(securityContext=PRIVILEGED)), [BYPASS]),
        ("privileged-web", of("nginx:1.29", securityContext=PRIVILEGED), []),
        (
            "privileged-agent",
            of(
                "nvcr.io/nvidia/k8s-device-plugin:v0.18.1",
                securityContext=PRIVILEGED,
                env=[ALL_GPUS],
            ),
            [],
        ),
        ("a-server-per-node", workload(container(), kind="DaemonSet"), [DAEMON]),
        (
            "an-agent-per-node",
            workload(
                container("nvcr.io/nvidia/k8s/dcgm-exporter:4.5.2-4.8.1", resources=None),
                kind="DaemonSet",
            ),
            [],
        ),
        (
            "two-containers",
            workload(
                container(resources=None),
                container("vllm/vllm-openai:latest", name="second", env=[LITERAL]),
                kind="StatefulSet",
            ),
            [MISSING, UNPINNED, SECRET],
        ),
        ("pod", pod(image="vllm/vllm-openai:latest"), [UNPINNED]),
        ("cron-job", cron_job(env=[LITERAL]), [SECRET]),
    )
}
