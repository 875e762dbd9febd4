"""Whether a stack, or one resource of it, is production: some rules are mandatory only there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

from berth.rules.resource import Resource

Environment = Literal["dev", "prod"]
ENVIRONMENTS: tuple[Environment, ...] = get_args(Environment)

_PRODUCTION_WORDS = frozenset({"prod", "production"})


def environment_of_stack(
    *,
    setting: object = None,
    pack_setting: object = None,
    stack: str = "",
    tags: Sequence[str] = (),
) -> Environment | None:
    """The environment that is stated, or that the stack's name or tags give away.

    Args:
        setting: the stack's own `berth:environment`.
        pack_setting: `environment` in the policy pack's configuration.
        stack: name of the stack.
        tags: values of the stack's tags.

    Returns:
        None where nothing says; then each resource's own tags and labels decide for it.
    """
    for stated in (setting, pack_setting):
        for environment in ENVIRONMENTS:
            if stated == environment:
                return environment
    return "prod" if any(map(says_production, (stack, *tags))) else None


def is_production(resource: Resource, environment: Environment | None) -> bool:
    """Whether rules that are stricter in production are so for this resource."""
    if environment is not None:
        return environment == "prod"
    return any(map(says_production, tag_and_label_values(resource.props)))


def says_production(value: object) -> bool:
    """Whether a value is prod or production, whole or as a word between dashes."""
    return isinstance(value, str) and not _PRODUCTION_WORDS.isdisjoint(value.lower().split("-"))


def tag_and_label_values(props: Mapping[str, object]) -> Iterator[object]:
    """Values of the tags and labels of a resource."""
    metadata = props.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    for group in (props.get("tags"), props.get("labels"), labels):
        if isinstance(group, Mapping):
            yield from group.values()
        elif isinstance(group, Sequence) and not isinstance(group, str):
            yield from (tag.get("value") for tag in group if isinstance(tag, Mapping))
