"""What PyTorch's allocator takes for a weight beyond its bytes.

Source: PyTorch, `c10/cuda/CUDACachingAllocator.cpp`: from 10 MiB on a block is rounded up to 2 MiB;
what is left of it is split off only if it is more than 1 MiB, else it counts as allocated. Smaller
weights share segments of 20 MiB, where almost nothing is lost.
"""

from collections.abc import Iterable

MIB = 1024**2
OWN_SEGMENT_BYTES = 10 * MIB
SEGMENT_MULTIPLE_BYTES = 2 * MIB
SPLIT_ABOVE_BYTES = 1 * MIB
FUSED = {
    "q_proj": "qkv",
    "k_proj": "qkv",
    "v_proj": "qkv",
    "gate_proj": "gate_up",
    "up_proj": "gate_up",
    "q_a_proj": "qkv_a",
    "kv_a_proj_with_mqa": "qkv_a",
}
"""Projections that vLLM keeps in one weight, by the end of their module."""


def slack_bytes(weight_bytes: float) -> float:
    """Bytes of one block beyond the weight in it."""
    if weight_bytes < OWN_SEGMENT_BYTES:
        return 0.0
    left = -weight_bytes % SEGMENT_MULTIPLE_BYTES
    return left if left <= SPLIT_ABOVE_BYTES else 0.0


def fused_slack_bytes(weights: Iterable[tuple[str, float]]) -> float:
    """Slack of the weights of one layer, given as module and bytes, as vLLM fuses them."""
    blocks: dict[str, float] = {}
    for module, weight_bytes in weights:
        parent, _, name = module.rpartition(".")
        block = f"{parent}.{FUSED.get(name, name)}"
        blocks[block] = blocks.get(block, 0.0) + weight_bytes
    return sum(slack_bytes(size) for size in blocks.values())
