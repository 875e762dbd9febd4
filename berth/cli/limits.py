"""The limits that hold for an estimate: the stack's own budget and the repository's guardrails."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from berth.cli.cost_inputs import Priced
from berth.config.budget import GUARDRAILS_FILE, Guardrails, read_guardrails
from berth.costs.diff import CostDiff
from berth.costs.guardrails import Breach, Judged, breaches, stack_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the limits say of one stack."""

    stack: str
    breaches: Sequence[Breach]
    override: str | None
    """Why refusals are accepted this time; None: they are not."""

    @property
    def refused(self) -> bool:
        """A limit that refuses is exceeded, and nobody accepts it."""
        return self.override is None and any(each.level == "mandatory" for each in self.breaches)


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Declare where limits come from and how they are set aside."""
    parser.add_argument(
        "--guardrails",
        type=Path,
        metavar="FILE",
        help=f"limits of a repository; {GUARDRAILS_FILE} here or above when left out",
    )
    parser.add_argument(
        "--override", metavar="REASON", help="accept what the limits refuse, and say why"
    )


def repository_limits(stated: Path | None) -> Guardrails:
    """The limits in the file that is named, else in the nearest one of a repository; maybe none.

    Raises:
        ConfigError: if the file cannot be read.
    """
    if stated is not None:
        return read_guardrails(stated)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / GUARDRAILS_FILE).is_file():
            return read_guardrails(folder / GUARDRAILS_FILE)
        if (folder / ".git").exists():
            break
    return Guardrails()


def verdict(
    priced: Priced, diff: CostDiff | None, guardrails: Guardrails, override: str | None
) -> Verdict:
    """Hold an estimate, and the change that leads to it, against every limit."""
    plan = priced.plan
    judged = Judged(
        estimate=priced.estimate,
        day=priced.day,
        diff=diff,
        tiers=plan.pools if plan is not None else (),
    )
    own = plan.budget if plan is not None else None
    found = [
        breach
        for where, budget in stack_limits(priced.stack, own, guardrails)
        for breach in breaches(budget, where, judged)
    ]
    return Verdict(stack=priced.stack, breaches=found, override=override)


def verdict_document(found: Verdict) -> list[dict[str, Any]]:
    """Every breach, and why it is accepted where it is."""
    return [
        {
            "key": each.key,
            "enforcement_level": each.level,
            "message": each.what,
            "fix": each.fix,
            "override": found.override if each.level == "mandatory" else None,
        }
        for each in found.breaches
    ]


def say_breaches(verdicts: Sequence[Verdict]) -> int:
    """Tell every breach on standard error; 1 if a stack is refused."""
    for each in verdicts:
        for breach in each.breaches:
            line = f"{each.stack}: {breach.key}: {breach.what}"
            if breach.level == "advisory":
                line = f"{line} (a warning)"
            elif each.override is not None:
                line = f"{line} (accepted: {each.override})"
            else:
                line = f"{line}; {breach.fix}"
            print(line, file=sys.stderr)
    return int(any(each.refused for each in verdicts))
