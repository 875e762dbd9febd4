"""How long a replica takes to start, and how long its start-up probe has to wait."""

from math import ceil

from berth.planner.plan import StartupPlan

GIB_BYTES = 1024**3
HUB_BYTES_PER_S = 0.2e9
"""Weights that come cold from the hub: 141 GB took 10 to 40 minutes in public reports."""
IMAGE_S = 60
"""Pulling and unpacking the engine's image on a node with fast disks; a rule of ours."""
COMPILE_AND_GRAPHS_S = 120
EAGER_START_S = 30
"""Without compiling and CUDA graphs; a rule of ours. With them 210 s were seen of a 35B in NVFP4;
the budget has five minutes for it."""
ENGINE_BUDGET_S = 300
"""Compiling, capturing CUDA graphs, warming up."""
BUDGET_FLOOR_S = 600
COLD_FLOOR_S = 1800
"""Least budget while weights come cold from the hub."""
PROBE_FLOOR_S = 300
PROBE_BASE_S = 120
PROBE_S_PER_GIB = 3
"""The rule startup-probe-too-short: 203 GiB took about 600 s on four H100."""


def plan_startup(
    weights_bytes: int,
    bytes_per_s: float = HUB_BYTES_PER_S,
    *,
    cold: bool = True,
    enforce_eager: bool = False,
) -> StartupPlan:
    """Times of one start, and the budget that covers it.

    Args:
        weights_bytes: weights as downloaded.
        bytes_per_s: that their source delivers.
        cold: they come from a hub or a network file system, not from a disk of the node.
        enforce_eager: nothing is compiled and no graph captured.
    """
    weights_s = ceil(weights_bytes / bytes_per_s)
    engine_s = EAGER_START_S if enforce_eager else COMPILE_AND_GRAPHS_S
    return StartupPlan(
        image_s=IMAGE_S,
        weights_s=weights_s,
        compile_and_graphs_s=engine_s,
        total_s=IMAGE_S + weights_s + engine_s,
        budget_s=startup_budget_s(weights_bytes, bytes_per_s, cold=cold),
    )


def startup_budget_s(weights_bytes: int, bytes_per_s: float, *, cold: bool = True) -> int:
    """Seconds that a start-up probe has to allow: the larger of two rules.

    Source:
        Twice the weights' time and five minutes, at least 600 s, 1800 s cold: probes of KServe,
        production-stack and llm-d. 120 s and 3 s per GiB, at least 300 s: the policy.
    """
    loading = ceil(2 * weights_bytes / bytes_per_s) + ENGINE_BUDGET_S
    floor = COLD_FLOOR_S if cold else BUDGET_FLOOR_S
    policy = ceil(PROBE_BASE_S + PROBE_S_PER_GIB * weights_bytes / GIB_BYTES)
    return max(floor, loading, PROBE_FLOOR_S, policy)
