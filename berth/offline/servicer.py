"""The gRPC service that the engine speaks to: protocol messages to Python values and back."""

# ruff: noqa: N802 -- the protocol names the methods

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from berth.offline.changes import Change
from berth.offline.checks import Problem
from berth.offline.provider import (
    CloudError,
    Difference,
    Naming,
    Provider,
    Resource,
    UnsupportedError,
)
from berth.offline.values import Properties, from_struct, has_secret, redacted, to_struct

_KINDS = {"add": "ADD", "delete": "DELETE", "update": "UPDATE"}


@dataclass(frozen=True)
class Package:
    """What the service needs to know of a package besides a configured provider."""

    name: str
    version: str
    configure: Callable[[Properties], Provider]
    check_config: Callable[[Properties], tuple[Properties, list[Problem]]]
    diff_config: Callable[[Properties, Properties], Difference]
    schema: Callable[[], str]
    components: str
    """Why a component of the package cannot be made offline."""


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Serves one package.

    The engine connects once per provider, so a connection stands for a configuration.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self._providers: dict[str, Provider] = {}
        self._lock = threading.Lock()

    def Handshake(self, request: Any, context: Any) -> Any:
        """What the service can take: secrets, references and output values as such."""
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True,
            accept_resources=True,
            accept_outputs=True,
            supports_autonaming_configuration=True,
        )

    def Attach(self, request: Any, context: Any) -> Any:
        """The engine says that it is there; nothing to do."""
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        """The version that the programs were written against."""
        return plugin_pb2.PluginInfo(version=self._package.version)

    def GetSchema(self, request: Any, context: Any) -> Any:
        """A schema for tools that generate code."""
        return provider_pb2.GetSchemaResponse(schema=self._package.schema())

    def GetMapping(self, request: Any, context: Any) -> Any:
        """No other ecosystem is mapped."""
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Any) -> Any:
        """No other ecosystem is mapped."""
        return provider_pb2.GetMappingsResponse()

    def Cancel(self, request: Any, context: Any) -> Any:
        """Nothing here takes long enough to be cancelled."""
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:
        """Look at a provider configuration."""
        inputs, problems = self._package.check_config(from_struct(request.news))
        return self._checked(f"{self._package.name} provider", inputs, problems)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        """Whether another configuration is another provider."""
        old = request.old_inputs if request.HasField("old_inputs") else request.olds
        return _diff_response(
            self._package.diff_config(from_struct(old), from_struct(request.news))
        )

    def Configure(self, request: Any, context: Any) -> Any:
        """Make the provider of this connection."""
        config = from_struct(request.args)
        if not config:
            prefix = f"{self._package.name}:config:"
            config = {key.removeprefix(prefix): text for key, text in request.variables.items()}
        with self._lock:
            self._providers[context.peer()] = self._package.configure(config)
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True,
            supportsPreview=True,
            acceptResources=True,
            acceptOutputs=True,
            supports_autonaming_configuration=True,
        )

    def Check(self, request: Any, context: Any) -> Any:
        """Fill in and judge the inputs of a resource."""
        resource = _resource(request)
        old = from_struct(request.olds) if request.HasField("olds") else None
        with _refusals(context):
            inputs, problems = self._provider(context).check(
                resource, old or None, from_struct(request.news), _naming(request)
            )
            return self._checked(f"{resource.type} {resource.name}", inputs, problems)

    def Diff(self, request: Any, context: Any) -> Any:
        """What new inputs would do to a resource."""
        resource = _resource(request)
        with _refusals(context):
            return _diff_response(
                self._provider(context).diff(
                    resource,
                    from_struct(request.old_inputs),
                    from_struct(request.olds),
                    from_struct(request.news),
                )
            )

    def Create(self, request: Any, context: Any) -> Any:
        """Make a resource, or say what one would show."""
        properties = from_struct(request.properties)
        with _refusals(context, properties):
            resource_id, outputs = self._provider(context).create(
                _resource(request), properties, request.preview
            )
            return provider_pb2.CreateResponse(id=resource_id, properties=to_struct(outputs))

    def Read(self, request: Any, context: Any) -> Any:
        """Look at a resource."""
        with _refusals(context):
            found = self._provider(context).read(
                _resource(request),
                request.id,
                from_struct(request.inputs),
                from_struct(request.properties),
            )
            if found is None:
                return provider_pb2.ReadResponse()
            return provider_pb2.ReadResponse(
                id=found.id, inputs=to_struct(found.inputs), properties=to_struct(found.outputs)
            )

    def Update(self, request: Any, context: Any) -> Any:
        """Change a resource in place, or say what it would show."""
        properties = from_struct(request.news)
        with _refusals(context, properties):
            outputs = self._provider(context).update(
                _resource(request),
                request.id,
                from_struct(request.old_inputs),
                from_struct(request.olds),
                properties,
                request.preview,
            )
            return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Delete(self, request: Any, context: Any) -> Any:
        """Remove a resource."""
        with _refusals(context):
            self._provider(context).delete(
                _resource(request), request.id, from_struct(request.properties)
            )
            return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        """Answer a look-up."""
        with _refusals(context):
            answer = self._provider(context).invoke(request.tok, from_struct(request.args))
            response = provider_pb2.InvokeResponse()
            getattr(response, "return").CopyFrom(to_struct(answer))  # a keyword in Python
            return response

    def Construct(self, request: Any, context: Any) -> Any:
        """Refuse a component."""
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            self._package.components,
        )

    def Call(self, request: Any, context: Any) -> Any:
        """Refuse a method."""
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            f"{request.tok}: methods need the real {self._package.name} provider",
        )

    def _provider(self, context: Any) -> Provider:
        with self._lock:
            provider = self._providers.get(context.peer())
            if provider is None and len(self._providers) == 1:
                (provider,) = self._providers.values()
        if provider is None:
            raise CloudError(f"{self._package.name}: asked before it was configured")
        return provider

    def _checked(self, where: str, inputs: Properties, problems: list[Problem]) -> Any:
        failures = [
            provider_pb2.CheckFailure(
                # the engine prints the property's value beside the reason
                property="" if has_secret(inputs.get(problem.property)) else problem.property,
                reason=redacted(f"{where}: {problem.text}", inputs),
            )
            for problem in problems
        ]
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=failures)


@contextmanager
def _refusals(context: Any, properties: Properties | None = None) -> Iterator[None]:
    """Turns what the pretended cloud refuses into a gRPC status, and nothing into a traceback."""
    code = detail = None
    try:
        yield
    except UnsupportedError as error:
        code, detail = grpc.StatusCode.UNIMPLEMENTED, str(error)
    except CloudError as error:
        code, detail = grpc.StatusCode.INVALID_ARGUMENT, str(error)
    except Exception as error:  # the engine shows one line, whatever went wrong
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        code = grpc.StatusCode.INTERNAL
        detail = f"offline provider: {type(error).__name__}: {error} ({where}); please report it"
    if code is not None:
        context.abort(code, redacted(detail or "", properties))


def _resource(request: Any) -> Resource:
    urn = request.urn
    parts = urn.split("::")
    resource_type = request.type or parts[2].rpartition("$")[2]
    return Resource(urn, resource_type, request.name or "::".join(parts[3:]))


def _naming(request: Any) -> Naming:
    if not request.HasField("autonaming"):
        return Naming()
    modes = provider_pb2.CheckRequest.AutonamingOptions
    if request.autonaming.mode == modes.DISABLE:
        return Naming(disabled=True)
    return Naming(proposed=request.autonaming.proposed_name)


def _diff_response(difference: Difference) -> Any:
    message = provider_pb2.DiffResponse
    if not difference.changes:
        return message(changes=message.DIFF_NONE, hasDetailedDiff=True)
    replacing = {change.path for change in difference.replacing}
    return message(
        changes=message.DIFF_SOME,
        replaces=_tops(difference.replacing),
        diffs=_tops(difference.changes),
        deleteBeforeReplace=difference.deletes_first,
        hasDetailedDiff=True,
        detailedDiff=_detailed(difference.changes, replacing),
    )


def _tops(changes: tuple[Change, ...]) -> list[str]:
    return sorted({str(change.path[0]) for change in changes})


def _detailed(changes: tuple[Change, ...], replacing: set[Any]) -> Mapping[str, Any]:
    kinds = provider_pb2.PropertyDiff
    return {
        change.text: kinds(
            kind=kinds.Kind.Value(
                _KINDS[change.kind] + ("_REPLACE" if change.path in replacing else "")
            ),
            inputDiff=change.in_inputs,
        )
        for change in changes
    }
