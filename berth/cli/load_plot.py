"""Plots of a plan for a load: price against latency, and throughput against clients."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import log
from pathlib import Path

from berth.planner.cheapest import Comparison
from berth.planner.option import Option, split_words
from berth.planner.sizing import Goals
from berth.planner.speed.forecast import ServerSpeed

WIDTH, HEIGHT, MARGIN, GAP = 1080, 460, 64, 48
TOP, BOTTOM = 60.0, HEIGHT - MARGIN
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
COLOURS = ("#34507a", "#c2703d", "#4f8f5b")
GOAL_COLOUR, AXIS_COLOUR = "#b03030", "#444444"
PNG_SCALE = 2
"""Pixels per unit, for screens that have two."""
DOT = 4.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    colour: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A filled circle, with words for those who point at it."""

    x: float
    y: float
    colour: str
    words: str


@dataclass(frozen=True, slots=True)
class Words:
    """One line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    colour: str = "#000000"
    size: int = 12
    at_end: bool = False
    """`x` is where it ends."""


Shape = Line | Dot | Words


@dataclass(frozen=True, slots=True)
class _Panel:
    """One plot: points by series, and lines that are goals."""

    title: str
    x_name: str
    y_name: str
    series: Sequence[tuple[str, Sequence[tuple[float, float, str]]]]
    goals: Sequence[tuple[str, float]] = ()


def write_load_plot(path: Path, name: str, found: Comparison, goals: Goals) -> int:
    """Draw both plots as SVG or PNG; 2 where the file cannot be written."""
    writers = {".svg": _write_svg, ".png": _write_png}
    if path.suffix not in writers:
        return _refuse(f"{path}: is neither .svg nor .png; name one that ends so")
    try:
        writers[path.suffix](path, [*load_shapes(name, found, goals)])
    except ModuleNotFoundError:
        return _refuse(f"{path}: png needs the Python package pillow; install berth-gpu[plot]")
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        return _refuse(f"{path}: {reason}; name a file that can be written")
    return 0


def load_shapes(name: str, found: Comparison, goals: Goals) -> Iterator[Shape]:
    """Price against latency on the left, throughput and latency against clients on the right."""
    width = (WIDTH - GAP) / 2
    yield Words(MARGIN, 24, name, size=17)
    for index, panel in enumerate((_frontier(found), _throughput(found.nearest, goals))):
        if panel is not None:
            yield from _drawn(panel, index * (width + GAP), width)


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


def _drawn(panel: _Panel, left: float, width: float) -> Iterator[Shape]:
    """Axes, points and lines on logarithmic scales."""
    points = [p for _, series in panel.series for p in series if p[0] > 0 and p[1] > 0]
    if not points:
        return
    heights = [y for _, y, _ in points] + [value for _, value in panel.goals]
    x_ends = (min(x for x, _, _ in points) / 1.2, max(x for x, _, _ in points) * 1.2)
    y_ends = (min(heights) / 1.2, max(heights) * 1.2)
    first, last = left + MARGIN, left + width

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            first + _share(x, *x_ends) * (last - first),
            BOTTOM - _share(y, *y_ends) * (BOTTOM - TOP),
        )

    yield Words(first, 46, panel.title, size=14)
    yield Line(((first, TOP), (first, BOTTOM), (last, BOTTOM)), AXIS_COLOUR)
    yield Words(first, BOTTOM + 18, f"{x_ends[0]:.3g}")
    yield Words(last, BOTTOM + 18, f"{x_ends[1]:.3g} {panel.x_name}", at_end=True)
    yield Words(first - 6, BOTTOM, f"{y_ends[0]:.3g}", at_end=True)
    yield Words(first - 6, TOP + 12, f"{y_ends[1]:.3g}", at_end=True)
    yield Words(first + 6, TOP - 2, panel.y_name)
    for index, (label, series) in enumerate(panel.series):
        colour = COLOURS[index]
        shown = [(*place(x, y), text, x, y) for x, y, text in series if x > 0 and y > 0]
        yield Line(tuple((x, y) for x, y, *_ in shown), colour)
        for x, y, text, a, b in shown:
            yield Dot(x, y, colour, f"{text}: {a:,.4g}, {b:,.4g}")
        yield Words(last, TOP + 16 * index + 12, label, colour, at_end=True)
    for label, value in panel.goals:
        _, y = place(x_ends[0], value)
        yield Line(((first, y), (last, y)), GOAL_COLOUR)
        yield Words(first + 6, y - 4, f"{label} {value:g}", GOAL_COLOUR)


def _share(value: float, low: float, high: float) -> float:
    return log(value / low) / log(high / low)


def _write_svg(path: Path, shapes: Sequence[Shape]) -> None:
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        f"{''.join(map(_svg, shapes))}</svg>\n",
        encoding="utf-8",
    )


def _svg(shape: Shape) -> str:
    match shape:
        case Line(points, colour):
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            return f'<polyline points="{line}" fill="none" stroke="{colour}"/>'
        case Dot(x, y, colour, words):
            return (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{DOT:g}" fill="{colour}">'
                f"<title>{escape(words)}</title></circle>"
            )
    anchor = ' text-anchor="end"' if shape.at_end else ""
    return (
        f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size}" '
        f'fill="{shape.colour}"{anchor}>{escape(shape.text)}</text>'
    )


def _write_png(path: Path, shapes: Sequence[Shape]) -> None:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH * PNG_SCALE, HEIGHT * PNG_SCALE), "#ffffff")
    draw = ImageDraw.Draw(image)
    for shape in shapes:
        match shape:
            case Line(points, colour):
                scaled = [(x * PNG_SCALE, y * PNG_SCALE) for x, y in points]
                draw.line(scaled, fill=colour, width=PNG_SCALE)
            case Dot(x, y, colour):
                box = (x - DOT, y - DOT, x + DOT, y + DOT)
                draw.ellipse(tuple(each * PNG_SCALE for each in box), fill=colour)
            case Words():
                font = ImageFont.load_default(shape.size * PNG_SCALE)
                place = (shape.x * PNG_SCALE, shape.y * PNG_SCALE)
                anchor = "rs" if shape.at_end else "ls"
                draw.text(place, shape.text, fill=shape.colour, font=font, anchor=anchor)
    image.save(path)


def _refuse(line: str) -> int:
    print(line, file=sys.stderr)
    return 2
