"""GPUs: what the driver shows of their memory, what they compute and what they only store."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, TypeAdapter, model_validator

from berth.catalog.entry import Entry, Source

Positive = Annotated[float, Field(gt=0)]
Format = Literal["fp16", "bf16", "int8", "int4", "fp8", "fp8_fnuz", "nvfp4", "mxfp4"]


class MigProfile(Entry):
    """One way to cut a GPU into instances, as named by the driver."""

    name: Annotated[str, Field(pattern=r"^\d+g\.\d+gb$")]
    count: Annotated[int, Field(ge=1, le=7)]
    """Instances of this profile that one GPU holds."""
    compute_slices: Annotated[int, Field(ge=1, le=7)]
    """Of those that the largest profile has, mostly seven."""

    @property
    def named_gb(self) -> int:
        """Memory that its name promises; the driver shows a little less."""
        return int(self.name.partition(".")[2].removesuffix("gb"))


class AllReduce(Entry):
    """How long `ranks` GPUs of one node take to add up a message inside a CUDA graph."""

    ranks: Annotated[int, Field(ge=2)]
    latency_us: Positive
    gb_per_s: Positive


class Fabric(Entry):
    """What GPUs of one node talk over."""

    kind: Literal["nvlink", "xgmi", "pcie"]
    gb_per_s: Positive
    """Per GPU, both directions added up, as vendors sell it."""
    domain_gpus: Annotated[int, Field(ge=1)] = 8
    """GPUs that reach each other at this speed."""
    all_reduce: tuple[AllReduce, ...] = ()
    """Measured; empty: not measured on this GPU."""


class Unusable(Entry):
    """Why a known accelerator is no GPU of this catalog, for a person who asks for it."""

    what_for: str
    why_not: str
    instance_families: tuple[str, ...] = ()
    """EC2 families that have it, as before the dot of an instance type."""


class Gpu(Entry):
    """One GPU model."""

    vendor: Literal["nvidia", "amd"]
    aliases: tuple[str, ...] = ()
    """Everyday short names."""
    nameplate_gib: Positive
    """The number it is sold with."""
    visible_gib: Positive
    """Total that the runtime reports to a process; utilization is a share of this."""
    used_at_baseline_gib: Annotated[float, Field(ge=0)]
    """Taken by driver and context before the engine measures, one GPU per server."""
    used_at_baseline_parallel_gib: Annotated[float, Field(ge=0)]
    """The same with tensor or pipeline parallel, collective buffers included."""
    memory_gb_per_s: Positive | None = None
    dense_tflops: Mapping[str, Positive] = Field(default_factory=dict)
    """Per number format, without sparsity; int8 in TOPS."""
    fabric: Fabric
    compute_capability: Annotated[str, Field(pattern=r"^\d+\.\d$")] | None = None
    gfx: Annotated[str, Field(pattern=r"^gfx[0-9a-f]+$")] | None = None
    computes: tuple[Format, ...]
    """Formats with matrix units of their own."""
    stores: tuple[Format, ...]
    """Formats that weights may be kept in, though multiplied in 16 bits: less memory, no speed."""
    kv_cache: tuple[Literal["auto", "fp8", "fp8_e5m2"], ...]
    """Formats that the KV cache may have besides that of the model."""
    minimum_driver: str | None = None
    """Oldest driver branch that knows the GPU."""
    mig_profiles: tuple[MigProfile, ...] = ()
    unified_memory: bool = False
    """Memory shared with the CPU."""
    resource: Literal["nvidia.com/gpu", "amd.com/gpu"]
    accelerator_label: str | None = None
    """Value of `k8s.amazonaws.com/accelerator`, where AWS has the GPU."""
    product_label: str | None = None
    """Value of the vendor's product label on nodes, where it was read."""
    tier: bool = True
    """May be a tier of a stack; workstation cards only answer in `berth plan`."""
    evidence: Literal["measured", "low"]
    """`low`: memory or speed were not read on this GPU but on a near one or a data sheet."""
    evidence_note: str | None = None
    source: Source

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.vendor == "nvidia") != (self.compute_capability is not None):
            raise ValueError(
                "compute_capability is for nvidia and gfx for amd; give the one that fits"
            )
        if self.visible_gib > self.nameplate_gib:
            raise ValueError(
                f"visible {self.visible_gib} GiB is above nameplate {self.nameplate_gib}"
            )
        return self

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability as numbers; (0, 0) on AMD."""
        major, _, minor = (self.compute_capability or "0.0").partition(".")
        return int(major), int(minor)


def load_gpus() -> Mapping[str, Gpu]:
    """All GPUs by key."""
    return _load()[0]


def load_unusable() -> Mapping[str, Unusable]:
    """Accelerators and runtimes that are known by name only."""
    return _load()[1]


def find_unusable_instance(instance_type: str) -> Unusable | None:
    """The accelerator of an EC2 type that has one of those known by name only."""
    family = instance_type.casefold().partition(".")[0]
    found = (entry for entry in load_unusable().values() if family in entry.instance_families)
    return next(found, None)


@cache
def _load() -> tuple[Mapping[str, Gpu], Mapping[str, Unusable]]:
    text = files(__package__).joinpath("gpus.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    return (
        TypeAdapter(dict[str, Gpu]).validate_python(data["gpus"]),
        TypeAdapter(dict[str, Unusable]).validate_python(data["unusable"]),
    )


def find_gpu(gpus: Mapping[str, Gpu], name: str) -> str:
    """The key of the GPU called `name`, by key or everyday short name, in any case.

    Raises:
        LookupError: if nothing is called so; the text names the nearest GPU, or says what an
            accelerator outside this catalog is for.
    """
    keys = {key.casefold(): key for key in gpus}
    for key, gpu in gpus.items():
        keys |= {alias.casefold(): key for alias in gpu.aliases}
    wanted = name.casefold().strip()
    if wanted in keys:
        return keys[wanted]
    for key, entry in load_unusable().items():
        if key.casefold() in wanted:
            raise LookupError(f"{name} is {entry.what_for}; {entry.why_not}")
    near = get_close_matches(wanted, keys, n=1, cutoff=0.5)
    hint = f"the nearest is {keys[near[0]]}" if near else f"known are {', '.join(gpus)}"
    raise LookupError(f"no GPU is called {name}; {hint}")
