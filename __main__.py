"""Declare one stack: read, look up, plan, price, build, export. Decisions are made in `berth`."""

import gc

# Importing the SDKs makes a great many objects that all stay; looking among them for garbage
# meanwhile takes a fifth of the time. What is there when declaring begins is never looked at again.
gc.disable()

import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import pulumi
from pulumi.runtime import get_config_env, get_config_secret_keys_env

from berth.catalog.load import load_catalog
from berth.config.prices import find_prices, with_prices
from berth.config.problems import ConfigError
from berth.config.read import parse_stack
from berth.config.stack import StackConfig
from berth.costs.document import estimate_document
from berth.costs.from_plan import estimate
from berth.planner.calibration import read_calibrations
from berth.planner.document import plan_document
from berth.planner.errors import PlanError
from berth.planner.make_plan import make_plan
from berth.planner.plan import Plan
from berth.planner.start import check_start, start_document
from components.account import AccountError, look_up_account
from components.platform import Platform, PlatformArgs
from components.summary import summary

HF_TOKEN = "berth:hf_token"  # noqa: S105  the name of a key
SHOWN_ALREADY = 32
"""Exit code that tells Pulumi's language host that the user has seen what is wrong."""


def main() -> None:
    """Say what the stack will be, then declare it."""
    stack = pulumi.get_stack()
    hf_token = pulumi.Config("berth").get_secret("hf_token")
    try:
        config = with_prices(read_config(stack), find_prices(Path.cwd()))
        catalog = load_catalog()
        account = look_up_account(config, catalog)
        calibrations = read_calibrations(config, Path.cwd())
        plan = make_plan(config, catalog, account, calibrations)
    except (AccountError, ConfigError, PlanError) as error:
        refuse(error.lines)
    costs = estimate(plan, catalog)
    start = check_start(config, plan, catalog, account)
    for line in summary(plan, costs, hf_token is not None, start):
        pulumi.log.info(line)

    gc.freeze()
    gc.enable()
    platform = Platform("berth", PlatformArgs(plan=plan, stack=stack, hf_token=hf_token))

    export(plan, platform)
    pulumi.export("cost", estimate_document(costs))
    pulumi.export("start", start_document(start))


def read_config(stack: str) -> StackConfig:
    """The stack from Pulumi's configuration, in which nested values are JSON texts."""
    values = {key: decoded(text) for key, text in get_config_env().items() if key != HF_TOKEN}
    secret_keys = set(get_config_secret_keys_env()) - {HF_TOKEN}
    return parse_stack(values, f"stacks/Pulumi.{stack}.yaml", date.today(), secret_keys)


def decoded(text: str) -> Any:
    """The value of a setting; plain texts stay as they are."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def refuse(lines: Sequence[str]) -> NoReturn:
    """End the program with every problem on a line of its own, and no traceback."""
    for line in lines:
        pulumi.log.error(line)
    sys.exit(SHOWN_ALREADY)


def export(plan: Plan, platform: Platform) -> None:
    """Where the models are, and what was planned."""
    pulumi.export("endpoints", dict(platform.endpoints))
    pulumi.export("plan", plan_document(plan))
    if platform.kubeconfig is not None:
        pulumi.export("kubeconfig", platform.kubeconfig)
    if platform.node_configs is not None:
        pulumi.export("node_configs", platform.node_configs)


main()
