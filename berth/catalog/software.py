"""Software that runs on a cluster: versions, images and charts that were chosen together."""

from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from math import inf
from typing import Annotated, Final, Literal

import yaml
from pydantic import AnyUrl, Field, UrlConstraints

from berth.catalog.entry import Entry, Source
from berth.catalog.instance import AmiType

SOFTWARE_FILE: Final = "software.yaml"


class Engine(Entry):
    """The inference engine for one GPU vendor."""

    version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    repository: str
    """Image repository without a tag."""
    tag: str
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    note: str | None = None
    source: Source

    @property
    def image(self) -> str:
        """Image with its tag, and with its digest where that is known."""
        tagged = f"{self.repository}:{self.tag}"
        return f"{tagged}@{self.digest}" if self.digest else tagged


PullSecretForm = Literal["name", "names", "object", "objects"]
"""A name, a list of names, `{name: ...}` or a list of such."""


class Chart(Entry):
    """One Helm chart, called as its key."""

    repository_url: Annotated[AnyUrl, UrlConstraints(allowed_schemes=["https", "oci"])]
    """Of a chart in a container registry, the chart itself."""
    version: str
    images: Annotated[Mapping[str, str], Field(min_length=1)]
    """The images that run, by path in the chart's values; with a tag where the value has one."""
    pull_secrets: Annotated[Mapping[str, PullSecretForm], Field(min_length=1)]
    """Where the values take a pull secret, by path, and in which form."""
    images_source: Source
    source: Source


class Kubernetes(Entry):
    """Kubernetes versions for which EKS builds GPU nodes."""

    versions: Annotated[
        tuple[Annotated[str, Field(pattern=r"^1\.\d{2}$")], ...], Field(min_length=1)
    ]
    """Oldest first."""
    source: Source
    standard_support_ends: Mapping[str, date]
    """By version, oldest first; from that day on EKS bills extended support. A version above the
    newest here has standard support, as far as was read."""
    support_source: Source

    def is_extended(self, version: str, day: date) -> bool:
        """Whether a cluster of `version` is billed as one in extended support on `day`."""
        ends_on = self.standard_support_ends.get(version)
        if ends_on is None:
            return _minor(version) < _minor(next(iter(self.standard_support_ends)))
        return day >= ends_on


def _minor(version: str) -> float:
    """1.29 as 29; a text that is no version is above every version."""
    _, _, minor = version.partition(".")
    return int(minor) if minor.isdecimal() else inf


class EksAddons(Entry):
    """Add-ons of EKS that a new cluster gets."""

    names: tuple[str, ...]
    source: Source


class ClusterAutoscaler(Entry):
    """What adds nodes; its minor version is that of Kubernetes."""

    image_tags: Mapping[str, str]
    """By minor version of Kubernetes."""
    source: Source


class AmdOperands(Entry):
    """Image tags of what AMD's GPU operator runs on GPU nodes, whose chart says `latest`."""

    device_plugin: str
    node_labeller: str
    metrics_exporter: str
    source: Source


AMI_RELEASE_PATTERN: Final = r"^\d+\.\d+\.\d+-[0-9a-f]{8}$"
AmiRelease = Annotated[str, Field(pattern=AMI_RELEASE_PATTERN)]
"""`1.35.2-20261120`: version and day of an AL2023 image; of Bottlerocket version and commit."""


class AmiParameters(Entry):
    """Where AWS publishes the newest release of each EKS AMI."""

    paths: Mapping[AmiType, Annotated[str, Field(pattern=r"^/aws/service/.*\{version\}")]]
    """Names of public parameters in Systems Manager, with the place of the Kubernetes version."""
    source: Source


class RegionReleases(Entry):
    """The EKS AMI releases with which the nodes of one region start."""

    checked: date
    """When `berth catalog pin` read them."""
    releases: Mapping[str, Mapping[str, AmiRelease]]
    """By Kubernetes version and AMI type."""


class Software(Entry):
    """Everything that Berth installs or names."""

    vllm: Mapping[Literal["nvidia", "amd"], Engine]
    charts: Mapping[str, Chart]
    kubernetes: Kubernetes
    eks_addons: EksAddons
    ami_parameters: AmiParameters
    ami_releases: Mapping[str, RegionReleases] = Field(default_factory=dict)
    """By region; empty until `berth catalog pin`."""
    cluster_autoscaler: ClusterAutoscaler
    amd_operands: AmdOperands

    def ami_release(self, region: str | None, kubernetes_version: str, ami_type: str) -> str | None:
        """The pinned release; None where none is."""
        pinned = self.ami_releases.get(region) if region is not None else None
        return (pinned.releases if pinned else {}).get(kubernetes_version, {}).get(ami_type)


def parse_software(text: str) -> Software:
    """The software in the text of `software.yaml`."""
    # the C form of SafeLoader
    return Software.model_validate(yaml.load(text, Loader=yaml.CSafeLoader))


@cache
def load_software() -> Software:
    """The software of the catalog."""
    return parse_software(files(__package__).joinpath(SOFTWARE_FILE).read_text(encoding="utf-8"))
