"""The plan of a stack file, as `berth plan` and `berth preview` both need it."""

from datetime import date
from pathlib import Path

from berth.catalog.load import load_catalog
from berth.config.read import read_stack_file, with_lines
from berth.planner.account import Account
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from berth.planner.plan import Plan


def plan_of(path: Path) -> Plan:
    """Plan the stack in the file at `path`, with what is assumed of an account.

    Raises:
        ConfigError: if it cannot be read.
        PlanError: if it cannot be planned as written; each line says where in the file.
    """
    config = read_stack_file(path, date.today())
    catalog = load_catalog()
    try:
        return make_plan(config, catalog, Account.assumed(config.region, catalog))
    except PlanError as error:
        raise PlanError(with_lines(path, error.lines)) from None
