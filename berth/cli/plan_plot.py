"""The memory of one GPU as a drawn bar."""

import sys
from html import escape
from pathlib import Path

from berth.cli.plan_page import memory_parts
from berth.planner.search import Candidate

WIDTH, HEIGHT, MARGIN = 960, 190, 24
BAR_TOP, BAR_HEIGHT = 64, 56
COLOURS = {
    "weights": "#34507a",
    "activations": "#c2703d",
    "CUDA graphs": "#8a6fa8",
    "other": "#8c8c8c",
    "KV cache": "#4f8f5b",
    "left free": "#e3e3e3",
}


def write_plot(path: Path, name: str, candidate: Candidate) -> int:
    """Draw the bar of `candidate`; 2 where the file cannot be written."""
    if path.suffix != ".svg":
        print(f"{path}: is no .svg file; name one that ends so", file=sys.stderr)
        return 2
    try:
        path.write_text(memory_svg(name, candidate), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        print(f"{path}: {reason}; name a file that can be written", file=sys.stderr)
        return 2
    return 0


def memory_svg(name: str, candidate: Candidate) -> str:
    """One GPU's memory from left to right, with a legend."""
    memory = candidate.verdict.memory
    inner = WIDTH - 2 * MARGIN
    state = "fits" if candidate.verdict.fits else "does not fit"
    title = f"{name} on {candidate.gpus} x {candidate.gpu}: {state}"
    total = max(memory.visible_gib, sum(gib for _, gib, _ in memory_parts(memory)))
    shapes, left = [], float(MARGIN)
    for index, (part, gib, _) in enumerate(memory_parts(memory)):
        width = gib / total * inner
        shapes.append(
            f'<rect x="{left:.1f}" y="{BAR_TOP}" width="{width:.1f}" height="{BAR_HEIGHT}" '
            f'fill="{COLOURS[part]}"><title>{part} {gib:.2f} GiB</title></rect>'
        )
        x = MARGIN + index * inner / len(COLOURS)
        shapes.append(
            f'<rect x="{x:.0f}" y="146" width="12" height="12" fill="{COLOURS[part]}"/>'
            f'<text x="{x + 18:.0f}" y="157" font-size="13">{part} {gib:.1f}</text>'
        )
        left += width
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        f'<text x="{MARGIN}" y="30" font-size="17">{escape(title)}</text>'
        f'<text x="{MARGIN}" y="52" font-size="13">GiB of the {memory.visible_gib:.2f} that one '
        f"GPU shows; {memory.requested_gib:.2f} requested</text>{''.join(shapes)}</svg>\n"
    )
