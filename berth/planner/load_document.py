"""The answer to a `berth plan` with a load as the JSON that others read."""

from typing import Any

from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.catalog.speed import load_speed_constants
from berth.planner.cheapest import Comparison
from berth.planner.document import speed_document, startup_document
from berth.planner.option import Option
from berth.planner.search import Candidate
from berth.planner.search_document import candidate_document, model_facts
from berth.planner.speed.forecast import ServerSpeed
from berth.planner.speed.serving import Traffic
from berth.planner.startup import plan_startup
from berth.planner.vllm_args import node_args


def candidate_of(option: Option, nameplate_gib: float = 0.0) -> Candidate:
    """The same choice without its load."""
    offer = option.nodes.offer if option.nodes is not None else None
    return Candidate(
        gpu=option.gpu,
        instance_type=offer.instance_type if offer is not None else None,
        options=option.options,
        verdict=option.verdict,
        nameplate_gib=nameplate_gib,
        host=option.host,
    )


UNLOADED = Traffic(input_tokens=1024, output_tokens=256, concurrency=1)
UNLOADED_WORDS = {
    "concurrency": 1,
    "input_tokens": UNLOADED.input_tokens,
    "output_tokens": UNLOADED.output_tokens,
}
"""What the speed is for where no load is stated."""


def unloaded_document(
    model: Model, candidate: Candidate, replicas: int, catalog: Catalog
) -> dict[str, Any]:
    """Speed of one request at a time, and start-up, where no load is stated."""
    startup = plan_startup(
        candidate.verdict.weights_bytes, enforce_eager=candidate.options.enforce_eager
    )
    try:
        speed = ServerSpeed(
            model,
            candidate.gpu,
            catalog.gpus[candidate.gpu],
            candidate.options,
            candidate.verdict.terms,
            UNLOADED,
            load_speed_constants(),
        )
    except LookupError:
        return {"speed": None, "startup": startup_document(startup)}
    return {
        "speed": speed_document(speed.plan(replicas)) | {"assumed_load": UNLOADED_WORDS},
        "startup": startup_document(startup),
    }


def option_document(model: Model, name: str, option: Option) -> dict[str, Any]:
    """One way to serve the load: memory, speed, start and price."""
    sizing, nodes = option.sizing, option.nodes
    replicas = sizing.replicas if sizing is not None else 1
    document = candidate_document(model, candidate_of(option), name, replicas, 8)
    document["gpus_per_replica"] = option.gpus
    document["tier"] = nodes.offer.tier if nodes is not None else None
    document["nodes"] = nodes.nodes if nodes is not None else None
    document["nodes_per_replica"] = option.nodes_per_replica
    misses = [miss.words() for miss in sizing.misses] if sizing is not None else []
    reasons = [*document["reasons"], *misses]
    if option.reason and option.reason not in reasons:
        reasons.append(option.reason)
    document["reasons"] = reasons
    arguments = [*document.pop("vllm_args"), *node_args(option.nodes_per_replica or 1)]
    speed = option.plan()
    document["speed"] = speed_document(speed) if speed is not None else None
    document["startup"] = startup_document(
        plan_startup(option.verdict.weights_bytes, enforce_eager=option.options.enforce_eager)
    )
    document["cost"] = _cost(option)
    document["vllm_args"] = arguments
    return document


def _cost(option: Option) -> dict[str, Any] | None:
    usd, per_tokens = option.usd_per_hour, option.usd_per_1m
    if usd is None:
        return None
    return {
        "usd_per_hour": f"{usd:.4f}".rstrip("0").rstrip("."),
        "usd_per_1m_output_tokens": None if per_tokens is None else f"{per_tokens:.2f}",
    }


def comparison_document(
    model: Model, name: str, found: Comparison, load: Traffic
) -> dict[str, Any]:
    """The choice, what is dearer and faster, and every GPU and format that lost."""
    return {
        "model": name,
        "chosen": option_document(model, name, found.nearest),
        "alternatives": [option_document(model, name, option) for option in found.pareto],
        "rejected": [
            {
                "gpu": option.gpu,
                "quantization": (
                    model.quantization
                    if option.options.quantization == "auto"
                    else option.options.quantization
                ),
                "reason": reason,
            }
            for option, reason in found.rejected
        ],
        "meets_goals": found.chosen is not None,
        "load": {
            "requests_per_s": load.requests_per_s,
            "concurrency": load.concurrency,
            "input_tokens": load.input_tokens,
            "output_tokens": load.output_tokens,
            "prefix_cache_share": load.cached_share,
            "accepted_tokens": load.accepted_tokens,
        },
        "model_facts": model_facts(model),
    }
