"""Which accelerators an EC2 instance type has: the catalog's types, and older ones by family."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

from berth.catalog.gpu import load_gpus
from berth.catalog.instance import load_instances
from berth.rules.stack_view.accelerators import Accelerator

Accelerators = Mapping[str, Accelerator]
"""Instance type to what one node of it has; types without an accelerator are left out."""


@cache
def load_accelerators() -> Accelerators:
    """The accelerators of all instance types that are known to have any."""
    gpus = load_gpus()
    text = files(__package__).joinpath("older_accelerators.yaml").read_text(encoding="utf-8")
    table = {
        name: Accelerator(entry["vendor"], entry["count"])
        for name, entry in yaml.safe_load(text)["instances"].items()
    }
    for name, instance in load_instances().items():
        if instance.gpu:
            table[name] = Accelerator(gpus[instance.gpu].vendor, instance.gpu_count)
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
