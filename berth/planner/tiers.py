"""What the nodes of each tier hold, and everything that is wrong with a tier as written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from berth.catalog.gpu import Gpu, find_gpu
from berth.catalog.instance import Instance
from berth.catalog.load import Catalog
from berth.config.capacity import SpotCapacity
from berth.config.stack import (
    EksTier,
    ExistingCluster,
    ExistingTier,
    HybridTier,
    NewCluster,
    StackConfig,
)
from berth.planner.account import Account
from berth.planner.blocks import check_reservation, check_reservations_are_not_shared
from berth.planner.errors import problem
from berth.planner.slices import find_profile, gpu_slice, slice_key

CONFIGURED_IMAGES: Final = "AL2023_"
"""What nodeadm's NodeConfig sets up; Bottlerocket reads TOML in its place.
Source: https://bottlerocket.dev/en/os/latest/#/concepts/user-data/ (low evidence: not opened)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A pool of identical nodes, with the catalog's entries for what they hold."""

    name: str
    gpu_key: str
    gpu: Gpu
    gpus_per_node: int
    instance_type: str | None
    """None on nodes that the stack does not make."""
    instance: Instance | None
    """None on nodes that the stack does not make."""
    min_nodes: int
    max_nodes: int
    vcpus_per_node: int | None = None
    """Of a hybrid host."""
    mig_profile: str | None = None
    """Every GPU is cut into slices, which `gpu`, `gpu_key` and `gpus_per_node` then speak of."""

    @property
    def card_key(self) -> str:
        """The whole GPU's key in the catalog."""
        return self.instance.gpu if self.instance and self.instance.gpu else self.gpu_key

    @property
    def most_gpus(self) -> int:
        """GPUs of one node that a replica may use; slices have no peer access to each other."""
        return 1 if self.mig_profile else self.gpus_per_node

    @property
    def node_words(self) -> str:
        """One node for a person, such as `p5.48xlarge (8 x H100-SXM-80GB)`."""
        gpus = f"{self.gpus_per_node} x {self.gpu_key}"
        return f"{self.instance_type} ({gpus})" if self.instance_type else f"node with {gpus}"


def resolve_tiers(
    config: StackConfig, catalog: Catalog, account: Account, problems: list[str]
) -> Mapping[str, Tier]:
    """Every tier whose nodes are known, in the order of the stack.

    A tier that is missing from the result, or wrong otherwise, has a line in `problems`.
    """
    tiers: dict[str, Tier] = {}
    for name, tier in config.tiers.items():
        if isinstance(tier, EksTier):
            resolved = _eks_tier(name, tier, config, catalog, problems)
            check_reservation(name, tier, config, account, problems)
            if resolved is not None:
                _check_region(name, tier, config, catalog, account, problems)
        else:
            resolved = _owned_tier(name, tier, config, catalog, problems)
        if resolved is not None:
            tiers[name] = resolved
    check_reservations_are_not_shared(config, problems)
    return tiers


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint for an unknown name: the closest known one, or all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"the nearest is {near[0]}" if near else f"known are {', '.join(names)}"


def _eks_tier(
    name: str, tier: EksTier, config: StackConfig, catalog: Catalog, problems: list[str]
) -> Tier | None:
    key = f"berth:tiers.{name}"
    if isinstance(config.cluster, ExistingCluster):
        problems.append(
            problem(
                f"{key}.source",
                "eks nodes need a cluster of the stack, but berth:cluster is one that exists",
                "set source: existing, or give berth:cluster a kubernetes_version",
            )
        )
    if tier.min_nodes > tier.max_nodes:
        problems.append(
            problem(
                f"{key}.min_nodes",
                f"{tier.min_nodes} is above max_nodes {tier.max_nodes}",
                "lower min_nodes or raise max_nodes",
            )
        )
    instance = catalog.instances.get(tier.instance_type)
    refusal = _why_not(tier.instance_type, instance, catalog)
    if refusal is not None:
        problems.append(problem(f"{key}.instance_type", *refusal))
    if instance is not None and instance.gpu is not None:
        _check_image(key, tier, instance, problems)
        _check_spot_types(key, tier, instance, catalog, problems)
    if instance is None or instance.gpu is None:
        return None
    whole = Tier(
        name=name,
        gpu_key=instance.gpu,
        gpu=catalog.gpus[instance.gpu],
        gpus_per_node=instance.gpu_count,
        instance_type=tier.instance_type,
        instance=instance,
        min_nodes=tier.min_nodes,
        max_nodes=tier.max_nodes,
    )
    return whole if tier.mig_profile is None else _sliced(key, whole, tier, catalog, problems)


def _sliced(
    key: str, whole: Tier, config: EksTier, catalog: Catalog, problems: list[str]
) -> Tier | None:
    """The tier with each GPU cut into slices; None with a line in `problems`."""
    where, name = f"{key}.mig_profile", config.mig_profile or ""
    if not whole.gpu.mig_profiles:
        known = ", ".join(each for each, gpu in catalog.gpus.items() if gpu.mig_profiles)
        what = f"no MIG profile of {whole.gpu_key} is known, so it is not cut into slices"
        problems.append(problem(where, what, f"remove it, or name a type with one of {known}"))
        return None
    profile = find_profile(whole.gpu, name)
    if profile is None:
        profiles = ", ".join(each.name for each in whole.gpu.mig_profiles)
        what = f"{whole.gpu_key} has no profile {name}"
        problems.append(problem(where, what, f"use one of {profiles}"))
        return None
    if (config.ami_type or "").startswith("BOTTLEROCKET"):
        what = f"{config.ami_type} takes no MIG manager, which cuts the GPUs"
        problems.append(problem(where, what, "remove ami_type, or remove mig_profile"))
    return replace(
        whole,
        gpu_key=slice_key(whole.gpu_key, name),
        gpu=gpu_slice(whole.gpu, profile),
        gpus_per_node=whole.gpus_per_node * profile.count,
        mig_profile=name,
    )


def _why_not(
    instance_type: str, instance: Instance | None, catalog: Catalog
) -> tuple[str, str] | None:
    """What is wrong with an instance type as a tier, and what to change."""
    if instance is None:
        gpu_types = (name for name, each in catalog.instances.items() if each.gpu)
        what = f"no instance type {instance_type} in the catalog"
        return what, nearest(instance_type, gpu_types)
    if instance.gpu is None:
        return f"{instance_type} has no GPU", "name an instance type that has one"
    return None


def _check_image(key: str, tier: EksTier, instance: Instance, problems: list[str]) -> None:
    """Add a line if the AMI cannot run on the instance type."""
    offered = [each for each in instance.ami_types if each.startswith(CONFIGURED_IMAGES)]
    if tier.ami_id is None and not offered:
        problems.append(
            problem(
                f"{key}.instance_type",
                f"{tier.instance_type} needs an AMI of one's own, since no EKS AMI has its driver",
                "give ami_id, or name another instance type",
            )
        )
    elif tier.ami_type in instance.ami_types and tier.ami_type not in (*offered, None):
        what = f"{tier.ami_type} is not configured by NodeConfig, with which this program sets up "
        what += "kubelet, local disks and labels, and has a device plugin of its own"
        problems.append(problem(f"{key}.ami_type", what, f"use {', '.join(offered)}"))
    elif tier.ami_type is not None and tier.ami_type not in offered:
        arch = "arm64" if instance.cpu_arch == "arm64" else "x86_64"
        fix = f"use one of {', '.join(offered)}" if offered else "give ami_id instead"
        problems.append(
            problem(
                f"{key}.ami_type",
                f"{tier.ami_type} does not run on {tier.instance_type}, whose CPU is {arch}",
                fix,
            )
        )


def _check_spot_types(
    key: str, tier: EksTier, instance: Instance, catalog: Catalog, problems: list[str]
) -> None:
    """Add a line for each further spot type on which a pod of the first would not fit."""
    if not isinstance(tier.capacity, SpotCapacity):
        return
    shape = (instance.gpu, instance.gpu_count, instance.cpu_arch)
    for index, name in enumerate(tier.capacity.instance_types):
        where = f"{key}.capacity.instance_types[{index}]"
        other = catalog.instances.get(name)
        refusal = _why_not(name, other, catalog)
        if other is None or refusal is not None:
            problems.append(problem(where, *(refusal or ("is not known", "remove it"))))
            continue
        if (other.gpu, other.gpu_count, other.cpu_arch) != shape:
            words = f"{instance.gpu_count} x {instance.gpu} and {instance.cpu_arch}"
            what = f"{name} has {other.gpu_count} x {other.gpu} and {other.cpu_arch}, not {words}"
            problems.append(problem(where, what, "name types on which the same pod fits"))
        elif (other.vcpu, other.memory_gib) < (instance.vcpu, instance.memory_gib):
            what = f"{name} is smaller than {tier.instance_type}, by which pods are sized"
            problems.append(problem(where, what, f"make {name} the instance_type"))


def _check_region(
    name: str,
    tier: EksTier,
    config: StackConfig,
    catalog: Catalog,
    account: Account,
    problems: list[str],
) -> None:
    """Add a line if the region is known not to have the type; the account's own word wins."""
    regions = catalog.instances[tier.instance_type].regions
    if account.offered is not None or not regions or config.region not in catalog.regions:
        return
    if config.region not in regions:
        problems.append(
            problem(
                f"berth:tiers.{name}.instance_type",
                f"{tier.instance_type} is not sold in {config.region}",
                f"use one of {', '.join(regions)}, or another instance type",
            )
        )


def _owned_tier(
    name: str,
    tier: ExistingTier | HybridTier,
    config: StackConfig,
    catalog: Catalog,
    problems: list[str],
) -> Tier | None:
    key = f"berth:tiers.{name}"
    hybrid = isinstance(tier, HybridTier)
    if isinstance(config.cluster, NewCluster) and not hybrid:
        problems.append(
            problem(
                f"{key}.source",
                "existing nodes are in a cluster that exists, but berth:cluster makes a new one",
                "give berth:cluster a kubeconfig and a context, or name an instance_type",
            )
        )
    try:
        gpu_key = find_gpu(catalog.gpus, tier.gpu)
    except LookupError as error:
        problems.append(f"{key}.gpu: {error}")
        return None
    gpu = catalog.gpus[gpu_key]
    if not gpu.tier:
        problems.append(
            problem(
                f"{key}.gpu",
                f"{gpu_key} is a workstation card, of which no tier is made",
                "name a GPU for servers",
            )
        )
    return Tier(
        name=name,
        gpu_key=gpu_key,
        gpu=gpu,
        gpus_per_node=tier.gpus_per_node,
        instance_type=None,
        instance=None,
        min_nodes=tier.nodes,
        max_nodes=tier.nodes,
        vcpus_per_node=tier.vcpus_per_node if isinstance(tier, HybridTier) else None,
    )
