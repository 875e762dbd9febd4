"""Rules about who can reach a model server."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from berth.rules.resource import Resource
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.config_maps import name_of, namespace_of
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pod import Container, Pod

_SCHEME: Final = "service.beta.kubernetes.io/aws-load-balancer-scheme"
_INTERNAL: Final = {
    _SCHEME: ("internal",),
    "service.beta.kubernetes.io/aws-load-balancer-internal": ("true", "0.0.0.0/0"),
    "service.beta.kubernetes.io/azure-load-balancer-internal": ("true",),
    "networking.gke.io/load-balancer-type": ("internal",),
    "cloud.google.com/load-balancer-type": ("internal",),
}
_ALB: Final = "alb.ingress.kubernetes.io/"
_GATEWAY: Final = "gateway.networking.k8s.io"


@dataclass(frozen=True, slots=True)
class _Door:
    """One way in from the internet to the Services that it leads to."""

    resource: Resource
    services: tuple[Resource, ...]
    fix: str


def _find_open_door(door: _Door, context: Context) -> Iterator[Breach]:
    for service in door.services:
        for pod in context.view.pods():
            if pod.namespace != namespace_of(service) or not _selects(service, pod):
                continue
            for container in pod.containers:
                if container.is_model_server:
                    yield _breach(door, container)
                    return


def _breach(door: _Door, container: Container) -> Breach:
    has_key = _has_key(container)
    what = (
        "and its key guards only /v1, /v2 and /inference"
        if has_key
        else "which answers without a key"
    )
    return Breach(
        where=door.resource.name,
        what=f"it is open to the internet and leads to {container.name} of "
        f"{container.resource.name}, {what}",
        change="keep it internal, or put something that asks who calls in front",
        fix=door.fix,
        level="advisory" if has_key else None,
    )


def _doors(view: StackView) -> Iterator[_Door]:
    for service in view.of_kind("Service"):
        spec = Field(service.props).at("spec")
        if spec.at("type").value != "LoadBalancer" or _is_internal(service):
            continue
        if spec.at("loadBalancerSourceRanges").value:
            continue
        yield _Door(service, (service,), f"set annotation {_SCHEME} to internal")
    for ingress in view.of_kind("Ingress", "networking.k8s.io"):
        if _annotation(ingress, f"{_ALB}scheme") != "internet-facing":
            continue
        if _annotation(ingress, f"{_ALB}auth-type") not in ("", "none"):
            continue
        if _annotation(ingress, f"{_ALB}inbound-cidrs"):
            continue
        names = set(_named_services(Field(ingress.props).at("spec")))
        services = _services(view, names, namespace_of(ingress))
        yield _Door(ingress, services, f"set annotation {_ALB}scheme to internal")
    yield from _gateway_doors(view)


def _gateway_doors(view: StackView) -> Iterator[_Door]:
    for gateway in view.of_kind("Gateway", _GATEWAY):
        body = Field(gateway.props)
        given = body.at("spec", "infrastructure", "annotations", _SCHEME).value
        if "internet-facing" not in (given, _annotation(gateway, _SCHEME), _scheme(gateway, view)):
            continue
        services: list[Resource] = []
        for route in view.of_kind("HTTPRoute", _GATEWAY):
            if _is_parent(gateway, route):
                names = set(_named_services(Field(route.props).at("spec")))
                services += _services(view, names, namespace_of(route))
        fix = f"set spec.infrastructure.annotations[{_SCHEME}] to internal"
        yield _Door(gateway, tuple(services), fix)


def _is_parent(gateway: Resource, route: Resource) -> bool:
    """Whether a route hangs on a gateway; one of its own namespace where it names none."""
    parents = Field(route.props).at("spec", "parentRefs")
    named = [] if parents.is_unknown else parents.items()
    own = namespace_of(route)
    return any(
        parent.at("name").value == name_of(gateway)
        and (parent.at("namespace").value or own) == namespace_of(gateway)
        for parent in named
    )


def _scheme(gateway: Resource, view: StackView) -> object:
    """What the AWS controller's own configuration of the gateway says."""
    reference = Field(gateway.props).at("spec", "infrastructure", "parametersRef", "name").value
    for resource in view.of_kind("LoadBalancerConfiguration", "gateway.k8s.aws"):
        if reference is not None and name_of(resource) == reference:
            return Field(resource.props).at("spec", "scheme").value
    return None


def _named_services(place: Field, depth: int = 0) -> Iterator[str]:
    """Names of the backends below a place of an Ingress or a route."""
    if place.is_unknown or depth > 8:
        return
    service = place.at("service", "name").value
    if isinstance(service, str):
        yield service
    for reference in place.at("backendRefs").items():
        name = reference.at("name").value
        if isinstance(name, str):
            yield name
    for inner in (*place.entries().values(), *place.items()):
        yield from _named_services(inner, depth + 1)


def _services(view: StackView, names: set[str], namespace: str) -> tuple[Resource, ...]:
    return tuple(
        service
        for service in view.of_kind("Service")
        if name_of(service) in names and namespace_of(service) == namespace
    )


def _is_internal(service: Resource) -> bool:
    return any(_annotation(service, key).lower() in values for key, values in _INTERNAL.items())


def _annotation(resource: Resource, key: str) -> str:
    value = Field(resource.props).at("metadata", "annotations", key).value
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else ""


def _selects(service: Resource, pod: Pod) -> bool:
    selector = Field(service.props).at("spec", "selector")
    if selector.is_unknown:
        return False
    wanted: dict[str, Any] = {key: entry.value for key, entry in selector.entries().items()}
    return bool(wanted) and all(pod.label(key) == value for key, value in wanted.items())


def _has_key(container: Container) -> bool:
    """Whether vLLM is given a key; Ollama has none, and Ray Serve does not ask for it."""
    if container.engine != "vllm" or container.pod.workload.kind.startswith("Ray"):
        return False
    arguments = container.engine_arguments
    given = arguments.value("--api-key") if arguments and not arguments.is_partial else None
    return bool(given) or _has_key_variable(container)


def _has_key_variable(container: Container) -> bool:
    env = container.body.at("env")
    for item in [] if env.is_unknown else env.items():
        if item.at("name").value == "VLLM_API_KEY":
            return not item.at("valueFrom").is_absent or bool(item.at("value").value)
    return False


PUBLIC_ENDPOINT_NO_AUTH = Rule(
    id="public-endpoint-no-auth",
    title="A model server is not open to the internet.",
    severity="critical",
    level="mandatory",
    scope="stack",
    reads="type, annotations and selectors of Services, Ingresses and Gateways; keys of servers",
    why="strangers find it within hours and use the GPUs",
    source="https://docs.vllm.ai/en/latest/usage/security.html",
    subjects=_doors,
    judge=_find_open_door,
)

RULES = (PUBLIC_ENDPOINT_NO_AUTH,)
