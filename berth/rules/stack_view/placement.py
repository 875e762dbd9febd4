"""Which pools of a stack a pod may be put on, by node selector and required affinity."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from berth.rules.stack_view.accelerators import Vendor
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.instances import is_cpu_only
from berth.rules.stack_view.pool import INSTANCE_TYPE_KEYS, Open, Pool
from berth.rules.unknown import KnownAfterApplyError

_FAMILY_KEYS = ("karpenter.k8s.aws/instance-family", "eks.amazonaws.com/instance-family")


@dataclass(frozen=True, slots=True)
class Demand:
    """One condition that a node's label must meet."""

    key: Field
    operator: str
    values: tuple[Field, ...]

    def __str__(self) -> str:
        """As kubectl writes it."""
        shown = (value.value for value in self.values)
        values = ",".join(v if isinstance(v, str) else "..." for v in shown)
        plain = {"In": f"={values}", "NotIn": f"!={values}"}
        return f"{self.key.value}{plain.get(self.operator, f' {self.operator} {values}')}"


@dataclass(frozen=True, slots=True)
class Candidates:
    """GPU pools that a pod may be put on."""

    certain: tuple[Pool, ...]
    possible: tuple[Pool, ...]
    """Besides: pools of which the stack does not say yet whether the pod may go there."""

    @property
    def all(self) -> tuple[Pool, ...]:
        """Certain ones first."""
        return self.certain + self.possible


def candidate_pools(
    placement: Field, pools: Sequence[Pool], vendors: frozenset[Vendor]
) -> Candidates:
    """The GPU pools whose labels satisfy a pod's selector and required affinity.

    Args:
        placement: where `nodeSelector` and `affinity` are: a pod's spec, or a chart's values.
        pools: all pools of the stack.
        vendors: makers of the accelerators that the pod can use; empty for any.

    Raises:
        KnownAfterApplyError: if the selector or affinity as a whole is known after apply.
    """
    terms = read_terms(placement)
    certain: list[Pool] = []
    possible: list[Pool] = []
    for pool in pools:
        has_gpus = _has_gpus_of(pool, vendors)
        if has_gpus is False:
            continue
        fits = _any_of(_all_of(_meets(pool, demand) for demand in term) for term in terms)
        if fits is True and has_gpus is True:
            certain.append(pool)
        elif fits is not False:
            possible.append(pool)
    return Candidates(tuple(certain), tuple(possible))


def read_terms(placement: Field) -> list[list[Demand]]:
    """The alternatives of a node selector and required affinity, each a list of conditions."""
    selector = placement.at("nodeSelector")
    always = [Demand(Field(key), "In", (value,)) for key, value in selector.entries().items()]
    required = placement.at(
        "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    terms = [
        always + [_demand(expression) for expression in term.at("matchExpressions").items()]
        for term in required.at("nodeSelectorTerms").items()
    ]
    return terms or [always]


def named_instance_types(placement: Field) -> tuple[str, ...]:
    """The instance types that a pod is bound to; empty if one of its alternatives names none.

    Raises:
        KnownAfterApplyError: if one is known after apply.
    """
    found: list[str] = []
    for term in read_terms(placement):
        named = [
            str(value.known())
            for demand in term
            if demand.key.value in INSTANCE_TYPE_KEYS and demand.operator == "In"
            for value in demand.values
        ]
        if not named:
            return ()
        found += named
    return tuple(dict.fromkeys(found))


def names_cpu_nodes(placement: Field) -> bool:
    """Whether every alternative names instance types or families that have no accelerator."""
    return all(any(map(_is_for_cpu_nodes, term)) for term in read_terms(placement))


def _demand(expression: Field) -> Demand:
    return Demand(
        expression.at("key"),
        expression.at("operator").text() or "",
        tuple(expression.at("values").items()),
    )


def _is_for_cpu_nodes(demand: Demand) -> bool:
    if demand.operator != "In" or not demand.values:
        return False
    if demand.key.value not in (*INSTANCE_TYPE_KEYS, *_FAMILY_KEYS):
        return False
    return all(isinstance(v.value, str) and is_cpu_only(v.value) for v in demand.values)


def _has_gpus_of(pool: Pool, vendors: frozenset[Vendor]) -> bool | None:
    try:
        vendor = pool.vendor
    except KnownAfterApplyError:
        return None
    return vendor is not None and (not vendors or vendor in vendors)


def _meets(pool: Pool, demand: Demand) -> bool | None:
    """Whether the pool's nodes meet a condition; None: nobody can say yet."""
    key = demand.key.value
    if not isinstance(key, str) or any(value.is_unknown for value in demand.values):
        return None
    values = [_as_label(value.value) for value in demand.values]
    choices = _choices(pool, key)
    if demand.operator == "In" and choices:
        return not choices.isdisjoint(values)
    if demand.operator == "NotIn" and choices:
        return not choices.issubset(values)
    return _compare(pool.label(key), demand.operator, values)


def _choices(pool: Pool, key: str) -> frozenset[str]:
    """Values of a label that the pool's nodes may have; empty: nobody can say from a list."""
    if key not in INSTANCE_TYPE_KEYS:
        return frozenset(pool.label_choices(key))
    try:
        return frozenset(pool.instance_types)
    except KnownAfterApplyError:
        return frozenset()


def _compare(label: str | Open | None, operator: str, values: Sequence[str]) -> bool | None:
    """A label that nodes get when they run counts as the wanted one."""
    if label is Open.NOT_SHOWN:
        return None
    if label is Open.AT_RUN_TIME:
        return True if operator in ("In", "Exists") else None
    if operator in ("In", "NotIn"):
        return (label in values) == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return (label is not None) == (operator == "Exists")
    return None


def _as_label(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _all_of(answers: Iterable[bool | None]) -> bool | None:
    seen = list(answers)
    return False if False in seen else None if None in seen else True


def _any_of(answers: Iterable[bool | None]) -> bool | None:
    seen = list(answers)
    return True if True in seen else None if None in seen else False
