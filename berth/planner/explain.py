"""Why one GPU is not the choice for a load, in one paragraph."""

from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.catalog.speed import SpeedConstants
from berth.planner.cheapest import Comparison, why_out
from berth.planner.option import split_words
from berth.planner.search_space import PCIE_RANKS
from berth.planner.speed.serving import Traffic
from berth.planner.speed.step import Setup, StepModel

PREFILL_TOKENS = 2048


def explain(
    model: Model,
    gpu_key: str,
    found: Comparison,
    load: Traffic,
    catalog: Catalog,
    constants: SpeedConstants,
) -> str:
    """The best try on the GPU, what stopped it, and what a wider split over PCIe would take."""
    parts = [_verdict(gpu_key, found, catalog)]
    gpu = catalog.gpus[gpu_key]
    if gpu.fabric.kind == "pcie":
        widest = max(
            (i.gpu_count for i in catalog.instances.values() if i.gpu == gpu_key), default=8
        )
        if widest > PCIE_RANKS:
            parts.append(_wider(model, gpu_key, widest, catalog, constants))
    return f"{gpu_key}: {'; '.join(part for part in parts if part)}"


def _verdict(gpu_key: str, found: Comparison, catalog: Catalog) -> str:
    nearest = found.nearest
    if nearest.gpu == gpu_key:
        return (
            f"{split_words(nearest)} is {'chosen' if found.chosen else 'the nearest to the goals'}"
        )
    for option in found.pareto:
        if option.gpu == gpu_key:
            return f"{why_out(option, nearest)}, and faster"
    lines = [reason for option, reason in found.rejected if option.gpu == gpu_key]
    if lines:
        return "; ".join(lines)
    if not catalog.gpus[gpu_key].tier:
        return "is a workstation card, of which no tier is made; fix it with --gpu to plan it"
    return "is not among the offers; another GPU, instance type or region was fixed"


def _wider(
    model: Model, gpu_key: str, ranks: int, catalog: Catalog, constants: SpeedConstants
) -> str:
    setup = Setup(tensor_parallel_size=ranks)
    try:
        steps = StepModel(model, gpu_key, catalog.gpus[gpu_key], setup, constants)
    except LookupError as error:
        return str(error.args[0])
    terms = steps.terms(0, 0, PREFILL_TOKENS, PREFILL_TOKENS**2 / 2, 1)
    kind = "measured" if steps.all_reduce is not None and steps.all_reduce.measured else "estimated"
    return (
        f"TP {ranks} over PCIe is beyond the limit of {PCIE_RANKS}: all-reduce alone takes "
        f"{terms.all_reduce_ms / 1000:.1f} s of a prefill of {PREFILL_TOKENS:,} tokens ({kind})"
    )
