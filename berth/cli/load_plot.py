"""Plots of a plan for a load: price against latency, and throughput against clients."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import ceil, floor, inf, log, log10
from pathlib import Path

from berth.planner.cheapest import Comparison
from berth.planner.option import Option, split_words
from berth.planner.sizing import Goals
from berth.planner.speed.forecast import ServerSpeed
from berth.planner.speed.serving import Answer

WIDTH, HEIGHT, MARGIN, GAP = 1180, 500, 64, 56
TOP, BOTTOM = 96.0, HEIGHT - 48.0
RIGHT = 28
"""For the last label of the horizontal axis."""
TITLE_Y, NAME_Y, LEGEND_Y = 24, 54, 78
LETTER, LINE = 6.4, 14
"""Width of a letter and height of a line at the size of labels."""
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
COLOURS = ("#34507a", "#c2703d", "#4f8f5b")
GOAL_COLOUR, AXIS_COLOUR, GRID_COLOUR = "#b03030", "#444444", "#e4e4e4"
PNG_SCALE = 2
"""Pixels per unit, for screens that have two."""
DOT = 4.0
TICK_STEPS = ((4, (1, 1.5, 2, 3, 4, 5, 6, 8)), (1000, (1, 2, 5)), (inf, (1,)))
"""Multiples of a power of ten that are marked, by the ratio of the ends of a scale."""


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
    pairs: bool = False
    """The first points of all series belong together, and so on; their words are shown once."""


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
    width = (WIDTH - GAP - RIGHT) / 2
    yield Words(MARGIN, TITLE_Y, name, size=17)
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
        pairs=True,
    )


def _throughput(option: Option, goals: Goals) -> _Panel | None:
    speed = option.speed
    if speed is None or option.sizing is None:
        return None
    answers = [(n, _at(speed, n)) for n in CLIENTS]
    tokens = [(float(n), each.output_tokens_per_s, f"{n} clients") for n, each in answers]
    itl = [(float(n), each.itl_ms, f"{n} clients") for n, each in answers]
    ttft = [(float(n), each.ttft_ms, f"{n} clients") for n, each in answers]
    lines = [
        (f"goal: {limit:g} ms {words}", limit)
        for limit, words in ((goals.ttft_ms, "to the first"), (goals.itl_ms, "per token"))
        if limit is not None
    ]
    return _Panel(
        f"one replica: {option.gpus} x {option.gpu}, {split_words(option)}",
        "clients",
        "",
        [("output tokens/s", tokens), ("ms per token", itl), ("ms to the first token", ttft)],
        lines,
    )


def _at(speed: ServerSpeed, clients: int) -> Answer:
    """One replica with `clients` that ask again as soon as they are answered."""
    return speed.answer_to(replace(speed.load, concurrency=float(clients), requests_per_s=None))


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

    yield Words(first, NAME_Y, panel.title, size=14)
    yield from _legend(panel, first)
    for value in ticks(*x_ends):
        x, _ = place(value, y_ends[0])
        yield Line(((x, TOP), (x, BOTTOM)), GRID_COLOUR)
        yield Words(x + len(f"{value:,g}") * LETTER / 2, BOTTOM + 18, f"{value:,g}", at_end=True)
    for value in ticks(*y_ends):
        _, y = place(x_ends[0], value)
        yield Line(((first, y), (last, y)), GRID_COLOUR)
        yield Words(first - 6, y + 4, f"{value:,g}", at_end=True)
    yield Line(((first, TOP), (first, BOTTOM), (last, BOTTOM)), AXIS_COLOUR)
    yield Words(last, BOTTOM + 36, panel.x_name, at_end=True)
    placed = [
        [(*place(x, y), text, x, y) for x, y, text in series if x > 0 and y > 0]
        for _, series in panel.series
    ]
    yield from _paired(placed) if panel.pairs else _joined(placed)
    for label, value in panel.goals:
        _, y = place(x_ends[0], value)
        yield Line(((first, y), (last, y)), GOAL_COLOUR)
        yield Words(first + 6, y - 4, label, GOAL_COLOUR)


Placed = tuple[float, float, str, float, float]


def _joined(series: Sequence[Sequence[Placed]]) -> Iterator[Shape]:
    """Each series as a line with its points."""
    for colour, points in zip(COLOURS, series, strict=False):
        yield Line(tuple((x, y) for x, y, *_ in points), colour)
        for x, y, text, a, b in points:
            yield Dot(x, y, colour, f"{text}: {a:,.4g}, {b:,.4g}")


def _paired(series: Sequence[Sequence[Placed]]) -> Iterator[Shape]:
    """The points of one option on a thin line, with its words where there is room for them."""
    taken: list[float] = []
    for group in sorted(zip(*series, strict=True), key=lambda each: each[0][1]):
        yield Line(tuple((x, y) for x, y, *_ in group), AXIS_COLOUR)
        for colour, (x, y, text, a, b) in zip(COLOURS, group, strict=False):
            yield Dot(x, y, colour, f"{text}: {a:,.4g} ms, {b:,.4g} USD/h")
        x, y, text = min(group)[:3]
        if all(abs(y - other) >= LINE for other in taken):
            yield Words(x + 8, y - 5, text)
        taken.append(y)


def _legend(panel: _Panel, left: float) -> Iterator[Shape]:
    """Names of the series above the plot, each in its colour."""
    for colour, (label, _) in zip(COLOURS, panel.series, strict=False):
        yield Dot(left + DOT, LEGEND_Y - 4, colour, label)
        yield Words(left + 14, LEGEND_Y, label, colour)
        left += 14 + (len(label) + 3) * LETTER
    yield Words(left, LEGEND_Y, panel.y_name)


def ticks(low: float, high: float) -> list[float]:
    """Round values between two ends of a logarithmic scale, fewer the more decades it has."""
    span = high / low
    steps = next(steps for most, steps in TICK_STEPS if span < most)
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    every = [step * 10.0**decade for decade in decades for step in steps]
    return [value for value in every if low <= value <= high]


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
