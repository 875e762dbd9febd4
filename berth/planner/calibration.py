"""Two benchmarks of a live server, and what they change of the speed model."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from berth.config.problems import one_line
from berth.planner.errors import PlanError
from berth.planner.speed.forecast import Calibration, ServerSpeed

if TYPE_CHECKING:  # what a calibration without a stack need not load
    from berth.config.stack import StackConfig

FORM = "berth-calibration-1"
SLOWEST = 4.0
"""Times slower than modelled: then it is another GPU or model, or the run was disturbed."""
FASTEST = 0.4
LEAST_DONE_SHARE = 0.95
LARGEST = 1e15
"""Of any figure in a file."""
FASTER_UNDER_LOAD = 0.9
"""A token under load may not take less than this share of one alone."""


class CalibrationError(LookupError):
    """A benchmark or calibration file that cannot be used; one line, with what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One run of `vllm bench serve --save-result`."""

    path: str
    model: str
    gpu: str | None
    """From `--metadata gpu=...`; None: not said."""
    day: str
    clients: float
    input_tokens: float
    output_tokens: float
    ttft_ms: float
    itl_ms: float
    output_tokens_per_s: float


def read_bench(path: Path) -> Bench:
    """The figures of one result file.

    Raises:
        CalibrationError: if it is no result of a closed loop, or much of it failed.
    """
    data = _read_object(path)
    done, asked = _number(data, "completed", path), _number(data, "num_prompts", path)
    if done < LEAST_DONE_SHARE * asked:
        raise CalibrationError(
            f"{path}: {done:g} of {asked:g} requests were answered; repeat the run without failures"
        )
    if data.get("max_concurrency") is None:
        raise CalibrationError(
            f"{path}: has no max_concurrency; run with --max-concurrency 1 and with the planned one"
        )
    return Bench(
        path=str(path),
        model=str(data.get("model_id") or data.get("model") or ""),
        gpu=str(data["gpu"]) if data.get("gpu") else None,
        day=_day(str(data.get("date", ""))),
        clients=_number(data, "max_concurrency", path),
        input_tokens=_number(data, "total_input_tokens", path) / done,
        output_tokens=_number(data, "total_output_tokens", path) / done,
        ttft_ms=_number(data, "mean_ttft_ms", path),
        itl_ms=_number(data, "mean_tpot_ms", path),
        output_tokens_per_s=_number(data, "output_throughput", path),
    )


def check_pair(alone: Bench, loaded: Bench, model: str, gpu: str) -> None:
    """Refuse runs of another model or GPU, and two that contradict each other.

    Raises:
        CalibrationError: naming the file, the figures and what to repeat.
    """
    for bench in (alone, loaded):
        if bench.model.casefold() != model.casefold():
            raise CalibrationError(
                f"{bench.path}: is of {bench.model or 'no model'}, not of {model}; "
                "give runs of that model"
            )
        if bench.gpu is not None and bench.gpu != gpu:
            raise CalibrationError(
                f"{bench.path}: was run on {bench.gpu}, not on {gpu}; name that GPU"
            )
    if alone.clients != 1 or loaded.clients <= 1:
        raise CalibrationError(
            f"{alone.path}, {loaded.path}: have {alone.clients:g} and {loaded.clients:g} clients; "
            "give one run with 1 and one with the planned number"
        )
    if loaded.itl_ms < FASTER_UNDER_LOAD * alone.itl_ms:
        raise CalibrationError(
            f"{loaded.path}: {loaded.itl_ms:g} ms per token with {loaded.clients:g} clients "
            f"contradict {alone.itl_ms:g} ms with one; repeat both on the same idle server"
        )
    if loaded.output_tokens_per_s < alone.output_tokens_per_s:
        raise CalibrationError(
            f"{loaded.path}: {loaded.output_tokens_per_s:g} tokens/s with {loaded.clients:g} "
            f"clients contradict {alone.output_tokens_per_s:g} with one; repeat both"
        )


def calibrate(
    alone: Bench,
    loaded: Bench,
    speeds: tuple[ServerSpeed, ServerSpeed],
    *,
    model: str,
    gpu: str,
    tensor_parallel_size: int,
) -> Calibration:
    """Measured over modelled, for both runs.

    Args:
        alone: the run with one client.
        loaded: the run with the planned number.
        speeds: the model under the load of each.
        model: as the catalog names it.
        gpu: key of the catalog.
        tensor_parallel_size: of the server.

    Raises:
        CalibrationError: if a run is faster or slower than that GPU can be.
    """
    factors: list[tuple[float, float]] = []
    for bench, speed in zip((alone, loaded), speeds, strict=True):
        said = speed.answer(1)
        itl = bench.itl_ms / said.itl_ms
        if not FASTEST <= itl <= SLOWEST:
            raise CalibrationError(
                f"{bench.path}: {bench.itl_ms:g} ms per token is {itl:.2g} times the "
                f"{said.itl_ms:.3g} ms of {model} on {tensor_parallel_size} x {gpu}; "
                "check GPU, format and split"
            )
        factors.append((itl, bench.ttft_ms / said.ttft_ms))
    return Calibration(
        day=max(alone.day, loaded.day),
        model=model,
        gpu=gpu,
        tensor_parallel_size=tensor_parallel_size,
        clients=loaded.clients,
        itl_alone=factors[0][0],
        itl_loaded=factors[1][0],
        ttft_alone=factors[0][1],
        ttft_loaded=factors[1][1],
    )


def calibration_document(calibration: Calibration) -> dict[str, Any]:
    """The calibration as it is written to a file."""
    return {"form": FORM} | asdict(calibration)


def read_calibration(path: Path, model: str) -> Calibration:
    """A calibration file, for `model`.

    Raises:
        CalibrationError: if it is no calibration, or of another model.
    """
    data = _read_object(path)
    if data.pop("form", None) != FORM:
        raise CalibrationError(f"{path}: is no calibration; make one with berth calibrate")
    try:
        calibration = Calibration(**data)
        sound = _is_sound(calibration)
    except TypeError:
        sound = False
    if not sound:
        raise CalibrationError(f"{path}: lacks a figure; make it again with berth calibrate")
    if calibration.model != model:
        raise CalibrationError(
            f"{path}: is of {calibration.model}, not of {model}; name a calibration of that model"
        )
    return calibration


def _is_sound(calibration: Calibration) -> bool:
    """Whether every figure is one that a calibration can have."""
    texts = (calibration.day, calibration.model, calibration.gpu)
    ranks = calibration.tensor_parallel_size
    factors = (
        calibration.itl_alone,
        calibration.itl_loaded,
        calibration.ttft_alone,
        calibration.ttft_loaded,
    )
    return (
        all(isinstance(text, str) for text in texts)
        and isinstance(ranks, int)
        and ranks >= 1
        and 1 < calibration.clients < LARGEST
        and all(0 < factor < LARGEST for factor in factors)
    )


def read_calibrations(config: "StackConfig", folder: Path) -> Mapping[str, Calibration]:
    """The calibrations that a stack names, by model server.

    Args:
        config: the stack.
        folder: of the project, from which its paths are seen.

    Raises:
        PlanError: with a line for every file that cannot be used.
    """
    found: dict[str, Calibration] = {}
    problems: list[str] = []
    for name, model in config.models.items():
        if model.calibration is None:
            continue
        try:
            found[name] = read_calibration(folder / model.calibration, model.model)
        except CalibrationError as error:
            problems.append(f"berth:models.{name}.calibration: {error.args[0]}")
    if problems:
        raise PlanError(problems)
    return found


def _read_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_doubles)
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise CalibrationError(f"{path}: {reason}; name a file that can be read") from error
    except _DoubleKeyError as error:
        raise CalibrationError(
            f"{path}: has {one_line(error.args[0])} twice; give the file as it was written"
        ) from error
    except (ValueError, RecursionError) as error:
        raise CalibrationError(f"{path}: is no JSON; give the file of --save-result") from error
    if not isinstance(data, dict):
        raise CalibrationError(f"{path}: is no JSON object; give the file of --save-result")
    return data


class _DoubleKeyError(Exception):
    """A key of a JSON object that stands in it twice."""


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DoubleKeyError(max(keys, key=keys.count))
    return found


def _number(data: Mapping[str, Any], key: str, path: Path) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST:
        raise CalibrationError(
            f"{path}: has no {key} above 0; give the file of vllm bench serve --save-result"
        )
    return float(value)


def _day(stamp: str) -> str:
    """`20261130-120000` as 2026-11-30."""
    digits = stamp[:8]
    if len(digits) == 8 and digits.isdigit():
        return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
    return "an unknown day"
