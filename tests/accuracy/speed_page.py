"""Write docs/speed-accuracy.md: the speed model beside published runs of vLLM."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from berth.catalog.model import load_models
from berth.catalog.model_shape import StateCache
from berth.catalog.speed import SpeedConstants, load_speed_constants
from berth.planner.accuracy import quantile
from berth.planner.speed.forecast import ENOUGH_RUNS
from berth.planner.vllm_rules import parse_version
from tests.accuracy.speed_fit import comparable_ttft, cross_validated
from tests.accuracy.speed_rows import Predictor, Run, read_runs

PAGE = Path(__file__).parents[2] / "docs/speed-accuracy.md"
LIMITS_MS = (10, 15, 20, 30, 50, 100)
"""Time per token that a decision has to keep."""
FAST = ("H100-SXM-80GB", "H200-SXM-141GB", "B200-SXM-180GB")
INTRODUCTION = """# How right the speed model is

Plans beside runs of vLLM that other people published (`tests/data/throughput.csv`), written by
`make accuracy`. Error: plan less run, as a share of the run. *Cross-validated*: the constants are
fitted to four fifths of the configurations (model, GPU, format, tensor parallel size), starting
from kernel tables, and judged on the rest; dealt out in four ways, so every run counts four times.
*Shipped*: the constants of `berth/catalog/speed.yaml`, which have seen these runs. Steady loads on
vLLM 0.8 and later; the first token where clients did not mostly wait for a place. GPUs with fewer
than ten runs, and models with state layers (Mamba and the like), claim no accuracy: their plans
say `evidence: low`. The widths of the priors and the weights of the two kinds of error were chosen
among about ten by the cross-validated score, which is a little kind to it.
"""
SATURATION = """
Saturated runs send all requests at once and are compared with the steady state under as many
clients. They are the weak spot: on short prompts runs of one source stay at a third to a half of
the model, on the same GPU where others reach it. Part of it may be that such a run is finite: a
thousand chats of very unlike lengths start together, and the longest answers end alone. Which part
host, client and recomputed prompts have is in no published figure. This is why a plan uses at most
70 % of the modelled saturation.

The first token is the front end's as much as the GPU's: a quarter of the runs (pairs of RTX 4090,
one small L4 node, A10, remote clients) lie 45 to 90 % off, and offsets per source or other weights
bring the rest no nearer. Two benchmarks of one's own remove exactly this (`berth calibrate`).
"""


@dataclass(frozen=True, slots=True)
class Error:
    """One figure of one run, against what was said of it."""

    run: Run
    share: float


def write_page() -> int:
    """Compare all runs, write the page; the number of runs."""
    runs = [run for run in read_runs() if run.gpu != "RTX-3090"]  # its bandwidth was not read
    predictor, constants = Predictor(runs), load_speed_constants()
    steady = [run for run in runs if run.comparable_itl]
    folds = cross_validated(steady, predictor, constants)
    itl = [error for fold, kept in folds for error in _itl(kept, predictor, fold)]
    ttft = [error for fold, kept in folds for error in _ttft(kept, predictor, fold)]
    lines = [
        INTRODUCTION,
        *_table(
            "All",
            [
                ("time per token, cross-validated", itl),
                ("time per token, shipped", _itl(steady, predictor, constants)),
                ("first token, cross-validated", ttft),
                ("first token, shipped", _ttft(steady, predictor, constants)),
                ("time per token, where accuracy is claimed, cross-validated", _claimed(itl)),
                ("first token, where accuracy is claimed, cross-validated", _claimed(ttft)),
                ("time per token without hybrids and MI355X, cross-validated", _usual(itl)),
                ("first token without hybrids and MI355X, cross-validated", _usual(ttft)),
                (
                    "time per token, dense on H100, H200, B200, cross-validated",
                    [e for e in itl if _dense_fast(e)],
                ),
                (
                    "tokens/s under load, shipped",
                    _throughput(runs, predictor, constants, "clients"),
                ),
                ("tokens/s saturated, shipped", _throughput(runs, predictor, constants, "at_once")),
            ],
        ),
        *_both("GPU", itl, ttft, lambda run: run.gpu),
        *_both("Format", itl, ttft, lambda run: run.options.quantization),
        *_both("vLLM", itl, ttft, _age),
        *_both("Tensor parallel", itl, ttft, lambda run: str(run.options.tensor_parallel_size)),
        *_both("Load", itl, ttft, lambda run: run.load_kind),
        *_decisions(steady, predictor, constants),
        SATURATION,
    ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")
    return len(runs)


def _itl(runs: Iterable[Run], predictor: Predictor, constants: SpeedConstants) -> list[Error]:
    return [
        Error(run, predictor.answer(run, constants).itl_ms / run.itl_ms - 1)
        for run in runs
        if run.itl_ms is not None
    ]


def _ttft(runs: Iterable[Run], predictor: Predictor, constants: SpeedConstants) -> list[Error]:
    found = []
    for run in runs:
        if not comparable_ttft(run) or run.ttft_ms is None:
            continue
        answer = predictor.answer(run, constants)
        said = answer.steady_ttft_ms if run.ttft_is_median else answer.ttft_ms
        found.append(Error(run, said / run.ttft_ms - 1))
    return found


def _throughput(
    runs: Iterable[Run], predictor: Predictor, constants: SpeedConstants, kind: str
) -> list[Error]:
    return [
        Error(
            run, predictor.answer(run, constants).output_tokens_per_s / run.output_tokens_per_s - 1
        )
        for run in runs
        if run.recent and run.load_kind == kind and run.output_tokens_per_s is not None
    ]


def _claimed(errors: Sequence[Error]) -> list[Error]:
    """Those of plans that do not call their evidence low."""
    counts = load_speed_constants().measured_gpus
    return [
        error
        for error in errors
        if counts.get(error.run.gpu, 0) >= ENOUGH_RUNS and not _hybrid(error.run)
    ]


def _usual(errors: Sequence[Error]) -> list[Error]:
    """Without the kinds of which there is next to nothing."""
    return [e for e in errors if e.run.gpu != "MI355X" and not _hybrid(e.run)]


def _hybrid(run: Run) -> bool:
    return any(isinstance(cache, StateCache) for cache in load_models()[run.model].caches)


def _dense_fast(error: Error) -> bool:
    model = load_models()[error.run.model]
    dense = not any(layer.top_k for layer in model.distinct_layers)
    return dense and error.run.gpu in FAST


def _age(run: Run) -> str:
    version = parse_version(run.options.vllm_version) or (0, 0, 0)
    return "0.14 and later" if version >= (0, 14, 0) else "0.8 to 0.13"


def _both(
    title: str, itl: Sequence[Error], ttft: Sequence[Error], key: Callable[[Run], str]
) -> list[str]:
    """Cross-validated errors by a property of the run."""
    names = sorted({key(error.run) for error in (*itl, *ttft)})
    rows = [
        (f"{name}, {what}", [error for error in errors if key(error.run) == name])
        for name in names
        for what, errors in (("time per token", itl), ("first token", ttft))
    ]
    return _table(f"{title}, cross-validated", rows)


def _table(title: str, rows: Iterable[tuple[str, Sequence[Error]]]) -> list[str]:
    lines = [
        f"## {title}",
        "",
        "| | runs | median error | 90 % below | bias |",
        "|---|---|---|---|---|",
    ]
    for name, errors in rows:
        shares = [error.share for error in errors]
        if not shares:
            continue
        sizes = [abs(share) for share in shares]
        largest = quantile([min(size, 99.0) for size in sizes], 0.9)
        lines.append(
            f"| {name} | {len(shares)} | {median(sizes):.1%} | {largest:.0%} | "
            f"{median(shares):+.1%} |"
        )
    return [*lines, ""]


def _decisions(runs: Sequence[Run], predictor: Predictor, constants: SpeedConstants) -> list[str]:
    """The split with the most tokens/s per GPU within a limit, by plan and by measurement."""
    grids: dict[tuple[str, str, str, float, float, float], list[Run]] = {}
    for run in runs:
        if run.load_kind == "clients" and run.itl_ms is not None:
            key = (*run.configuration[:3], run.input_tokens, run.output_tokens, run.load)
            grids.setdefault(key, []).append(run)
    losses: list[float] = []
    broken = 0
    for grid in grids.values():
        if len({run.options.tensor_parallel_size for run in grid}) < 2:
            continue
        for limit_ms in LIMITS_MS:
            measured = {id(run): run.itl_ms or 0.0 for run in grid}
            said = {
                id(run): predictor.answer(run, constants).itl_ms * constants.band.itl[1]
                for run in grid
            }
            allowed = [run for run in grid if said[id(run)] <= limit_ms]
            possible = [run for run in grid if measured[id(run)] <= limit_ms]
            if not allowed or not possible:
                continue
            chosen = max(allowed, key=lambda run: _per_gpu(run, said))
            best = max(_per_gpu(run, measured) for run in possible)
            losses.append(max(0.0, 1 - _per_gpu(chosen, measured) / best))
            broken += measured[id(chosen)] > limit_ms
    if not losses:
        return []
    return [
        "## Decisions on measured grids",
        "",
        f"Of {len(losses)} choices of a tensor parallel size under a limit of "
        f"{', '.join(map(str, LIMITS_MS))} ms per token, sized on the high side, the choice loses "
        f"{median(losses):.1%} of tokens/s per GPU in the median ({quantile(losses, 0.9):.0%} at "
        f"the 90th percentile) against the measured best, and breaks the limit in "
        f"{broken / len(losses):.1%}.",
        "",
    ]


def _per_gpu(run: Run, itl_ms: dict[int, float]) -> float:
    return run.load / itl_ms[id(run)] / run.options.tensor_parallel_size
