"""Load balancers that a cluster makes for its own objects: Services and Ingresses."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from berth.costs import kinds
from berth.costs.bought import Bought
from berth.costs.estimate import Unpriced
from berth.costs.resources.around import ByType
from berth.costs.resources.resource import Declared
from berth.costs.resources.values import NotShownError, at, text

SERVICE: Final = "kubernetes:core/v1:Service"
INGRESS: Final = "kubernetes:networking.k8s.io/v1:Ingress"
_SERVICE_TYPE: Final = "service.beta.kubernetes.io/aws-load-balancer-type"
_NETWORK_TYPES: Final = frozenset({"external", "nlb", "nlb-ip"})
_NETWORK_CLASSES: Final = frozenset({"eks.amazonaws.com/nlb", "service.k8s.aws/nlb"})
_GROUP: Final = "alb.ingress.kubernetes.io/group.name"
"""Ingresses of one group have one load balancer together.
Source: https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/ingress/annotations/"""


def cluster_balancers(by_type: ByType) -> Iterator[Bought | Unpriced]:
    """One line for each load balancer that a controller makes."""
    yield from _services(by_type.get(SERVICE, ()))
    yield from _ingresses(by_type.get(INGRESS, ()))


def _services(services: Iterable[Declared]) -> Iterator[Bought | Unpriced]:
    for service in services:
        try:
            kind = text(service.inputs, "spec", "type")
            load_balancer_class = text(service.inputs, "spec", "loadBalancerClass")
            annotated = _annotation(service, _SERVICE_TYPE)
        except NotShownError:
            continue
        if kind != "LoadBalancer":
            continue
        if load_balancer_class in _NETWORK_CLASSES or annotated in _NETWORK_TYPES:
            yield kinds.load_balancers("network", service.name)
        else:
            reason = "of which kind the load balancer is that the cloud makes for it is not said"
            yield Unpriced(resource=service.name, reason=reason)


def _ingresses(ingresses: Iterable[Declared]) -> Iterator[Bought]:
    groups: set[str] = set()
    for ingress in ingresses:
        try:
            ingress_class = text(ingress.inputs, "spec", "ingressClassName") or _annotation(
                ingress, "kubernetes.io/ingress.class"
            )
            group = _annotation(ingress, _GROUP)
        except NotShownError:
            continue
        if ingress_class != "alb" or group in groups:
            continue
        if group is not None:
            groups.add(group)
        yield kinds.load_balancers("application", group or ingress.name)


def _annotation(resource: Declared, key: str) -> str | None:
    found: Any = at(resource.inputs, "metadata", "annotations")
    value = found.get(key) if isinstance(found, Mapping) else None
    return value if isinstance(value, str) else None
