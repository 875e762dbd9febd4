"""Plots of a plan for a load: price against latency, and throughput against clients."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from math import log
from pathlib import Path

from berth.planner.cheapest import Comparison, Option, split_words
from berth.planner.sizing import Goals
from berth.planner.speed.forecast import ServerSpeed

WIDTH, HEIGHT, MARGIN, GAP = 1080, 460, 64, 48
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
COLOURS = ("#34507a", "#c2703d", "#4f8f5b")


@dataclass(frozen=True, slots=True)
class _Panel:
    """One plot: points by series, and lines that are goals."""

    title: str
    x_name: str
    y_name: str
    series: Sequence[tuple[str, Sequence[tuple[float, float, str]]]]
    goals: Sequence[tuple[str, float]] = ()


def write_load_plot(path: Path, name: str, found: Comparison, goals: Goals) -> int:
    """Draw both plots; 2 where the file cannot be written."""
    if path.suffix != ".svg":
        print(f"{path}: is no .svg file; name one that ends so", file=sys.stderr)
        return 2
    try:
        path.write_text(load_svg(name, found, goals), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        print(f"{path}: {reason}; name a file that can be written", file=sys.stderr)
        return 2
    return 0


def load_svg(name: str, found: Comparison, goals: Goals) -> str:
    """Price against latency on the left, throughput and latency against clients on the right."""
    panels = [_frontier(found), _throughput(found.nearest, goals)]
    width = (WIDTH - GAP) / 2
    drawn = "".join(
        _drawn(panel, index * (width + GAP), width) for index, panel in enumerate(panels) if panel
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        f'<text x="{MARGIN}" y="24" font-size="17">{escape(name)}</text>{drawn}</svg>\n'
    )


def _frontier(found: Comparison) -> _Panel:
    options = [o for o in (found.nearest, *found.pareto) if o.usd_per_hour is not None]
    first, each = [], []
    for option in options:
        if option.sizing is None:
            continue
        usd, label = float(option.usd_per_hour or 0), f"{option.gpu}, {split_words(option)}"
        first.append((option.sizing.answer.ttft_ms, usd, label))
        each.append((option.sizing.answer.itl_ms, usd, label))
    return _Panel(
        "price against latency",
        "ms",
        "USD/h",
        [("first token", first), ("per token", each)],
    )


def _throughput(option: Option, goals: Goals) -> _Panel | None:
    speed = option.speed
    if speed is None or option.sizing is None:
        return None
    tokens = [(float(n), _at(speed, n)[0], f"{n} clients") for n in CLIENTS]
    times = [(float(n), _at(speed, n)[1], f"{n} clients") for n in CLIENTS]
    lines = [("ITL goal, ms", goals.itl_ms)] if goals.itl_ms is not None else []
    return _Panel(
        f"one replica: {option.gpus} x {option.gpu}",
        "clients",
        "tokens/s, ms per token",
        [("output tokens/s", tokens), ("ms per token", times)],
        lines,
    )


def _at(speed: ServerSpeed, clients: int) -> tuple[float, float]:
    """Tokens per second and milliseconds per token with `clients`."""
    answer = speed.answer_to(replace(speed.load, concurrency=float(clients), requests_per_s=None))
    return answer.output_tokens_per_s, answer.itl_ms


def _drawn(panel: _Panel, left: float, width: float) -> str:
    """Axes, points and lines on logarithmic scales."""
    points = [p for _, series in panel.series for p in series if p[0] > 0 and p[1] > 0]
    if not points:
        return ""
    heights = [y for _, y, _ in points] + [value for _, value in panel.goals]
    x_low, x_high = min(x for x, _, _ in points) / 1.2, max(x for x, _, _ in points) * 1.2
    y_low, y_high = min(heights) / 1.2, max(heights) * 1.2
    top, bottom = 60.0, HEIGHT - MARGIN
    inner = width - MARGIN

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            left + MARGIN + _share(x, x_low, x_high) * inner,
            bottom - _share(y, y_low, y_high) * (bottom - top),
        )

    shapes = [
        f'<text x="{left + MARGIN:.0f}" y="46" font-size="14">{escape(panel.title)}</text>',
        f'<path d="M{left + MARGIN:.0f} {top:.0f}V{bottom:.0f}H{left + width:.0f}" '
        'fill="none" stroke="#444"/>',
        *_ends(panel, left, width, bottom, (x_low, x_high), (y_low, y_high)),
    ]
    for index, (label, series) in enumerate(panel.series):
        colour = COLOURS[index]
        placed = [(*place(x, y), text, x, y) for x, y, text in series if x > 0 and y > 0]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in placed)
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
        shapes += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">'
            f"<title>{escape(text)}: {a:,.4g}, {b:,.4g}</title></circle>"
            for x, y, text, a, b in placed
        ]
        shapes.append(
            f'<text x="{left + width - 120:.0f}" y="{top + 16 * index:.0f}" '
            f'fill="{colour}">{escape(label)}</text>'
        )
    for label, value in panel.goals:
        _, y = place(x_low, value)
        shapes.append(
            f'<path d="M{left + MARGIN:.0f} {y:.1f}H{left + width:.0f}" stroke="#b03030" '
            f'stroke-dasharray="6 4"/><text x="{left + MARGIN + 6:.0f}" y="{y - 4:.1f}" '
            f'fill="#b03030">{escape(label)} {value:g}</text>'
        )
    return "".join(shapes)


def _ends(
    panel: _Panel,
    left: float,
    width: float,
    bottom: float,
    x_ends: tuple[float, float],
    y_ends: tuple[float, float],
) -> list[str]:
    """Names of the axes and the values at their ends."""
    return [
        f'<text x="{left + MARGIN:.0f}" y="{bottom + 18:.0f}">{x_ends[0]:.3g}</text>',
        f'<text x="{left + width:.0f}" y="{bottom + 18:.0f}" text-anchor="end">'
        f"{x_ends[1]:.3g} {escape(panel.x_name)}</text>",
        f'<text x="{left + MARGIN - 6:.0f}" y="{bottom:.0f}" text-anchor="end">'
        f"{y_ends[0]:.3g}</text>",
        f'<text x="{left + MARGIN - 6:.0f}" y="72" text-anchor="end">{y_ends[1]:.3g}</text>',
        f'<text x="{left + 14:.0f}" y="{bottom - 120:.0f}" '
        f'transform="rotate(-90 {left + 14:.0f} {bottom - 120:.0f})">{escape(panel.y_name)}</text>',
    ]


def _share(value: float, low: float, high: float) -> float:
    return log(value / low) / log(high / low)
