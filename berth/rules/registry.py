"""All rules, in the order of their names."""

from berth.rules import gpu_requests, images, node_software, parallelism, placement
from berth.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *gpu_requests.RULES,
            *images.RULES,
            *node_software.RULES,
            *parallelism.RULES,
            *placement.RULES,
        ),
        key=lambda rule: rule.id,
    )
)
