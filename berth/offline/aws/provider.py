"""The AWS provider's part: what is checked, what replaces, what the pretended cloud answers."""

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from berth.offline.aws import naming
from berth.offline.aws.answers import answer
from berth.offline.aws.assigned import Assigner
from berth.offline.aws.control_plane import ControlPlaneAddress
from berth.offline.aws.drift import inputs_now, tags_now
from berth.offline.aws.facts import AutoName, TypeFacts, facts_of
from berth.offline.aws.limits import problems_of, service_problems
from berth.offline.aws.lookups import Asked
from berth.offline.aws.outputs import Outputs
from berth.offline.aws.refusals import refusals
from berth.offline.aws.replacement import real_changes, renewed_outputs, replacing
from berth.offline.checks import Problem, ShapeCheck, nearest
from berth.offline.cloud import Cloud, Record
from berth.offline.provider import CloudError, Difference, Found, Naming, Resource
from berth.offline.shapes import ResourceShape, Sdk
from berth.offline.values import Properties, is_unknown, plain

SDK = Sdk("aws")


@dataclass(frozen=True)
class AwsSettings:
    """What the provider's configuration says."""

    region: str
    account: str
    default_tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AwsProvider:
    """One AWS provider over a pretended cloud."""

    cloud: Cloud
    settings: AwsSettings
    control_plane: ControlPlaneAddress | None = None
    """A real one that every EKS cluster is said to have; None: it is made up."""

    def check(
        self, resource: Resource, old: Properties | None, new: Properties, naming_wish: Naming
    ) -> tuple[Properties, list[Problem]]:
        """See `Provider.check`."""
        shape = SDK.shape(resource.type)
        if shape is None:
            hint = nearest(resource.type, SDK.tokens())
            return new, [Problem((), f"no such type in pulumi-aws {SDK.version}{hint}")]
        facts = _facts(resource.type)
        inputs = {key: value for key, value in new.items() if not key.startswith("__")}
        required = sorted({*shape.required, *facts.required})
        problems = list(ShapeCheck(strict=False).problems(shape.inputs, required, plain(inputs)))
        inputs = copy.deepcopy(inputs)
        scope = self._scope(shape, inputs)

        def make_name(auto_name: AutoName) -> str:
            return naming.with_name(
                auto_name,
                resource,
                naming_wish,
                lambda name: self._name_is_taken(resource.type, scope, auto_name.property, name),
            )

        filled: list[str] = []
        if not naming_wish.disabled:
            auto_name = naming.auto_name_of(facts, shape)
            filled += naming.fill_name(auto_name, facts, inputs, old, make_name)
        filled += naming.fill_defaults(facts, inputs)
        inputs[naming.DEFAULTS_KEY] = sorted(filled)
        return inputs, [*problems, *problems_of(facts, inputs)]

    def diff(
        self, resource: Resource, old_inputs: Properties, old_outputs: Properties, new: Properties
    ) -> Difference:
        """See `Provider.diff`."""
        _, facts, shown = self._known(resource)
        changes = real_changes(facts, self.settings.region, old_inputs, old_outputs, new)
        changes += shown.tag_changes(old_outputs, new, changes)
        replaced_by = replacing(facts, changes, old_inputs)
        named = facts.auto_name.property if facts.auto_name else ""
        program_named = named in new and named not in new.get(naming.DEFAULTS_KEY, [named])
        return Difference(
            changes=tuple(changes),
            replacing=tuple(replaced_by),
            deletes_first=bool(replaced_by) and (facts.delete_before_replace or program_named),
        )

    def create(
        self, resource: Resource, inputs: Properties, preview: bool
    ) -> tuple[str, Properties]:
        """See `Provider.create`."""
        shape, facts, outputs = self._known(resource)
        planned = outputs.planned(inputs)
        if preview:
            return "", planned
        refused = [problem.text for problem in service_problems(facts, inputs)]
        if refused:
            raise CloudError(f"ValidationException: {'; '.join(refused)}")
        scope = self._scope(shape, inputs)
        self._refuse_request(resource.type, inputs, scope)
        with self.cloud.exclusive():
            self._refuse_second(resource, facts, scope, inputs)
            assigner, resource_id = self._assigner(resource, facts, scope, planned)
            given = outputs.given(planned, assigner)
            if self.control_plane is not None:
                given = self.control_plane.in_cluster(resource.type, given)
            self.cloud.put(Record(resource.type, scope, resource_id, resource.urn, given, inputs))
        return resource_id, given

    def update(
        self,
        resource: Resource,
        resource_id: str,
        old_inputs: Properties,
        old_outputs: Properties,
        new: Properties,
        preview: bool,
    ) -> Properties:
        """See `Provider.update`."""
        shape, facts, outputs = self._known(resource)
        changes = real_changes(facts, self.settings.region, old_inputs, old_outputs, new)
        renewed = renewed_outputs(facts, changes, new)
        kept = outputs.kept(outputs.planned(new), old_outputs, renewed)
        if preview:
            return kept
        scope = self._scope(shape, old_outputs)
        record = self.cloud.find(resource.type, scope, resource_id)
        if record is None:
            raise CloudError(
                f"ResourceNotFoundException: {resource_id} does not exist any more; "
                "run `pulumi refresh` to see what was removed"
            )
        self._refuse_request(resource.type, new, scope)
        seed = resource.urn + hashlib.sha256(repr(plain(new)).encode()).hexdigest()
        assigner = Assigner(
            resource.type, facts, kept, seed, self._region(new), self.settings.account
        )
        given = outputs.given(kept, assigner)
        for name in renewed:
            given[name] = _next(old_outputs.get(name), given[name])
        self.cloud.put(replace(record, properties=given, inputs=new))
        return given

    def read(
        self, resource: Resource, resource_id: str, inputs: Properties, outputs: Properties
    ) -> Found | None:
        """See `Provider.read`."""
        shape, facts, _ = self._known(resource)
        scope = self._scope(shape, outputs or inputs)
        record = self.cloud.find(resource.type, scope, resource_id)
        if record is None:
            return None
        now = dict(record.properties)
        if "tagsAll" in now:
            now["tagsAll"] = tags_now(record.inputs, now)
        return Found(resource_id, inputs_now(shape, facts, inputs or record.inputs, now), now)

    def delete(self, resource: Resource, resource_id: str, outputs: Properties) -> None:
        """See `Provider.delete`."""
        shape, facts, _ = self._known(resource)
        if not facts.kept_on_delete:
            self.cloud.discard(resource.type, self._scope(shape, outputs), resource_id)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """See `Provider.invoke`."""
        bare = plain(arguments)
        region = str(bare.get("region") or self.settings.region)
        found = answer(Asked(token, bare, region, self.settings.account, self.cloud))
        return found if self.control_plane is None else self.control_plane.in_answer(token, found)

    def _refuse_request(self, resource_type: str, inputs: Properties, scope: str) -> None:
        refused = refusals(resource_type, plain(inputs), self.cloud, scope)
        if refused:
            raise CloudError("; ".join(refused))

    def _known(self, resource: Resource) -> tuple[ResourceShape, TypeFacts, Outputs]:
        shape = SDK.shape(resource.type)
        if shape is None:
            raise CloudError(f"{resource.type}: no such type in pulumi-aws {SDK.version}")
        facts = _facts(resource.type)
        settings = self.settings
        return shape, facts, Outputs(shape, facts, settings.region, settings.default_tags)

    def _region(self, properties: Properties) -> str:
        region = plain(properties.get("region"))
        return region if isinstance(region, str) and region else self.settings.region

    def _scope(self, shape: ResourceShape, properties: Properties) -> str:
        """Regional types live in a region, the others in the account as a whole."""
        return self._region(properties) if "region" in shape.outputs else ""

    def _name_is_taken(self, resource_type: str, scope: str, name_property: str, name: str) -> bool:
        records = self.cloud.of_type(resource_type, scope)
        return any(plain(record.properties.get(name_property)) == name for record in records)

    def _assigner(
        self, resource: Resource, facts: TypeFacts, scope: str, planned: Properties
    ) -> tuple[Assigner, str]:
        """An assigner whose id is free in the cloud, and that id."""
        known = {key: value for key, value in planned.items() if not is_unknown(value)}
        region = self._region(known)
        attempt = 0
        while True:
            seed = f"{resource.urn}#{attempt}"
            assigner = Assigner(resource.type, facts, known, seed, region, self.settings.account)
            resource_id = assigner.id()
            taken = self.cloud.find(resource.type, scope, resource_id) is not None
            if not taken or not assigner.id_is_made_up():
                return assigner, resource_id
            attempt += 1

    def _refuse_second(
        self, resource: Resource, facts: TypeFacts, scope: str, inputs: Properties
    ) -> None:
        if facts.idempotent or plain(inputs.get(facts.overwrite)) is True:
            return
        assigner = Assigner(
            resource.type, facts, inputs, resource.urn, self._region(inputs), self.settings.account
        )
        if facts.unique:
            wanted = [plain(inputs.get(name)) for name in facts.unique]
            records = self.cloud.of_type(resource.type, scope)
            clash = any([plain(r.inputs.get(n)) for n in facts.unique] == wanted for r in records)
        elif assigner.id_is_made_up():
            return
        else:
            clash = self.cloud.find(resource.type, scope, assigner.id()) is not None
        if clash:
            fallback = f"AlreadyExistsException: {resource.type} {{id}} already exists"
            raise CloudError(assigner.text(facts.exists or fallback))


def _facts(resource_type: str) -> TypeFacts:
    return facts_of(resource_type) or TypeFacts()


def _next(old: Any, made: Any) -> Any:
    """Versions count up, everything else is made anew."""
    if isinstance(old, int) and not isinstance(old, bool):
        return old + 1
    if isinstance(old, str) and old.isdigit():
        return str(int(old) + 1)
    return made


def settings_of(config: Mapping[str, Any], region: str, account: str) -> AwsSettings:
    """Read a provider configuration; nested values arrive as JSON text."""
    bare = plain(dict(config))
    tags = _parsed(bare.get("defaultTags")) or {}
    allowed = _parsed(bare.get("allowedAccountIds")) or [account]
    return AwsSettings(
        region=str(bare.get("region") or region),
        account=str(allowed[0]),
        default_tags=dict(tags.get("tags") or {}),
    )


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value else value
