"""How long GPUs of one replica take to add up a message, measured or from the nearest fabric."""

from dataclasses import dataclass
from math import log2

from berth.catalog.gpu import AllReduce, Gpu, load_gpus
from berth.catalog.speed import SpeedConstants

BLACKWELL = 10
"""Major compute capability of data-centre Blackwell, whose all-reduce is fused with the norm."""


@dataclass(frozen=True, slots=True)
class AllReduceTime:
    """Fixed time and bandwidth of one all-reduce."""

    fixed_us: float
    gb_per_s: float
    measured: bool


def all_reduce_time(
    gpu_key: str, gpu: Gpu, ranks: int, constants: SpeedConstants
) -> AllReduceTime | None:
    """The all-reduce of `ranks` GPUs of one kind; None for one rank or an unknown fabric."""
    if ranks == 1:
        return None
    rows, link_share, measured = gpu.fabric.all_reduce, 1.0, True
    if not rows:
        near = load_gpus().get(constants.all_reduce_of.get(gpu_key, ""))
        if near is None:
            return None
        rows, measured = near.fabric.all_reduce, False
        link_share = gpu.fabric.gb_per_s / near.fabric.gb_per_s
    row = _row_for(rows, ranks)
    fixed = row.latency_us + constants.rank_skew_us * log2(ranks)
    if gpu.capability[0] == BLACKWELL:
        fixed *= constants.blackwell_fixed_share
    return AllReduceTime(fixed, row.gb_per_s * link_share, measured and row.ranks >= ranks)


def _row_for(rows: tuple[AllReduce, ...], ranks: int) -> AllReduce:
    """The smallest measured group of at least `ranks`, else the largest."""
    return next((row for row in rows if row.ranks >= ranks), rows[-1])
