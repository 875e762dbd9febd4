"""Constants fitted to some runs, so that the others can judge them.

Least squares on logarithms with a soft-L1 loss, each constant held near what kernel tables or
other simulators say of it (never near the shipped value, which has seen all runs).
"""

from collections.abc import Callable, Sequence
from math import exp, isfinite, log, sqrt
from random import Random

from berth.catalog.speed import SpeedConstants
from tests.accuracy.speed_rows import Predictor, Run, queue_dominated

PRIORS: dict[str, tuple[float, float]] = {
    # (value, width as a share): kernel tables of aiconfigurator-core 0.12.0 for shares and
    # all-reduce, the BLIS simulator (32 us a layer, 126 us a step, 4 us a sequence) for overheads,
    # the slope of one line through many contexts (vLLM blog of 2026-04-22) for the cache, quiet
    # hosts for the front end; wide where tables disagree with each other.
    "read_share.16bit": (0.75, 0.3),
    "read_share.fp8": (0.63, 0.5),
    "read_share.fp8_block": (0.45, 0.3),
    "read_share.nvfp4": (0.35, 0.6),
    "read_share.kv": (0.92, 0.1),
    "read_share.experts": (0.80, 0.3),
    "read_share.experts_mxfp4_hopper": (0.75, 0.3),
    "read_share.experts_blackwell": (1.0, 0.3),
    "compute_share.16bit": (0.60, 0.2),
    "compute_share.fp8": (0.56, 0.2),
    "compute_share.fp8_blackwell": (0.46, 0.2),
    "compute_share.nvfp4": (0.40, 0.2),
    "compute_share.attention": (0.50, 0.2),
    "compute_share.experts": (0.30, 0.5),
    "read_share_exponent": (0.15, 0.7),
    "layer_us": (32, 0.3),
    "moe_layer_us": (20, 0.6),
    "state_layer_us": (20, 0.6),
    "step_us": (250, 0.8),
    "sequence_before_async_us": (20, 0.6),
    "sequence_early_async_us": (15, 0.8),
    "elementwise_bytes": (24, 0.3),
    "rank_skew_us": (2, 0.6),
    "blackwell_fixed_share": (0.8, 0.3),
    "prompt_floor_us.eager": (700, 0.25),
    "prompt_floor_us.eager_blackwell": (700, 0.25),
    "server_ms": (5, 0.3),
    "front_end_ms": (3, 0.3),
    "front_end_us_per_token": (6, 0.6),
}
ITL_SIGMA = 0.1
TTFT_SIGMA = 1.0
FOLDS = 5
SHUFFLES = (1, 2, 3, 4)
"""Orders of the configurations before they are dealt out, so that no lucky deal decides."""
LARGEST_LOAD = 500
"""Clients; with more the room in the KV cache decides, which those runs do not state."""
TURNS = 10
STEP = 0.02


def comparable_ttft(run: Run) -> bool:
    """A steady load on a recent engine whose first tokens did not wait for a place."""
    return run.comparable_itl and run.ttft_ms is not None and not queue_dominated(run)


def cross_validated(
    runs: Sequence[Run], predictor: Predictor, start: SpeedConstants
) -> list[tuple[SpeedConstants, list[Run]]]:
    """Per fold the constants of the other folds, and its own runs; configurations stay whole.

    Every run is kept back once per shuffle.
    """
    configurations = sorted({run.configuration for run in runs})
    folds = []
    for shuffle in SHUFFLES:
        dealt = list(configurations)
        Random(shuffle).shuffle(dealt)
        fold_of = {each: index % FOLDS for index, each in enumerate(dealt)}
        for fold in range(FOLDS):
            seen = [run for run in runs if fold_of[run.configuration] != fold and _teaches(run)]
            kept_back = [run for run in runs if fold_of[run.configuration] == fold]
            folds.append((fit(seen, predictor, start), kept_back))
    return folds


def fit(runs: Sequence[Run], predictor: Predictor, start: SpeedConstants) -> SpeedConstants:
    """Constants for `runs`; those without a prior stay as in `start`."""
    names = list(PRIORS)
    point = [0.0] * len(names)

    def residuals(at: Sequence[float]) -> list[float]:
        constants = _moved(start, names, at)
        found = [shift / PRIORS[name][1] for name, shift in zip(names, at, strict=True)]
        for run in runs:
            found += _errors(run, predictor, constants)
        return found

    current = residuals(point)
    for _ in range(TURNS):
        step = _gauss_newton(residuals, point, current, len(names))
        trial = [a + b for a, b in zip(point, step, strict=True)]
        after = residuals(trial)
        if _cost(after, len(names)) >= _cost(current, len(names)):
            trial = [a + b / 3 for a, b in zip(point, step, strict=True)]
            after = residuals(trial)
            if _cost(after, len(names)) >= _cost(current, len(names)):
                break
        point, current = trial, after
    return _moved(start, names, point)


def _teaches(run: Run) -> bool:
    """Not where what was measured is a host or client of its own kind, or room is not known."""
    no_link = run.gpu == "RTX-4090" and run.options.tensor_parallel_size > 1
    return not no_link and run.gpu not in ("A10", "L4") and run.load < LARGEST_LOAD


def _errors(run: Run, predictor: Predictor, constants: SpeedConstants) -> list[float]:
    answer = predictor.answer(run, constants)
    found = []
    if run.itl_ms is not None:
        found.append(log(answer.itl_ms / run.itl_ms) / ITL_SIGMA)
    if comparable_ttft(run) and run.ttft_ms is not None:
        said = answer.steady_ttft_ms if run.ttft_is_median else answer.ttft_ms
        if isfinite(said):
            found.append(log(said / run.ttft_ms) / TTFT_SIGMA)
        else:
            found.append(0.0)
    return found


def _moved(start: SpeedConstants, names: Sequence[str], shifts: Sequence[float]) -> SpeedConstants:
    """The priors, each moved by a logarithm."""
    flat: dict[str, float] = {}
    nested: dict[str, dict[str, float]] = {}
    for name, shift in zip(names, shifts, strict=True):
        value = PRIORS[name][0] * exp(shift)
        group, _, key = name.partition(".")
        if key:
            nested.setdefault(group, {})[key] = value
        else:
            flat[group] = value
    floor = start.prompt_floor_us.model_copy(update=nested.pop("prompt_floor_us", {}))
    shares = {group: {**getattr(start, group), **values} for group, values in nested.items()}
    return start.model_copy(update={**flat, **shares, "prompt_floor_us": floor})


def _cost(residuals: Sequence[float], priors: int) -> float:
    squares = sum(r * r for r in residuals[:priors])
    return squares + sum(2 * (sqrt(1 + r * r) - 1) for r in residuals[priors:])


def _gauss_newton(
    residuals: Callable[[Sequence[float]], list[float]],
    point: Sequence[float],
    current: Sequence[float],
    priors: int,
) -> list[float]:
    """One step; far runs weigh less."""
    columns = []
    for index in range(len(point)):
        moved = list(point)
        moved[index] += STEP
        columns.append([(a - b) / STEP for a, b in zip(residuals(moved), current, strict=True)])
    weights = [1.0 if i < priors else 1 / sqrt(1 + r * r) for i, r in enumerate(current)]
    size = len(point)
    matrix = [
        [
            sum(w * a * b for w, a, b in zip(weights, columns[i], columns[j], strict=True))
            for j in range(size)
        ]
        for i in range(size)
    ]
    target = [
        -sum(w * a * r for w, a, r in zip(weights, columns[i], current, strict=True))
        for i in range(size)
    ]
    return _solved(matrix, target)


def _solved(matrix: list[list[float]], target: list[float]) -> list[float]:
    """Gaussian elimination with pivots."""
    size = len(target)
    rows = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    solution = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][k] * solution[k] for k in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return solution
