"""The stand-in providers, spoken to as the engine does: over gRPC, in protocol messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from berth.offline.cloud import Cloud
from berth.offline.providers import OfflineProviders
from berth.offline.values import Properties, from_struct, plain, to_struct


@dataclass(frozen=True)
class Engine:
    """One connection to one provider, configured."""

    stub: Any
    cloud: Cloud

    @staticmethod
    def urn(resource_type: str, name: str) -> str:
        return f"urn:pulumi:dev::p::{resource_type}::{name}"

    def check(
        self, resource_type: str, news: Properties, name: str = "x", olds: Properties | None = None
    ) -> tuple[Properties, list[str]]:
        request = provider_pb2.CheckRequest(
            urn=self.urn(resource_type, name), type=resource_type, name=name, news=to_struct(news)
        )
        if olds is not None:
            request.olds.CopyFrom(to_struct(olds))
        response = self.stub.Check(request)
        return from_struct(response.inputs), [failure.reason for failure in response.failures]

    def problems(self, resource_type: str, news: Properties, name: str = "x") -> list[str]:
        return self.check(resource_type, news, name)[1]

    def preview(self, resource_type: str, news: Properties, name: str = "x") -> Properties:
        inputs, _ = self.check(resource_type, news, name)
        return self._create(resource_type, inputs, name, preview=True)[1]

    def create(
        self, resource_type: str, news: Properties, name: str = "x"
    ) -> tuple[str, Properties]:
        inputs, problems = self.check(resource_type, news, name)
        assert problems == []
        return self._create(resource_type, inputs, name, preview=False)

    def _create(
        self, resource_type: str, inputs: Properties, name: str, *, preview: bool
    ) -> tuple[str, Properties]:
        response = self.stub.Create(
            provider_pb2.CreateRequest(
                urn=self.urn(resource_type, name),
                type=resource_type,
                name=name,
                properties=to_struct(inputs),
                preview=preview,
            )
        )
        return response.id, from_struct(response.properties)

    def diff(
        self,
        resource_type: str,
        old: Properties,
        new: Properties,
        outputs: Properties | None = None,
    ) -> Any:
        """The answer to a change from checked `old` to checked `new`."""
        before, _ = self.check(resource_type, old)
        after, _ = self.check(resource_type, new, olds=before)
        return self.stub.Diff(
            provider_pb2.DiffRequest(
                id="id",
                urn=self.urn(resource_type, "x"),
                type=resource_type,
                name="x",
                old_inputs=to_struct(before),
                olds=to_struct(outputs or before),
                news=to_struct(after),
            )
        )

    def update(
        self,
        resource_type: str,
        resource_id: str,
        olds: tuple[Properties, Properties],
        news: Properties,
        *,
        preview: bool = False,
    ) -> Properties:
        """Update from `olds`, its inputs and outputs."""
        inputs, _ = self.check(resource_type, news, olds=olds[0])
        response = self.stub.Update(
            provider_pb2.UpdateRequest(
                id=resource_id,
                urn=self.urn(resource_type, "x"),
                type=resource_type,
                name="x",
                old_inputs=to_struct(olds[0]),
                olds=to_struct(olds[1]),
                news=to_struct(inputs),
                preview=preview,
            )
        )
        return from_struct(response.properties)

    def read(self, resource_type: str, resource_id: str, **known: Properties) -> Any:
        return self.stub.Read(
            provider_pb2.ReadRequest(
                id=resource_id,
                urn=self.urn(resource_type, "x"),
                type=resource_type,
                name="x",
                inputs=to_struct(known.get("inputs", {})),
                properties=to_struct(known.get("outputs", {})),
            )
        )

    def delete(self, resource_type: str, resource_id: str) -> None:
        self.stub.Delete(
            provider_pb2.DeleteRequest(
                id=resource_id, urn=self.urn(resource_type, "x"), type=resource_type, name="x"
            )
        )

    def invoke(self, token: str, arguments: Properties | None = None) -> Properties:
        response = self.stub.Invoke(
            provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments or {}))
        )
        found: Properties = plain(from_struct(getattr(response, "return")))
        return found


@dataclass(frozen=True)
class Providers:
    """Both providers, running; every call of `connect` is a provider of its own."""

    running: OfflineProviders
    channels: list[grpc.Channel]

    def connect(self, package: str, config: Properties) -> Engine:
        ports = dict(pair.split(":") for pair in self.running.debug_providers.split(","))
        # channels to one address share a connection unless told otherwise
        options = [("grpc.use_local_subchannel_pool", 1)]
        channel = grpc.insecure_channel(f"127.0.0.1:{ports[package]}", options=options)
        self.channels.append(channel)
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Configure(provider_pb2.ConfigureRequest(args=to_struct(config)))
        return Engine(stub, self.running.cloud)


@pytest.fixture
def providers(tmp_path: Path) -> Iterator[Providers]:
    with OfflineProviders(tmp_path / "state") as running:
        found = Providers(running, [])
        yield found
        for channel in found.channels:
            channel.close()


@pytest.fixture
def aws(providers: Providers) -> Engine:
    tags = '{"tags": {"owner": "platform"}}'
    return providers.connect("aws", {"region": "us-east-1", "defaultTags": tags})


@pytest.fixture
def kubernetes(providers: Providers) -> Engine:
    return providers.connect("kubernetes", {"context": "one"})
