"""Nodes that Karpenter may start: a range from none to the limits of a pool, never one number."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any, Final

from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.costs import kinds
from berth.costs.bought import PriceList, UnknownPriceError, price_source
from berth.costs.estimate import CapacityType, CostLine, Unpriced
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import MOST, ImpossibleValueError, at, items, known

PREFIX: Final = "kubernetes:karpenter.sh/"
NODE_POOL: Final = ":NodePool"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
_GPU_KEYS: Final = ("nvidia.com/gpu", "amd.com/gpu")


def is_node_pool(kind: str) -> bool:
    """Whether a type is a pool of Karpenter, of any version of its API."""
    return kind.startswith(PREFIX) and kind.endswith(NODE_POOL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Most:
    """As many nodes of one type as the limits allow."""

    instance_type: str
    nodes: int
    usd: Decimal
    line: CostLine

    @property
    def usd_per_hour(self) -> Decimal:
        return self.nodes * self.usd


def karpenter_nodes(
    resource: Declared, catalog: Catalog, prices: PriceList
) -> Iterator[CostLine | Unpriced]:
    """The range of a pool: nothing at the floor, its limits in the dearest type at the ceiling.

    How many of them the plan has depends on pods, so that is always named as unknown.

    Raises:
        NotShownError: if its limits or requirements are not in the document.
        ImpossibleValueError: if a limit cannot be.
    """
    spec = at(resource.inputs, "spec")
    wanted = _requirements(at(spec, "template", "spec"))
    limits = _limits(at(spec, "limits"))
    types = {
        name: entry
        for name, entry in catalog.instances.items()
        if entry.gpu_count and _allows(wanted, name, entry)
    }
    found: list[_Most] = []
    for name, entry in types.items():
        nodes = _nodes(entry, limits)
        if nodes:
            found.extend(_priced(resource, name, nodes, wanted, prices))
    if limits and found:
        most = max(found, key=lambda each: (each.usd_per_hour, -each.nodes))
        yield most.line
        reach = f"from none to {most.nodes} x {most.instance_type}, as the pods of the day ask"
    elif not limits:
        reach = "as many as the pods of the day ask, since it has no limits"
    else:
        reach = "of instance types without a price here"
    reason = f"Karpenter starts its nodes when pods wait: {reach}; plan and disks count none"
    yield Unpriced(resource=resource.name, reason=reason)


Requirements = Mapping[str, Sequence[tuple[str, frozenset[str]]]]
"""Operators with their values, by label."""


def _requirements(spec: Any) -> Requirements:
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for each in items(spec, "requirements"):
        values = frozenset(str(known(value)) for value in items(each, "values"))
        key, operator = at(each, "key"), at(each, "operator")
        found.setdefault(str(key), []).append((str(operator), values))
    return found


def _limits(limits: Any) -> dict[str, Decimal]:
    """Most of each resource in all nodes together, of those that a node type is known by."""
    found = {}
    for key in ("cpu", *_GPU_KEYS):
        value = at(limits, key)
        if value is not None:
            found[key] = _quantity(key, str(value))
    return found


def _quantity(key: str, text: str) -> Decimal:
    """A Kubernetes quantity: `64`, `1500m`, `2k`."""
    scale = {"m": Decimal("0.001"), "k": Decimal(1000)}.get(text[-1:], Decimal(1))
    digits = text[:-1] if text[-1:] in ("m", "k") else text
    if not digits.isascii() or not digits.isdigit() or int(digits) * scale > MOST:
        raise ImpossibleValueError(f"limits.{key} is {text}, which is no amount up to {MOST:,}")
    return int(digits) * scale


def _nodes(entry: Instance, limits: Mapping[str, Decimal]) -> int:
    """Nodes of one type within all limits."""
    has = {"cpu": entry.vcpu, **dict.fromkeys(_GPU_KEYS, entry.gpu_count)}
    if not limits:
        return 0
    return min(
        int((most / has[key]).to_integral_value(ROUND_FLOOR)) for key, most in limits.items()
    )


def _allows(wanted: Requirements, name: str, entry: Instance) -> bool:
    """Whether every requirement that the catalog can judge accepts the type."""
    family, _, size = name.partition(".")
    labels = {
        "karpenter.k8s.aws/instance-category": family[:1],
        "karpenter.k8s.aws/instance-cpu": str(entry.vcpu),
        "karpenter.k8s.aws/instance-family": family,
        "karpenter.k8s.aws/instance-gpu-count": str(entry.gpu_count),
        "karpenter.k8s.aws/instance-size": size,
        "kubernetes.io/arch": {"x86_64": "amd64", "arm64": "arm64"}[entry.cpu_arch],
        "node.kubernetes.io/instance-type": name,
    }
    return all(
        _meets(labels[key], operator, values)
        for key, stated in wanted.items()
        if key in labels
        for operator, values in stated
    )


def _meets(label: str, operator: str, values: frozenset[str]) -> bool:
    match operator:
        case "In":
            return label in values
        case "NotIn":
            return label not in values
        case "DoesNotExist":
            return False
        case "Gt" | "Lt" if label.isdigit() and values and next(iter(values)).isdigit():
            bound = int(next(iter(values)))
            return int(label) > bound if operator == "Gt" else int(label) < bound
    return True


def _priced(
    resource: Declared, name: str, nodes: int, wanted: Requirements, prices: PriceList
) -> Iterator[_Most]:
    """The nodes at the dearest way of buying that the pool may use; nothing without a price."""
    ways = [
        way
        for way in ("on-demand", "spot")
        if all(_meets(way, operator, values) for operator, values in wanted.get(CAPACITY_TYPE, ()))
    ]
    if not ways:
        return  # a reservation, which is paid elsewhere
    low = None
    bought_as: CapacityType = "ON_DEMAND" if "on-demand" in ways else "SPOT"
    try:
        if bought_as == "ON_DEMAND":
            price, words = prices.find(name), "on demand"
            usd = price.usd
        else:
            read = prices.spot_range(name)
            price, words, usd, low = read.latest, "spot", read.usd_high, read.usd_low
    except UnknownPriceError:
        return
    line = CostLine(
        name=kinds.GPU_NODES,
        detail=f"{name}, {words}, at most as the pool's limits allow",
        resource=resource.name,
        tier=resource.name,
        unit="node-hour",
        usd_per_unit=usd,
        low_usd_per_unit=low,
        floor_quantity=Decimal(0),
        plan_quantity=Decimal(0),
        ceiling_quantity=Decimal(nodes),
        price=price_source(price),
        item=name,
        region=prices.region,
        capacity_type=bought_as,
    )
    yield _Most(instance_type=name, nodes=nodes, usd=usd, line=line)
