"""Rules about how servers start and end."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from berth.rules.model_facts import known_model
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.command_line import read_commands
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container

GIB: Final = 2**30
_LEAST_START_S: Final = 300
_MANDATORY_BELOW_S: Final = 120
_DEFAULT_GRACE_S: Final = 30


def _find_short_probe(container: Container, context: Context) -> Iterator[Breach]:
    if container.engine is None or not (container.asked_keys or container.claims):
        return
    exempt = context.options.get("localWeights")
    if isinstance(exempt, list) and container.resource.name in exempt:
        return
    probe = next(
        (p for name in ("startupProbe", "livenessProbe") if (p := container.body.at(name)).known()),
        None,
    )
    if probe is None:
        return
    delay, period, threshold = (
        _number(probe.at(key), default)
        for key, default in (
            ("initialDelaySeconds", 0),
            ("periodSeconds", 10),
            ("failureThreshold", 3),
        )
    )
    budget_s = delay + period * threshold
    needed_s = _needed_start_s(container)
    if budget_s >= needed_s:
        return
    yield Breach(
        where=container.resource.name,
        what=f"{probe.path} gives {container.name} {budget_s} s to start and loading may take "
        f"{needed_s:.0f} s",
        change="give it a startup probe that waits",
        fix=f"set {container.body.at('startupProbe').path} periodSeconds to 10 and "
        f"failureThreshold to {wanted_failures(container)}",
        level="mandatory" if budget_s < _MANDATORY_BELOW_S else None,
    )


def _needed_start_s(container: Container) -> float:
    model = known_model(container)
    weights_gib = model.weights_bytes / GIB if model else 0.0
    return max(_LEAST_START_S, 120 + 3 * weights_gib)


def wanted_failures(container: Container) -> int:
    """Failures of a startup probe every 10 s that leave twice the time that loading may take."""
    return -(-int(_needed_start_s(container) * 2) // 10)


def _number(field: Field, default: int) -> int:
    value = field.integer()
    return default if value is None else value


STARTUP_PROBE_TOO_SHORT = Rule(
    id="startup-probe-too-short",
    title="Probes wait until the model is loaded.",
    severity="high",
    level="advisory",
    mandatory_in_prod=True,
    scope="resource",
    reads="startup and liveness probes, GPUs, engine arguments and model of each container",
    why="the server is restarted while it loads, for ever",
    source="https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
    subjects=StackView.containers,
    judge=_find_short_probe,
    options={
        "localWeights": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Resources whose weights are on the node or in memory already.",
        }
    },
)


def _find_short_grace(container: Container, context: Context) -> Iterator[Breach]:
    if container.engine is None or not (container.asked_keys or container.claims):
        return
    arguments = container.engine_arguments
    drain_s = (arguments.number("--shutdown-timeout") if arguments else None) or 0
    sleep_s = _sleep_before_stop_s(container)
    grace = container.pod.spec.at("terminationGracePeriodSeconds")
    grace_s = _number(grace, _DEFAULT_GRACE_S)
    needed_s = sleep_s + drain_s
    if drain_s > 0 and grace_s < needed_s:
        what = f"{sleep_s:g} s of preStop and {drain_s:g} s of --shutdown-timeout"
    elif sleep_s and sleep_s >= grace_s:
        what = f"{sleep_s:g} s of preStop alone"
    else:
        return
    yield Breach(
        where=container.resource.name,
        what=f"{container.name} is given {grace_s} s to end and takes {what}",
        change="give it more time than both",
        fix=f"set {grace.path} to {int(needed_s) + 15}",
    )


def _sleep_before_stop_s(container: Container) -> float:
    """Seconds that the container sleeps before it is told to stop."""
    hook = container.body.at("lifecycle", "preStop")
    stated = hook.at("sleep", "seconds").integer()
    if stated is not None:
        return max(0, stated)
    commands = read_commands(hook.at("exec", "command"), Field(None), container.body.at("env"))
    for words in commands:
        for program, duration in pairwise(words):
            amount = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]+)?)([smh]?)", duration)
            if program.rpartition("/")[2] == "sleep" and amount:
                return float(amount[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[amount[2]]
    return 0


DRAIN_TOO_SHORT = Rule(
    id="drain-too-short",
    title="A server is given the time that it needs to finish its answers.",
    severity="medium",
    level="advisory",
    scope="resource",
    reads="preStop hook, engine arguments and grace period",
    why="answers in flight are cut in every update",
    source="https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",
    subjects=StackView.containers,
    judge=_find_short_grace,
)

RULES = (STARTUP_PROBE_TOO_SHORT, DRAIN_TOO_SHORT)
