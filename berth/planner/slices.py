"""A MIG slice of a GPU, as the smaller GPU that a server finds there."""

from collections.abc import Mapping
from dataclasses import replace

from berth.catalog.gpu import Gpu, MigProfile
from berth.catalog.load import Catalog

VISIBLE_SHARE = 0.95
"""Of the GiB in a profile's name, what a process sees at least: 4.75 of 1g.5gb, 9.5 of 1g.10gb and
39.25 of 3g.40gb were reported on A100 (low evidence)."""
MEMORY_SLICES = 8
"""Into which MIG divides memory and its bandwidth, the largest profile having all.
Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/"""


def slice_key(gpu_key: str, profile: str) -> str:
    """The name of a slice, as NVIDIA's product label ends: `H100-SXM-80GB-MIG-3g.40gb`."""
    return f"{gpu_key}-MIG-{profile}"


def find_profile(gpu: Gpu, name: str) -> MigProfile | None:
    """The profile called `name` of a GPU; None where it has no such."""
    return next((profile for profile in gpu.mig_profiles if profile.name == name), None)


def gpu_slice(gpu: Gpu, profile: MigProfile) -> Gpu:
    """What one slice has of its GPU; always of low evidence.

    Compute is divided by the profiles' compute slices, bandwidth like memory by eighths. Slices
    have no peer access to each other, so each is alone in its domain.

    Source:
        https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ (partitioning)
    """
    largest = max(gpu.mig_profiles, key=lambda each: each.named_gb)
    compute = profile.compute_slices / largest.compute_slices
    memory = round(MEMORY_SLICES * profile.named_gb / largest.named_gb) / MEMORY_SLICES
    bandwidth = gpu.memory_gb_per_s
    label = gpu.product_label
    return gpu.model_copy(
        update={
            "aliases": (),
            "nameplate_gib": float(profile.named_gb),
            "visible_gib": min(gpu.visible_gib, VISIBLE_SHARE * profile.named_gb),
            "memory_gb_per_s": None if bandwidth is None else bandwidth * memory,
            "dense_tflops": {kind: each * compute for kind, each in gpu.dense_tflops.items()},
            "fabric": gpu.fabric.model_copy(
                update={"kind": "pcie", "domain_gpus": 1, "all_reduce": ()}
            ),
            "mig_profiles": (),
            "product_label": None if label is None else f"{label}-MIG-{profile.name}",
            "evidence": "low",
            "evidence_note": "a share of the whole GPU; no slice was measured",
        }
    )


def with_slices(catalog: Catalog, slices: Mapping[str, Gpu]) -> Catalog:
    """The catalog with slices, by key, among its GPUs."""
    return replace(catalog, gpus={**catalog.gpus, **slices}) if slices else catalog
