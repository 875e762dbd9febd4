"""Which kind an object is of, and what follows: namespaces, replacements, names in errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

import yaml

_ALWAYS_REPLACING = ("metadata.name", "metadata.namespace")


@cache
def _table() -> Mapping[str, Any]:
    text = resources.files("berth.offline.kubernetes").joinpath("kinds.yaml").read_text("utf-8")
    data: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)  # the C form of SafeLoader
    return data


@dataclass(frozen=True, slots=True)
class KindOf:
    """A kind of object: `apps/v1` and `Deployment`."""

    api_version: str
    kind: str

    @property
    def key(self) -> str:
        """As the table names it: `apps/v1/Deployment`."""
        return f"{self.api_version}/{self.kind}"

    @property
    def group(self) -> str:
        """The API group, empty for the core one."""
        return self.api_version.rpartition("/")[0]

    @property
    def in_namespace(self) -> bool:
        """True if objects of the kind live in a namespace."""
        return not any(fnmatchcase(self.key, pattern) for pattern in _table()["cluster_scoped"])

    @property
    def plural(self) -> str:
        """As the API server names it in errors: `deployments.apps`."""
        singular = self.kind.lower()
        if singular.endswith("y") and singular[-2] not in "aeiou":
            plural = f"{singular[:-1]}ies"
        elif singular.endswith(("s", "x", "ch", "sh")):
            plural = singular if singular == "endpoints" else f"{singular}es"
        else:
            plural = f"{singular}s"
        return f"{plural}.{self.group}" if self.group else plural

    def replace_on(self, settings: Mapping[str, Any], immutable: bool) -> tuple[str, ...]:
        """Properties whose change replaces the object."""
        found = (*_ALWAYS_REPLACING, *_table()["replace_on"].get(self.key, ()))
        contents = _table()["contents_of"].get(self.key)
        if contents is None or (settings.get(contents["setting"]) is True and not immutable):
            return found
        return (*found, *contents["properties"])


def kind_of_type(resource_type: str) -> KindOf:
    """The kind that a Pulumi type stands for, `Patch` variants as what they patch."""
    _, module, kind = resource_type.split(":")
    api_version = module.removeprefix("core/") if module.startswith("core/") else module
    return KindOf(api_version, kind.removesuffix("Patch") or kind)


def is_list(resource_type: str) -> bool:
    """True for `DeploymentList` and its like, which have no name of their own."""
    return resource_type.endswith("List")
