"""What one replica takes at once: places in the KV cache and in the scheduler."""

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.memory_terms import Terms, memory_terms
from berth.planner.speed.serving import Limits


def limits_of(terms: Terms, request_tokens: float, stages: int = 1) -> Limits:
    """The limits of a server whose memory is known.

    Args:
        terms: its memory per GPU.
        request_tokens: mean that one running request holds: its prompt and half of its answer.
        stages: pipeline stages.
    """
    blocks = terms.request_blocks(max(1, round(request_tokens)))
    return Limits(
        kv_requests=terms.num_blocks / blocks if blocks else float(terms.max_num_seqs),
        max_num_seqs=terms.max_num_seqs,
        max_num_batched_tokens=terms.max_num_batched_tokens,
        stages=stages,
    )


def server_limits(model: Model, gpu: Gpu, options: EngineOptions, request_tokens: float) -> Limits:
    """The limits of a server with these options."""
    terms = memory_terms(model, gpu, options)
    return limits_of(terms, request_tokens, options.pipeline_parallel_size)
