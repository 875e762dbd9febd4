"""Values that the cloud gives out: ids, ARNs, endpoints; pretended, of the right form, stable."""

import base64
import hashlib
import re
import string
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from berth.offline.aws.facts import TypeFacts
from berth.offline.shapes import Kind, ListOf, ObjectOf, Scalar
from berth.offline.values import Properties, plain

_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_][\w.]*)\}")
_RANDOM = re.compile(r"^(hex|HEX|alnum|ALNUM)(\d+)$")
_RANDOM_PART = re.compile(r"\{(hex|HEX|alnum|ALNUM)\d+\}|\{uuid\}")
_MADE_AT: Final = "2026-11-30T00:00:00Z"
_ALPHABETS: Final = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "alnum": string.ascii_lowercase + string.digits,
    "ALNUM": string.ascii_uppercase + string.digits,
}
_DESTINATIONS: Final = (
    "destinationCidrBlock",
    "destinationIpv6CidrBlock",
    "destinationPrefixListId",
)


@dataclass(slots=True)
class Assigner:
    """Gives one resource its values: the same for the same resource, whenever it is asked."""

    resource_type: str
    facts: TypeFacts
    properties: Properties
    seed: str
    region: str
    account: str

    def id(self) -> str:
        """The id that the cloud would give."""
        return str(self._fill(self._id_pattern(), "id"))

    def id_is_made_up(self) -> bool:
        """True if the cloud makes the id up, so that it never clashes."""
        pattern = self._id_pattern()
        made_up = self.facts.arn if pattern == "{arn}" else pattern
        return _RANDOM_PART.search(made_up) is not None

    def _id_pattern(self) -> str:
        return self.facts.id or _plausible_id(self)

    def text(self, pattern: str) -> str:
        """A message with the resource's own values put in."""
        return str(self._fill(pattern, "text"))

    def value(self, path: str, kind: Kind) -> Any:
        """The value of an output, by pattern where there is one, else plausible for its name."""
        name = path.rpartition(".")[2].replace("[]", "")
        if path in self.facts.assigned:
            return self._fill(self.facts.assigned[path], path)
        prefix = plain(self.properties).get(f"{path}Prefix")
        if isinstance(prefix, str) and prefix:
            return self._fill(f"{prefix}{{hex26}}", path)
        if path == "arn":
            return self._fill(self.facts.arn or _plausible_arn(self), path)
        if isinstance(kind, ObjectOf):
            return {key: self.value(f"{path}.{key}", item) for key, item in kind.fields.items()}
        if isinstance(kind, ListOf):
            return [self.value(f"{path}[]", kind.item)] if _deep(path) else []
        if isinstance(kind, Scalar):
            return self._scalar(name, kind, path)
        return {}

    def _scalar(self, name: str, kind: Scalar, path: str) -> Any:
        if kind.name == "boolean":
            return False
        if kind.name in ("integer", "number"):
            return 0
        known = _plausible_text(name)
        if not known and "." not in path:
            known = name + "-{hex17}"
        return self._fill(known, path)

    def _fill(self, pattern: Any, path: str) -> Any:
        """Put values into a pattern, at every depth of it."""
        if isinstance(pattern, Mapping):
            return {key: self._fill(item, f"{path}.{key}") for key, item in pattern.items()}
        if isinstance(pattern, list):
            return [self._fill(item, f"{path}[]") for item in pattern]
        if not isinstance(pattern, str):
            return pattern
        return _PLACEHOLDER.sub(lambda match: str(self._placeholder(match[1], path)), pattern)

    def _placeholder(self, name: str, path: str) -> Any:
        random = _RANDOM.match(name)
        if random:
            # capitals name the resource as a whole, so that endpoint and issuer agree
            salt = "" if random[1] == "HEX" else path
            return _random_text(self.seed + salt, _ALPHABETS[random[1]], int(random[2]))
        made = self._made(name, path)
        if made is not None:
            return made
        return self._own(name)

    def _made(self, name: str, path: str) -> str | None:
        if name == "uuid":
            text = _random_text(self.seed + path, _ALPHABETS["hex"], 32)
            return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        if name in ("public_ip", "public_ip_dashed", "private_ip", "private_ip_dashed"):
            address = _address(self.seed, public=name.startswith("public"))
            return address.replace(".", "-") if name.endswith("dashed") else address
        simple = {
            "region": self.region,
            "account": self.account,
            "time": _MADE_AT,
            "certificate": _certificate(self.seed),
        }
        return simple.get(name)

    def _own(self, name: str) -> Any:
        """A property of the resource itself, or something derived from one."""
        own = plain(self.properties)
        if name == "destination":
            return next((own[key] for key in _DESTINATIONS if own.get(key)), "")
        if name == "destination_crc32":
            return zlib.crc32(str(self._own("destination")).encode())
        if name == "url_without_scheme":
            return str(own.get("url", "")).removeprefix("https://")
        if name == "name_without_slash":
            return str(own.get("name", "")).removeprefix("/")
        if name == "principal_name":
            return str(own.get("principalArn", "")).rpartition("/")[2]
        if name == "comma_expected_owner":
            owner = own.get("expectedBucketOwner")
            return f",{owner}" if owner else ""
        if name == "zone_id":
            letter = str(own.get("availabilityZone", ""))[-1:]
            return f"{short_region(self.region)}-az{'abcdef'.find(letter or 'a') + 1}"
        if name in ("id", "arn") and name not in own:
            return self.id() if name == "id" else self.value("arn", Scalar("string"))
        return _at(own, name.split("."), self)


def _at(own: Any, path: Iterable[str], assigner: Assigner) -> Any:
    value = own
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if isinstance(value, str | int | float):
        return value
    name = ".".join(path)
    if name in assigner.facts.assigned:
        return assigner.value(name, Scalar("string"))
    return ""


def _random_text(seed: str, alphabet: str, length: int) -> str:
    text = ""
    counter = 0
    while len(text) < length:
        digest = hashlib.sha256(f"{seed}#{counter}".encode()).digest()
        text += "".join(alphabet[byte % len(alphabet)] for byte in digest)
        counter += 1
    return text[:length]


def _address(seed: str, *, public: bool) -> str:
    digest = hashlib.sha256(seed.encode()).digest()
    # 198.18.0.0/15 is set aside for tests (RFC 2544), so no real host is named
    first = (198, 18 + digest[0] % 2) if public else (10, 0)
    return f"{first[0]}.{first[1]}.{digest[1]}.{1 + digest[2] % 254}"


def _certificate(seed: str) -> str:
    body = base64.b64encode(_random_text(seed, _ALPHABETS["alnum"], 480).encode()).decode()
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    text = "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])
    return base64.b64encode(text.encode()).decode()


def short_region(region: str) -> str:
    """`us-east-1` as `use1`, as zone ids begin."""
    parts = region.split("-")
    return parts[0] + "".join(part[0] for part in parts[1:-1]) + parts[-1]


def _deep(path: str) -> bool:
    return path.count("[]") < 1


def _service_and_kind(resource_type: str) -> tuple[str, str]:
    _, module, name = resource_type.split(":")
    kind = re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
    return module.partition("/")[0], kind


def _plausible_id(assigner: Assigner) -> str:
    if isinstance(plain(assigner.properties).get("name"), str):
        return "{name}"
    _, kind = _service_and_kind(assigner.resource_type)
    return f"{kind}-{{hex17}}"


def _plausible_arn(assigner: Assigner) -> str:
    service, kind = _service_and_kind(assigner.resource_type)
    return f"arn:aws:{service}:{{region}}:{{account}}:{kind}/{{id}}"


def _plausible_text(name: str) -> str:
    """A pattern that fits what an output is called, empty if its name says nothing."""
    if name in ("ownerId", "accountId", "registryId"):
        return "{account}"
    lowered = name.lower()
    if lowered.endswith(("at", "date", "time")) and lowered not in ("format", "state"):
        return "{time}"
    if lowered.endswith("arn"):
        return "arn:aws:pretended:{region}:{account}:" + name + "/{hex17}"
    if lowered.endswith("ip"):
        return "{private_ip}"
    if lowered == "status":
        return "ACTIVE"
    if lowered == "state":
        return "available"
    return ""
