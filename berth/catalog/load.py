"""The whole catalog as one value, with every reference between its files checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from berth.catalog.gpu import Gpu, load_gpus
from berth.catalog.instance import Instance, load_instances
from berth.catalog.model import Models, load_models
from berth.catalog.price import PriceBook, load_prices
from berth.catalog.region import RegionZones, load_regions
from berth.catalog.software import Software, load_software


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Facts by key: GPUs, models, EC2 instance types and regions; software and prices."""

    gpus: Mapping[str, Gpu]
    models: Models
    instances: Mapping[str, Instance]
    regions: Mapping[str, RegionZones]
    software: Software
    prices: PriceBook


@cache
def load_catalog() -> Catalog:
    """The catalog of this version of Berth.

    Raises:
        ValueError: if an entry names one that does not exist; the text has all of them.
    """
    catalog = Catalog(
        gpus=load_gpus(),
        models=load_models(),
        instances=load_instances(),
        regions=load_regions(),
        software=load_software(),
        prices=load_prices(),
    )
    dangling = dangling_references(catalog)
    if dangling:
        raise ValueError("\n".join(dangling))
    return catalog


def dangling_references(catalog: Catalog) -> list[str]:
    """One line for every name in an entry that the catalog does not have."""
    found = []
    for name, instance in catalog.instances.items():
        if instance.gpu is not None and instance.gpu not in catalog.gpus:
            found.append(f"instances.yaml: {name}: gpu {instance.gpu} is not in gpus.yaml")
        if (instance.gpu is None) != (instance.gpu_count == 0):
            found.append(
                f"instances.yaml: {name}: gpu {instance.gpu} with gpu_count {instance.gpu_count}; "
                "give both or neither"
            )
        for region in {*instance.regions, *instance.capacity_block_regions} - set(catalog.regions):
            found.append(f"instances.yaml: {name}: region {region} is not in regions.yaml")
    for region in set(catalog.prices.regions) - set(catalog.regions):
        found.append(f"prices/{region}.yaml: region {region} is not in regions.yaml")
    vendors = {gpu.vendor for gpu in catalog.gpus.values()}
    for vendor in sorted(vendors - set(catalog.software.vllm)):
        found.append(f"software.yaml: vllm: no engine for the vendor {vendor} of gpus.yaml")
    return found
