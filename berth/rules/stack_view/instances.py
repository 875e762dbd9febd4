"""Which accelerators an EC2 instance type has: the catalog's types, planned for and older ones."""

from collections.abc import Mapping
from functools import cache

from berth.catalog.gpu import load_gpus
from berth.catalog.instance import load_instances
from berth.catalog.older_accelerators import load_older_accelerators
from berth.rules.stack_view.accelerators import Accelerator

Accelerators = Mapping[str, Accelerator]
"""Instance type to what one node of it has; types without an accelerator are left out."""


@cache
def load_accelerators() -> Accelerators:
    """The accelerators of all instance types that are known to have any."""
    older = load_older_accelerators()
    table = {
        name: Accelerator(
            entry.vendor,
            entry.count,
            older.gpus[entry.gpu] if entry.gpu else None,
            entry.cpu_arch,
        )
        for name, entry in older.instances.types.items()
    }
    gpus = load_gpus()
    for name, instance in load_instances().items():
        if instance.gpu:
            gpu = gpus[instance.gpu]
            table[name] = Accelerator(gpu.vendor, instance.gpu_count, gpu, instance.cpu_arch)
    return table


_CPU_SERIES = frozenset(["c", "d", "hpc", "i", "im", "is", "m", "mac", "r", "t", "u", "x", "z"])
"""Series without an accelerator.

https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
"""


def is_cpu_only(instance_type_or_family: str) -> bool:
    """Whether EC2's naming says that a type or family has no accelerator."""
    family = instance_type_or_family.partition(".")[0]
    series = family[: next((i for i, c in enumerate(family) if c.isdigit()), len(family))]
    return series in _CPU_SERIES
