"""What `berth cost` and `berth cost diff` read: stack files, and what the engine or Berth wrote."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec

from berth.catalog.load import load_catalog
from berth.catalog.price import PriceBook
from berth.cli.pod_uses import pod_uses
from berth.cli.stack_plan import plan_of_settings, planned_stack
from berth.config.nearest import did_you_mean
from berth.config.prices import PRICES_FILE, OwnPrices, find_prices, read_prices
from berth.costs.bought import PriceList
from berth.costs.diff import NO_ESTIMATE
from berth.costs.estimate import Estimate
from berth.costs.from_plan import estimate
from berth.costs.read_document import EstimateError, read_estimate
from berth.costs.resources.documents import (
    DocumentError,
    EngineDocument,
    Side,
    read_engine_document,
)
from berth.costs.resources.estimate_resources import estimate_resources
from berth.costs.resources.settings import region_of, settings_of
from berth.costs.resources.values import ImpossibleValueError
from berth.engine.project import ProjectMissingError, find_project
from berth.planner.own_prices import own_book, unknown_items
from berth.planner.plan import Plan

STACK_TYPE: Final = "pulumi:pulumi:Stack"
COST_OUTPUT: Final = "cost"
"""The output of a stack of Berth that holds the estimate of its last `up`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """An estimate, the stack that it is of, and the day of its prices."""

    estimate: Estimate
    stack: str
    day: date
    plan: Plan | None = None
    """Of a stack of Berth whose settings are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line says of prices."""

    region: str | None
    day: date | None
    prices: OwnPrices = field(default_factory=OwnPrices)
    """What the repository pays in place of list prices."""


class _Written(msgspec.Struct):
    """The keys that tell what wrote a JSON document."""

    lines: msgspec.Raw = msgspec.Raw(b"")
    cost: msgspec.Raw = msgspec.Raw(b"")
    stack: str = ""


def price_stack(
    path: Path, book: PriceBook | None = None, prices: OwnPrices | None = None
) -> Priced:
    """The stack in the file at `path`.

    Args:
        path: of the stack file.
        book: the price list; the catalog's when left out.
        prices: what the owner pays; that of the project when left out.

    Raises:
        ConfigError: if it cannot be read.
        PlanError: if it cannot be planned as written.
    """
    catalog = load_catalog()
    if book is not None:
        catalog = replace(catalog, prices=book)
    plan = planned_stack(path, prices).plan
    name = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    return Priced(estimate=estimate(plan, catalog), stack=name, day=plan.as_of, plan=plan)


def price_engine_document(data: bytes, where: str, asked: Asked) -> Priced:
    """What the stack in an engine's document costs after the change.

    Raises:
        DocumentError: if it cannot be read.
        ConfigError, PlanError: if the settings in it cannot be read or planned.
    """
    document = _whole(data, where)
    plan = plan_of_settings(settings_of(document), where, asked.prices)
    return _after(document, where, asked, plan)


def price_document(data: bytes, where: str, asked: Asked) -> Priced:
    """One side of a difference: what Berth wrote of a stack, or what the engine did.

    The export of a stack of Berth says itself what its last `up` was to cost.
    """
    written = _written(data, where)
    if written is not None:
        return Priced(estimate=written[0], stack=written[1], day=asked.day or date.today())
    document = _whole(data, where)
    plan = plan_of_settings(settings_of(document), where, asked.prices)
    if plan is None and (recorded := _recorded(document.after)) is not None:
        return Priced(estimate=recorded, stack=document.stack, day=asked.day or date.today())
    return _after(document, where, asked, plan)


def price_both_sides(data: bytes, where: str, asked: Asked) -> tuple[Priced, Priced]:
    """Before and after the change that one preview shows."""
    document = _whole(data, where)
    if document.before is document.after:
        raise DocumentError(
            f"{where}: an export shows one state of a stack; give the one before and the one after"
        )
    plan = plan_of_settings(settings_of(document), where, asked.prices)
    after = _after(document, where, asked, plan)
    recorded = _recorded(document.before)
    if recorded is None and not document.before.resources:
        recorded = NO_ESTIMATE
    if recorded is None:
        prices = _prices(document, where, asked, plan)
        recorded = _of_side(document.before, where, prices, None)
    return replace(after, estimate=recorded), after


def own_prices(stated: Path | None) -> OwnPrices:
    """The prices in the file that is named, else in the project's `prices.yaml`; maybe none.

    Raises:
        ConfigError: if the file cannot be read.
    """
    if stated is not None:
        return read_prices(stated)
    try:
        return find_prices(find_project(Path.cwd()))
    except ProjectMissingError:
        return find_prices(Path.cwd())


def content(name: str) -> bytes:
    """The bytes of a file; `-` is standard input."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise DocumentError(f"{name}: {reason}; name another file") from None


def shown_name(name: str) -> str:
    """What messages call the file."""
    return "<stdin>" if name == "-" else name


def unknown_region(region: str) -> str | None:
    """What is wrong with the name of a region; None: nothing."""
    known = load_catalog().prices.regions
    if region in known:
        return None
    return f"{region} has no prices; {did_you_mean(region, known, 'name another region')}"


def _whole(data: bytes, where: str) -> EngineDocument:
    document = read_engine_document(data, where)
    if document.errors:
        first = " ".join(document.errors[0].split())[:200]
        raise DocumentError(
            f"{where}: the preview failed ({first}); mend the stack and preview it again"
        )
    return document


def _after(document: EngineDocument, where: str, asked: Asked, plan: Plan | None) -> Priced:
    prices = _prices(document, where, asked, plan)
    found = _of_side(document.after, where, prices, plan)
    return Priced(estimate=found, stack=document.stack, day=prices.day, plan=plan)


def _of_side(side: Side, where: str, prices: PriceList, plan: Plan | None) -> Estimate:
    try:
        pods = pod_uses(side) if plan is None else None
        return estimate_resources(side, load_catalog(), prices, plan, pods)
    except ImpossibleValueError as error:
        raise DocumentError(f"{where}: {error}; mend it in the stack and preview again") from None


def _prices(document: EngineDocument, where: str, asked: Asked, plan: Plan | None) -> PriceList:
    settings: Mapping[str, Any] = settings_of(document)
    stated = settings.get("aws:region")
    region = asked.region or (stated if isinstance(stated, str) else region_of(document.after))
    if region is None and any(r.type.startswith("aws:") for r in document.after.resources.values()):
        raise DocumentError(f"{where}: names no AWS region; give --region")
    if region is not None and (problem := unknown_region(region)):
        raise DocumentError(f"{where}: {problem}")
    day = asked.day or (plan.as_of if plan is not None else date.today())
    own = plan.prices if plan is not None else asked.prices.of(region)
    if plan is None:
        for item, fix in unknown_items(own, load_catalog()).items():
            raise DocumentError(f"{PRICES_FILE}: {item}: is nothing that has a price; {fix}")
    book = own_book(load_catalog().prices, own, region, day)
    return PriceList(book=book, region=region, day=day)


def _written(data: bytes, where: str) -> tuple[Estimate, str] | None:
    """The estimate in what `berth cost --json` or `berth preview --json` wrote; None: neither."""
    try:
        kind = msgspec.json.decode(data, type=_Written)
    except (msgspec.DecodeError, RecursionError):
        return None  # the reader of engine documents says what is wrong
    whole = data if bytes(kind.lines) else bytes(kind.cost)
    if not whole:
        return None
    try:
        return read_estimate(msgspec.json.decode(whole)), kind.stack
    except EstimateError as error:
        raise DocumentError(
            f"{where}: no estimate as `berth cost --json` writes it ({error}); make it again"
        ) from None


def _recorded(side: Side) -> Estimate | None:
    """The estimate that a stack of Berth exported at its last `up`; None: there is none."""
    for resource in side.resources.values():
        if resource.type == STACK_TYPE and COST_OUTPUT in resource.outputs:
            try:
                return read_estimate(resource.outputs[COST_OUTPUT])
            except EstimateError:
                return None  # another program's output of that name
    return None
