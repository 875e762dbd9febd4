"""The memory of one GPU as a drawn bar, as SVG or PNG."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from berth.cli.plan_page import memory_parts
from berth.planner.search import Candidate

WIDTH, HEIGHT, MARGIN = 960, 190, 24
BAR_TOP, BAR_HEIGHT = 64, 56
LEGEND_TOP, SWATCH = 146, 12
PNG_SCALE = 2
"""Pixels per unit, for screens that have two."""
COLOURS = {
    "weights": "#34507a",
    "activations": "#c2703d",
    "CUDA graphs": "#8a6fa8",
    "other": "#8c8c8c",
    "KV cache": "#4f8f5b",
    "left free": "#e3e3e3",
}


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle."""

    left: float
    top: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True, slots=True)
class Words:
    """One line of text; `top` is its baseline."""

    left: float
    top: float
    size: int
    text: str


Shape = Box | Words


def write_plot(path: Path, name: str, candidate: Candidate) -> int:
    """Draw the bar of `candidate`; 2 where the file cannot be written."""
    writers = {".svg": _write_svg, ".png": _write_png}
    if path.suffix not in writers:
        return _refuse(f"{path}: is neither .svg nor .png; name one that ends so")
    try:
        writers[path.suffix](path, [*memory_shapes(name, candidate)])
    except ModuleNotFoundError:
        return _refuse(f"{path}: png needs the Python package pillow; install berth-gpu[plot]")
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        return _refuse(f"{path}: {reason}; name a file that can be written")
    return 0


def memory_shapes(name: str, candidate: Candidate) -> Iterator[Shape]:
    """One GPU's memory from left to right, with a title and a legend."""
    memory = candidate.verdict.memory
    parts = memory_parts(memory)
    inner = WIDTH - 2 * MARGIN
    state = "fits" if candidate.verdict.fits else "does not fit"
    yield Box(0, 0, WIDTH, HEIGHT, "#ffffff")
    yield Words(MARGIN, 30, 17, f"{name} on {candidate.gpus} x {candidate.gpu}: {state}")
    yield Words(
        MARGIN,
        52,
        13,
        f"GiB of the {memory.visible_gib:.2f} that one GPU shows; "
        f"{memory.requested_gib:.2f} requested",
    )
    total = max(memory.visible_gib, sum(gib for _, gib, _ in parts))
    left = float(MARGIN)
    for index, (part, gib, _) in enumerate(parts):
        width = gib / total * inner
        yield Box(left, BAR_TOP, width, BAR_HEIGHT, COLOURS[part])
        left += width
        x = MARGIN + index * inner / len(COLOURS)
        yield Box(x, LEGEND_TOP, SWATCH, SWATCH, COLOURS[part])
        yield Words(x + 18, LEGEND_TOP + SWATCH - 1, 13, f"{part} {gib:.1f}")


def _write_svg(path: Path, shapes: Sequence[Shape]) -> None:
    drawn = "".join(_svg(shape) for shape in shapes)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">{drawn}</svg>\n',
        encoding="utf-8",
    )


def _svg(shape: Shape) -> str:
    if isinstance(shape, Words):
        return (
            f'<text x="{shape.left:.1f}" y="{shape.top:.1f}" font-size="{shape.size}">'
            f"{escape(shape.text)}</text>"
        )
    return (
        f'<rect x="{shape.left:.1f}" y="{shape.top:.1f}" width="{shape.width:.1f}" '
        f'height="{shape.height:.1f}" fill="{shape.colour}"/>'
    )


def _write_png(path: Path, shapes: Sequence[Shape]) -> None:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH * PNG_SCALE, HEIGHT * PNG_SCALE))
    draw = ImageDraw.Draw(image)
    for shape in shapes:
        left, top = shape.left * PNG_SCALE, shape.top * PNG_SCALE
        if isinstance(shape, Words):
            font = ImageFont.load_default(shape.size * PNG_SCALE)
            draw.text((left, top), shape.text, fill="#000000", font=font, anchor="ls")
        elif shape.width * PNG_SCALE >= 1:
            right = left + shape.width * PNG_SCALE
            bottom = top + shape.height * PNG_SCALE
            draw.rectangle((left, top, right - 1, bottom - 1), fill=shape.colour)
    image.save(path)


def _refuse(line: str) -> int:
    print(line, file=sys.stderr)
    return 2
