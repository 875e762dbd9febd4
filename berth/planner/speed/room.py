"""What one replica takes at once: places in the KV cache and in the scheduler."""

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import Model
from berth.planner.engine_options import EngineOptions
from berth.planner.memory_terms import Terms, memory_terms
from berth.planner.speed.serving import Limits


def limits_of(terms: Terms, options: EngineOptions, request_tokens: float) -> Limits:
    """The limits of a server whose memory is known.

    Args:
        terms: its memory per GPU.
        options: its parallel sizes; each data-parallel rank has a cache of its own.
        request_tokens: mean that one running request holds: its prompt and half of its answer.
    """
    blocks = terms.request_blocks(max(1, round(request_tokens)))
    copies = options.data_parallel_size
    held = terms.num_blocks / blocks if blocks else float(terms.max_num_seqs)
    return Limits(
        kv_requests=held * copies,
        max_num_seqs=terms.max_num_seqs * copies,
        max_num_batched_tokens=terms.max_num_batched_tokens,
        lanes=options.pipeline_parallel_size * copies,
    )


def server_limits(model: Model, gpu: Gpu, options: EngineOptions, request_tokens: float) -> Limits:
    """The limits of a server with these options."""
    return limits_of(memory_terms(model, gpu, options), options, request_tokens)
