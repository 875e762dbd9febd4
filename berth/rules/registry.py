"""All rules, in the order of their names."""

from berth.rules import (
    agents,
    capacity,
    daemon_sets,
    drivers,
    exposure,
    gpu_requests,
    host_resources,
    idle_gpus,
    images,
    lifecycle,
    model_facts,
    network,
    node_images,
    node_software,
    number_formats,
    parallelism,
    placement,
    pools,
    security,
    sharing,
    startup_memory,
    storage,
    vendors,
)
from berth.rules.rule import Rule

_THEMES = (
    agents,
    capacity,
    daemon_sets,
    drivers,
    exposure,
    gpu_requests,
    host_resources,
    idle_gpus,
    images,
    lifecycle,
    model_facts,
    network,
    node_images,
    node_software,
    number_formats,
    parallelism,
    placement,
    pools,
    security,
    sharing,
    startup_memory,
    storage,
    vendors,
)

RULES: tuple[Rule, ...] = tuple(
    sorted((rule for theme in _THEMES for rule in theme.RULES), key=lambda rule: rule.id)
)
