"""What a stack may cost, and how much a change may add: in a stack file, and for a repository."""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path as FilePath
from typing import Annotated, Final

from pydantic import Field, ValidationError

from berth.config.model import Config
from berth.config.problems import ConfigError, Path, Problem
from berth.config.raw_values import mapping
from berth.config.rewrite import Rewriter
from berth.config.values import Name, Usd
from berth.config.wanted import Wanted
from berth.config.yaml_file import read_yaml_file

GUARDRAILS_FILE: Final = "berth-guardrails.yaml"

Percent = Annotated[float, Field(gt=0, le=100_000), Wanted("a number of per cent", 20)]
IdlePercent = Annotated[float, Field(ge=0, lt=100), Wanted("per cent of the GPUs, below 100", 25)]
Days = Annotated[int, Field(strict=True, ge=1, le=10_000), Wanted("a number of days", 90)]


class Limits(Config):
    """Most that is accepted of each figure; what is left out is not limited."""

    monthly_usd: Usd | None = None
    """Recurring cost of the plan in a month of 730 hours."""
    ceiling_monthly_usd: Usd | None = None
    """Recurring cost of a month with every tier at `max_nodes`."""
    change_monthly_usd: Usd | None = None
    """Difference that a change makes to the plan's month, up or down."""
    change_percent: Percent | None = None
    """The same as per cent of the month before; a new stack has none."""
    usd_per_1m_output_tokens: Usd | None = None
    """Of every model server with a load, at that load."""
    idle_percent: IdlePercent | None = None
    """GPUs of planned nodes and reservations that no pod asks for, of all of them."""
    price_age_days: Days | None = None
    """Age of the oldest price that is used, at the day of the estimate."""


class BudgetConfig(Limits):
    """What the stack may cost; above a limit it is refused."""

    warn: Annotated[Limits, Wanted("limits", "{monthly_usd: 80000}")] | None = None
    """Lower limits, above which it is said and nothing is refused."""


class Guardrails(Config):
    """Limits for the stacks of a repository, besides the budget in each stack's own file."""

    every_stack: Annotated[BudgetConfig, Wanted("limits", "{change_percent: 20}")] | None = None
    """Of each stack alone."""
    stacks: dict[Name, Annotated[BudgetConfig, Wanted("limits", "{monthly_usd: 90000}")]] = Field(
        default_factory=dict
    )
    """Of stacks by name."""

    def of(self, stack: str) -> list[tuple[str, BudgetConfig]]:
        """What holds for `stack`, each with its key in the file."""
        found = [("every_stack", self.every_stack), (f"stacks.{stack}", self.stacks.get(stack))]
        return [(key, budget) for key, budget in found if budget is not None]


def read_guardrails(path: FilePath) -> Guardrails:
    """The limits in the file at `path`.

    Raises:
        ConfigError: with every problem of the file.
    """
    document = read_yaml_file(path, path.name)
    values = mapping(document.values)
    if not values:
        raise ConfigError(
            [f"{path.name}: has no limits; write every_stack: {{change_percent: 20}}"]
        )
    problems: list[Problem] = []
    found: Guardrails | None = None
    try:
        found = Guardrails.model_validate(values)
    except ValidationError as error:
        problems = Rewriter(Guardrails, document, lambda place: place).problems(error)
    problems += budget_problems(values.get("every_stack"), ("every_stack",))
    for name, budget in mapping(values.get("stacks")).items():
        problems += budget_problems(budget, ("stacks", name))
    problems += document.problems
    if problems or found is None:
        raise document.refuse(problems)
    return found


def budget_problems(budget: object, path: Path) -> Iterator[Problem]:
    """Limits that are none, and warnings that come after the refusal."""
    if isinstance(budget, Mapping) and not {key for key in budget if budget[key] is not None}:
        yield Problem(path, "has no limit", "add one, such as monthly_usd: 90000, or remove it")
    warned = mapping(mapping(budget).get("warn"))
    for key, value in warned.items():
        warns, refuses = _number(value), _number(mapping(budget).get(key))
        if warns is not None and refuses is not None and warns >= refuses:
            what = f"{value} warns no sooner than {refuses}, which refuses"
            yield Problem((*path, "warn", key), what, f"lower it below {refuses}")


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None
