"""A region's file of prices as text: readings are appended, and nothing else changes in it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

from berth.catalog.price import PriceHistory, read_histories
from berth.cli.price_list import Listed

READ_AGAIN_AFTER_DAYS: Final = 30
"""A price that stays is read anew only when its last reading is older."""
_SOURCES: Final = "sources:\n"
_HISTORIES: Final = "histories:\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What a reading of the list makes of a file."""

    text: str
    changed: tuple[str, ...]
    """One line for each price that is new or another."""
    confirmed: int
    """Prices that stay, with a newer reading."""
    recent: int
    """Prices that stay, whose last reading is new enough."""


def append_readings(
    region: str, text: str, listed: Iterable[Listed], where: str, today: date
) -> Appended:
    """The file's text with the prices of `listed` appended to their histories.

    Args:
        region: of the file.
        text: as it is.
        listed: prices of today.
        where: the address of the list.
        today: the day of the reading.
    """
    histories = read_histories(region, text)
    source = f"aws_price_list_{today:%Y_%m_%d}"
    lines = text.splitlines(keepends=True)
    changed: list[str] = []
    confirmed = recent = 0
    for each in listed:
        history = histories.get((each.item, "on_demand"))
        entry = f'{{from_date: {today}, usd: "{each.usd:f}", evidence: high, source: {source}}}'
        if history is None:
            changed.append(f"{each.item}: {each.usd:f} USD per {each.unit}, new")
            lines.append(
                f"  - {{item: {each.item}, option: on_demand, unit: {each.unit}, "
                f"prices: [{entry}]}}\n"
            )
            continue
        last = history.prices[-1]
        age_days = (today - last.from_date).days
        is_same = last.usd == each.usd and history.ended_on is None
        if age_days <= 0 or (is_same and age_days <= READ_AGAIN_AFTER_DAYS):
            recent += 1
            continue
        if is_same:
            confirmed += 1
        else:
            before = f"{last.usd:f} of {last.from_date}"
            changed.append(f"{each.item}: {before} -> {each.usd:f} USD per {each.unit}")
        _append(lines, history, entry)
    if not changed and not confirmed:
        return Appended(text=text, changed=(), confirmed=0, recent=recent)
    found = _with_source("".join(lines), source, where, today)
    read_histories(region, found)  # what is written can be read
    return Appended(text=found, changed=tuple(changed), confirmed=confirmed, recent=recent)


def _append(lines: list[str], history: PriceHistory, entry: str) -> None:
    """Put `entry` behind the last price of a history, in the form that it is written in."""
    in_one_line = f"  - {{item: {history.item}, option: {history.option}, "
    for index, line in enumerate(lines):
        if line.startswith(in_one_line):
            lines[index] = re.sub(r"\]\}\s*$", f", {entry}]}}\n", line)
            return
        if line == f"  - item: {history.item}\n" and lines[index + 1] == (
            f"    option: {history.option}\n"
        ):
            end = index + 1
            while end < len(lines) and not lines[end].startswith("  - "):
                end += 1
            lines.insert(end, f"      - {entry}\n")
            return
    raise ValueError(f"{history.item}: not written as the files of prices are")


def _with_source(text: str, key: str, where: str, today: date) -> str:
    """The source of the readings, in its place by the alphabet."""
    head, rest = text.split(_SOURCES, 1)
    sources, histories = rest.split(_HISTORIES, 1)
    blocks = re.findall(r"  \w+:\n(?:    .*\n)+", sources)
    if not any(block.startswith(f"  {key}:\n") for block in blocks):
        blocks.append(f"  {key}:\n    cite: AWS Price List, {where}\n    checked: {today}\n")
    return head + _SOURCES + "".join(sorted(blocks)) + _HISTORIES + histories
