"""The plan of a stack file, as `berth plan` and `berth preview` both need it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from berth.catalog.load import load_catalog
from berth.config.prices import OwnPrices, find_prices, with_prices
from berth.config.read import parse_stack, read_stack_file, with_lines
from berth.config.stack import HF_TOKEN_KEY
from berth.planner.account import Account
from berth.planner.calibration import read_calibrations
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from berth.planner.plan import Plan
from berth.planner.start import StartFinding, check_start


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStack:
    """A plan, and what keeps its nodes from starting, as far as no account is asked."""

    plan: Plan
    start: Sequence[StartFinding]


def planned_stack(
    path: Path, prices: OwnPrices | None = None, zones: Sequence[str] = ()
) -> PlannedStack:
    """Plan the stack in the file at `path`, with what is assumed of an account.

    Args:
        path: of the stack file.
        prices: what its owner pays; that of the project when left out.
        zones: those that the account is known to give the stack; left out: those of the region.

    Raises:
        ConfigError: if it cannot be read.
        PlanError: if it cannot be planned as written; each line says where in the file.
    """
    config = read_stack_file(path, date.today())
    config = with_prices(config, prices or find_prices(_project_of(path)))
    catalog = load_catalog()
    account = Account.assumed(config.region, catalog)
    if zones:
        account = replace(account, availability_zones=tuple(zones))
    try:
        calibrations = read_calibrations(config, _project_of(path))
        plan = make_plan(config, catalog, account, calibrations)
    except PlanError as error:
        raise PlanError(with_lines(path, error.lines)) from None
    return PlannedStack(plan=plan, start=check_start(config, plan, catalog, account))


def plan_of_settings(
    settings: Mapping[str, object], where: str, prices: OwnPrices | None = None
) -> Plan | None:
    """The plan of a stack's settings by full key, texts of JSON already decoded.

    None where the settings are not of a stack of Berth.

    Args:
        settings: by full key.
        where: what messages call them.
        prices: of the repository.

    Raises:
        ConfigError: if they cannot be read.
        PlanError: if they cannot be planned.
    """
    if "berth:tiers" not in settings:
        return None
    plain = {key: value for key, value in settings.items() if key != HF_TOKEN_KEY}
    config = with_prices(parse_stack(plain, where, date.today()), prices or OwnPrices())
    catalog = load_catalog()
    return make_plan(config, catalog, Account.assumed(config.region, catalog), {})


def _project_of(stack_file: Path) -> Path:
    """The folder of the project that the stack is part of, else that of the stack."""
    folders = stack_file.resolve().parents
    return next((each for each in folders if (each / "Pulumi.yaml").exists()), folders[0])
