"""The section of docs/accuracy.md on logs that were found after the planner was made."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from berth.catalog.gpu import Gpu
from berth.catalog.model import Models, find_model
from berth.planner.accuracy import Comparison, compare, quantile, read_start_log

LATER = Path(__file__).parents[1] / "data" / "start_logs_later.csv"


def later_comparisons(
    gpus: Mapping[str, Gpu], models: Models
) -> list[tuple[Mapping[str, str], Comparison]]:
    """Every row of the file with its plan of today."""
    with LATER.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    logs = [(row, read_start_log(row)) for row in rows]
    return [
        (row, compare(log, gpus[log.gpu], models[find_model(models, log.model)]))
        for row, log in logs
    ]


def later_section(found: Sequence[tuple[Mapping[str, str], Comparison]]) -> str:
    """The table, with the error at first sight and today's."""
    first_kv = [float(row["first_kv_share"]) for row, _ in found if row["first_kv_share"]]
    first_weights = [float(row["first_weights_share"]) for row, _ in found]
    settled = [c for _, c in found if c.verdict_right is not None]
    right = sum(bool(c.verdict_right) for c in settled)
    lines = [
        "## Logs found later",
        "",
        f"{len(found)} public logs (`tests/data/start_logs_later.csv`) were found when all of the "
        "above was done, and planned before anything was changed for them (the model of N18 and "
        "the rank that N10 speaks of were read anew). Weights at first sight: median "
        f"{_median(first_weights):.2%}, 95th percentile {_high(first_weights):.2%}. KV cache at "
        f"first sight: {len(first_kv)} rows, median {_median(first_kv):.2%}, 95th percentile "
        f"{_high(first_kv):.2%}. Verdicts: {right} of {len(settled)} right. Three kinds were "
        "mended after that: tables of positions of Gemma 3, zero points of symmetric GPTQ, views "
        "of latent attention in 16 bits.",
        "",
        "| Log | model | GPU | vLLM | weights, first | today | cache, first | today | presumed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row, c in found:
        lines.append(
            f"| {c.log.id} | {c.log.model} | {c.log.gpu} x {c.log.options.ranks} "
            f"| {c.log.options.vllm_version} | {_share(row['first_weights_share'])} "
            f"| {_share(c.weights_share)} | {_share(row['first_kv_share'])} "
            f"| {_share(c.kv_share)} | {c.log.presumed} |"
        )
    why = [(c.log.id, text) for _, c in found for text in (c.log.why_off, c.log.why_weights_off)]
    reasons = [f"- {name}: {text}" for name, text in why if text]
    return "\n".join([*lines, "", *reasons, ""])


def _median(shares: Sequence[float]) -> float:
    return median(abs(share) for share in shares)


def _high(shares: Sequence[float]) -> float:
    return quantile([abs(share) for share in shares], 0.95)


def _share(value: str | float | None) -> str:
    return "" if value in ("", None) else f"{float(value):+.2%}"
