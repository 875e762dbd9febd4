"""Rules about how containers ask for GPUs."""

import math
import re
from collections.abc import Iterator

from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import (
    GPU_KEY,
    is_accelerator_key,
    is_whole,
    parse_quantity,
)
from berth.rules.stack_view.engine_arguments import find_engine
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.placement import names_cpu_nodes
from berth.rules.stack_view.workload import Container


def _find_missing_request(container: Container, context: Context) -> Iterator[Breach]:
    if container.asked_keys or container.claims or not container.is_model_server:
        return
    if _is_meant_for_cpu(container) or names_cpu_nodes(container.pod.spec):
        return
    if _asks_for_another_kind(container) or container.pod.workload.kind in _COMPLETED_ELSEWHERE:
        return
    image = container.image
    ranks = container.engine_arguments.ranks() if container.engine_arguments else None
    sizes = [ranks.tensor, ranks.pipeline, ranks.data] if ranks else []
    count = math.prod(size or 1 for size in sizes)
    key = GPU_KEY[image.vendor if image else "nvidia"]
    runs = f"runs {image.reference}" if image else "runs a model server"
    yield Breach(
        where=container.resource.name,
        what=f"{container.name} {runs} and asks for 0 GPUs: it gets none, or all of the node's",
        change="ask for GPUs under resources.limits",
        fix=f"set {container.body.at('resources', 'limits', key).path} to {count}",
    )


def _is_meant_for_cpu(container: Container) -> bool:
    visible = container.literal_env.get("NVIDIA_VISIBLE_DEVICES", "")
    if visible in ("void", "none") and container.commands:
        return container.engine_arguments is None
    if any(find_engine(command) is not None for command in container.commands):
        return False
    if any(TOOL.search(" ".join(command)) for command in container.commands):
        return True
    pod = container.pod
    if pod.workload.kind.startswith("Dynamo"):
        service = Field(pod.workload.resource.props).at(*pod.spec.path.split(".")[:-1])
        return service.at("componentType").value in ("frontend", "planner", "epp")
    return pod.workload.kind.startswith("Ray") and pod.role == "leader"


TOOL = re.compile(
    r"\b(sglang_router|vllm-router|vllm (bench|chat|collect-env|complete)"
    r"|dynamo\.(frontend|planner|router)|lmcache(_experimental)?_(controller|server)"
    r"|benchmark_serving|(hf|huggingface-cli) (auth|download|login|upload)"
    r"|ollama (cp|create|list|ps|pull|push|rm|show))\b"
)
"""Programs in the images of engines that compute nothing."""

_COMPLETED_ELSEWHERE = ("ServingRuntime", "ClusterServingRuntime")
"""Templates whose resources each InferenceService states anew."""


def _asks_for_another_kind(container: Container) -> bool:
    """It asks for an accelerator, or a share of one, that no rule judges."""
    body = container.body
    keys = {
        key: field
        for kind in ("requests", "limits")
        for key, field in body.at("resources", kind).entries().items()
    }
    return any(
        ANOTHER_KIND.search(key)
        and not is_accelerator_key(key)
        and (field.is_unknown or parse_quantity(field.value))
        for key, field in keys.items()
    )


ANOTHER_KIND = re.compile(
    r"^(google\.com/tpu|habana\.ai/|gpu\.intel\.com/|huawei\.com/|cambricon\.com/"
    r"|aws\.amazon\.com/neuron|nvidia\.com/gpu(mem|cores|mem-percentage)\b|aliyun\.com/gpu|tencent\.com/vcuda)"
)
"""Resource names of accelerators, and of shares of one, beside those that are counted."""


GPU_REQUEST_MISSING = Rule(
    id="gpu-request-missing",
    title="A model server asks for the GPUs that it uses.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="image, command, args, env and resources of each container, node selector and affinity",
    why="without a request the server finds no GPU, or uses every GPU of the node unaccounted",
    source="https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",
    subjects=StackView.containers,
    judge=_find_missing_request,
)


def _find_mismatch(container: Container, context: Context) -> Iterator[Breach]:
    limits, requests = container.quantities("limits"), container.quantities("requests")
    for key in {**requests, **limits}:
        limit, request = limits.get(key), requests.get(key)
        breach = _not_whole(container, key, limit, request) or _unequal(
            container, key, limit, request
        )
        if breach:
            yield breach


def _not_whole(
    container: Container, key: str, limit: Field | None, request: Field | None
) -> Breach | None:
    for stated in (limit, request):
        if stated is None:
            continue
        quantity = parse_quantity(stated.known())
        if quantity is not None and is_whole(quantity):
            continue
        whole = max(1, math.ceil(quantity)) if quantity is not None else 1
        return Breach(
            where=container.resource.name,
            what=f"{container.name} asks for {_shown(stated)} {key}, and GPUs are counted whole",
            change="ask for a whole number",
            fix=f"set {_both_paths(container, key)} to {whole}",
        )
    return None


def _unequal(
    container: Container, key: str, limit: Field | None, request: Field | None
) -> Breach | None:
    if request is None:
        return None
    wanted = parse_quantity(request.known())
    allowed = parse_quantity(limit.known()) if limit else None
    if allowed is None and wanted:
        return Breach(
            where=container.resource.name,
            what=f"{container.name} requests {_shown(request)} {key} and has no limit for it",
            change="set the limit to the request",
            fix=f"set {container.body.at('resources', 'limits', key).path} to {_shown(request)}",
        )
    if limit and allowed is not None and allowed != wanted:
        return Breach(
            where=container.resource.name,
            what=f"{container.name} requests {_shown(request)} {key} with limit {_shown(limit)}",
            change="make them equal",
            fix=f"set {request.path} to {_shown(limit)}",
        )
    return None


def _shown(quantity: Field) -> str:
    value = quantity.value
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _both_paths(container: Container, key: str) -> str:
    resources = container.body.at("resources")
    return f"{resources.at('limits', key).path} and {resources.at('requests', key).path}"


GPU_REQUEST_LIMIT_MISMATCH = Rule(
    id="gpu-request-limit-mismatch",
    title="A container requests and limits the same whole number of GPUs.",
    severity="medium",
    level="mandatory",
    scope="resource",
    reads="resources.requests and resources.limits of each container",
    why="the API server refuses a pod whose GPU request is not its limit, or not whole",
    source="https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources",
    subjects=StackView.all_containers,
    judge=_find_mismatch,
)

RULES = (GPU_REQUEST_MISSING, GPU_REQUEST_LIMIT_MISMATCH)
