"""Where charts of a stack are stated: releases, what one renders, objects of Argo CD and Flux."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from berth.rules.resource import Resource
from berth.rules.stack_view.chart import Chart, TolerationList, parsed_values
from berth.rules.stack_view.field import Field

_TYPES: Final = (
    "kubernetes:helm.sh/v3:Chart",
    "kubernetes:helm.sh/v3:Release",
    "kubernetes:helm.sh/v4:Chart",
)
_DEEPEST: Final = 20
"""Steps of a parameter's name; no chart has values that deep."""
_ANY_VERSION: Final = frozenset({"", "*", "HEAD"})
"""What Argo CD and Flux read as the newest version."""


@dataclass(frozen=True, eq=False)
class RenderedOperator(Chart):
    """The ClusterPolicy that the chart gpu-operator renders: its values, defaults put in."""

    @property
    def reference(self) -> str:
        """What the chart is called."""
        return "gpu-operator"

    @property
    def version(self) -> str:
        """Version of the chart, as its label says; empty without one."""
        stated = self.body.at("metadata", "labels", "helm.sh/chart").text() or ""
        return stated.removeprefix("gpu-operator-") if stated.startswith("gpu-operator-v") else ""

    @property
    def is_local(self) -> bool:
        """Rendered from one version of the chart."""
        return True

    @property
    def values(self) -> Field:
        """What the operator reads."""
        return self.body.at("spec")

    def toleration_lists(self) -> list[TolerationList]:
        """Node feature discovery is rendered as a DaemonSet of its own."""
        return [listed for listed in Chart.toleration_lists(self) if listed.path[0] == "daemonsets"]


@dataclass(frozen=True, eq=False)
class DeliveredChart(Chart):
    """A chart that Argo CD or Flux installs, as an object of the cluster tells it to."""

    named: Field
    stated_version: Field
    given: Field
    is_partial: bool
    """Values come from objects and files too that the stack does not show."""

    @property
    def chart_field(self) -> Field:
        """Where the chart is named."""
        return self.named

    @property
    def version_field(self) -> Field:
        """Where its version is stated."""
        return self.stated_version

    @property
    def values(self) -> Field:
        """Its values as given."""
        return self.given

    @property
    def has_value_files(self) -> bool:
        """What is absent here may be elsewhere."""
        return self.is_partial

    @property
    def is_local(self) -> bool:
        """A folder of a repository, which holds one version only."""
        return self.reference.startswith((".", "/"))


def read_charts(resources: Sequence[Resource]) -> tuple[Chart, ...]:
    """The charts among the resources of a stack."""
    return tuple(chart for resource in resources for chart in _charts_of(resource))


def _charts_of(resource: Resource) -> Iterator[Chart]:
    if resource.type in _TYPES:
        yield Chart(resource)
        return
    owner, _, kind = resource.type.rpartition(":")
    group = owner.removeprefix("kubernetes:").partition("/")[0]
    if (group, kind) == ("nvidia.com", "ClusterPolicy"):
        yield RenderedOperator(resource)
    elif (group, kind) == ("helm.toolkit.fluxcd.io", "HelmRelease"):
        spec = Field(resource.props).at("spec")
        chart = spec.at("chart", "spec")
        yield DeliveredChart(
            resource,
            chart.at("chart"),
            _version(chart.at("version")),
            spec.at("values"),
            not spec.at("valuesFrom").is_absent,
        )
    elif (group, kind) == ("argoproj.io", "Application"):
        spec = Field(resource.props).at("spec")
        several = spec.at("sources")
        sources = [] if several.is_unknown else several.items()
        for source in (*sources, spec.at("source")):
            if not source.at("chart").is_absent:
                values, is_partial = _argo_values(source.at("helm"))
                version = _version(source.at("targetRevision"))
                yield DeliveredChart(resource, source.at("chart"), version, values, is_partial)


def _version(stated: Field) -> Field:
    is_any = isinstance(stated.value, str) and stated.value.strip() in _ANY_VERSION
    return Field(None, stated.path) if is_any else stated


def _argo_values(helm: Field) -> tuple[Field, bool]:
    """The values of an Application, and whether files or a text that is not read add to them."""
    as_object, text = helm.at("valuesObject"), helm.at("values")
    parameters = helm.at("parameters")
    for part in (helm, as_object, text, parameters):
        if part.is_unknown:
            return part, False
    is_partial = not helm.at("valueFiles").is_absent
    if as_object.is_absent and parameters.is_absent and text.is_absent:
        return as_object, is_partial
    merged: dict[str, Any] = {}
    stated = as_object.value if isinstance(as_object.value, Mapping) else None
    if stated is None:
        stated = {} if text.is_absent else parsed_values(text.value)
    if stated is None:
        return as_object, True
    merged |= stated
    for parameter in parameters.items():
        name, value = parameter.at("name").value, parameter.at("value").value
        if isinstance(name, str) and name.count(".") < _DEEPEST:
            merged = _with(merged, name.split("."), value)
    return Field(merged, text.path if as_object.is_absent else as_object.path), is_partial


def _with(values: Mapping[str, Any], steps: Sequence[str], value: Any) -> dict[str, Any]:
    """Values with one more at a place; what was there is kept beside it."""
    inner = values.get(steps[0])
    if len(steps) == 1:
        return {**values, steps[0]: value}
    nested = inner if isinstance(inner, Mapping) else {}
    return {**values, steps[0]: _with(nested, steps[1:], value)}
