"""The budget as a policy: what the stack costs, of whatever program, against its limits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

import msgspec
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    ReportViolation,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pydantic import ValidationError

from berth.catalog.load import load_catalog
from berth.config.budget import BudgetConfig
from berth.costs.bought import PriceList
from berth.costs.estimate import Estimate
from berth.costs.guardrails import BUDGET_EXCEEDED, BUDGET_KEY, Breach, Judged, breaches
from berth.costs.read_document import EstimateError, read_estimate
from berth.costs.resources.documents import Side
from berth.costs.resources.estimate_resources import estimate_resources
from berth.costs.resources.resource import Declared
from berth.costs.resources.settings import region_of
from berth.costs.resources.values import UNKNOWN_VALUES, ImpossibleValueError
from berth.policy_pack.request import Request, current_request
from berth.policy_pack.violations import Violations
from berth.rules.finding import join_message
from berth.rules.resource import Resource

STACK_TYPE: Final = "pulumi:pulumi:Stack"
_LIMITS: Final = (
    "monthly_usd",
    "ceiling_monthly_usd",
    "usd_per_1m_output_tokens",
    "idle_percent",
    "price_age_days",
)
"""Those that one state of a stack decides; a change is judged where both states are known."""
_NOT_KNOWN: Final = min(UNKNOWN_VALUES)


class BudgetPolicy(StackValidationPolicy):
    """Refuses a stack above the limits of its own `berth:budget` or of the pack's configuration."""

    def __init__(self) -> None:
        super().__init__(
            name=BUDGET_EXCEEDED,
            display_name=BUDGET_EXCEEDED,
            description="The stack costs no more than its budget",
            enforcement_level=EnforcementLevel.MANDATORY,
            severity=Severity.HIGH,
            config_schema=PolicyConfigSchema(
                {
                    **{name: _limit_schema(name) for name in _LIMITS},
                    "region": {
                        "type": "string",
                        "description": "Of the prices, where no provider of the stack says.",
                    },
                }
            ),
            validate=lambda args, report: None,
        )

    def validate(self, args: StackValidationArgs, report_violation: ReportViolation) -> None:
        """Judge the stack of the current request."""
        assert isinstance(report_violation, Violations), "served by another analyzer than Berth's"
        config = args.get_config()
        for each in _breaches(current_request(), config):
            message = join_message(f"{each.key}: {each.what}", each.fix)
            report_violation.add(message, "", each.level)


def _limit_schema(name: str) -> dict[str, Any]:
    text = BudgetConfig.model_fields[name].description or name
    return {"type": "number", "description": text}


def _breaches(request: Request, config: Mapping[str, Any]) -> Iterator[Breach]:
    stated = {name: config[name] for name in _LIMITS if config.get(name) is not None}
    budgets = [(BUDGET_KEY, _own_budget(request)), (BUDGET_EXCEEDED, stated or None)]
    limited = [(where, budget) for where, budget in budgets if budget is not None]
    if not limited:
        return
    try:
        judged = _judged(request, config)
    except ImpossibleValueError as error:
        fix = "mend it in the program"
        yield Breach(key=BUDGET_EXCEEDED, level="mandatory", what=str(error), fix=fix)
        return
    for where, budget in limited:
        try:
            limits = BudgetConfig.model_validate(budget)
        except ValidationError as error:
            for wrong in error.errors(include_url=False):
                key = ".".join(map(str, (where, *wrong["loc"])))
                what, fix = f"{wrong['input']} is no limit", "give a number above 0"
                yield Breach(key=key, level="mandatory", what=what, fix=fix)
        else:
            yield from breaches(limits, where, judged)


def _own_budget(request: Request) -> Mapping[str, Any] | None:
    """What the stack's own settings say; the program refuses those that cannot be read."""
    try:
        budget = json.loads(request.budget_setting or "null")
    except ValueError:
        return None
    return budget if isinstance(budget, dict) else None


def _judged(request: Request, config: Mapping[str, Any]) -> Judged:
    today = date.today()
    recorded = _recorded(request.resources)
    if recorded is not None:
        tiers = {each.tier for each in recorded.servers}
        return Judged(estimate=recorded, day=today, tiers=tiers)
    side = Side(resources={each.urn: _declared(each) for each in request.resources if _costs(each)})
    region = config.get("region") or region_of(side)
    prices = PriceList(book=load_catalog().prices, region=region, day=today)
    return Judged(estimate=estimate_resources(side, load_catalog(), prices), day=today)


def _recorded(resources: Sequence[Resource]) -> Estimate | None:
    """The estimate that a program of Berth exports; None: another program."""
    for resource in resources:
        if resource.type == STACK_TYPE and "cost" in resource.props:
            try:
                return read_estimate(resource.props["cost"])
            except EstimateError:
                return None
    return None


def _costs(resource: Resource) -> bool:
    return resource.type.startswith(_MAY_COST)


_MAY_COST = (
    *("aws:", "aws-native:", "eks:", "pulumi:providers:"),
    *("kubernetes:core/v1:Service", "kubernetes:karpenter.sh/", "kubernetes:networking.k8s.io/"),
)


def _declared(resource: Resource) -> Declared:
    """The resource as the readers of engine documents take it."""
    props = msgspec.Raw(json.dumps(resource.props, default=lambda _: _NOT_KNOWN).encode())
    links = msgspec.Raw(
        json.dumps({k: list(v) for k, v in resource.property_dependencies.items()}).encode()
    )
    return Declared(
        urn=resource.urn,
        type=resource.type,
        id="",
        raw_inputs=props,
        raw_outputs=props,
        raw_links=links,
        parent="",
        op="create",
    )
