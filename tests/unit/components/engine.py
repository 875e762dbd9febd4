"""A stand-in for the Pulumi engine that keeps what was declared."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest import mock

import pulumi
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs

CLUSTER_OUTPUTS: dict[str, Any] = {
    "arn": "arn:aws:eks:us-east-1:111122223333:cluster/berth-1a2b3c4",
    "endpoint": "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com",
    "certificateAuthority": {"data": "Q0VSVA=="},
    "name": "berth-1a2b3c4",
    "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16"},
}


VPC_OUTPUTS = {"vpcId": "vpc-1", "clusterSecurityGroupId": "sg-cluster"}


class RecordingEngine(pulumi.runtime.Mocks):
    """Answers every registration with its own inputs and keeps them for the test."""

    def __init__(self) -> None:
        self.declared: list[MockResourceArgs] = []

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.declared.append(args)
        outputs = dict(args.inputs)
        if args.typ == "aws:eks/cluster:Cluster":
            outputs = CLUSTER_OUTPUTS | outputs
            outputs["vpcConfig"] = VPC_OUTPUTS | outputs.get("vpcConfig", {})
        if args.typ == "aws:eks/nodeGroup:NodeGroup":
            outputs["resources"] = [{"autoscalingGroups": [{"name": f"eks-{args.name}-0a1b"}]}]
        if args.typ == "aws:ec2/launchTemplate:LaunchTemplate":
            outputs["latestVersion"] = 3
        return f"{args.name}-id", outputs

    def call(self, args: MockCallArgs) -> NoReturn:
        raise AssertionError(f"unexpected lookup {args.token}: components take facts as arguments")

    def all(self, token: str) -> dict[str, dict[str, Any]]:
        """Inputs of every resource of a type, by name."""
        return {each.name: each.inputs for each in self.declared if each.typ == token}

    def one(self, token: str, name: str | None = None) -> dict[str, Any]:
        """Inputs of the only resource of a type, or of the one called `name`."""
        found = self.all(token)
        if name is not None:
            return found[name]
        (inputs,) = found.values()
        return inputs

    def identities(self) -> list[tuple[str, str]]:
        """Type and name of everything, in no order."""
        return [(each.typ, each.name) for each in self.declared]


def declare(
    build: Callable[[], object], engine: RecordingEngine | None = None, stack: str = "h100-prod"
) -> RecordingEngine:
    """What `build` declares, once all registrations have landed."""
    engine = engine or RecordingEngine()
    with _closed_loops():
        pulumi.runtime.set_mocks(engine, project="berth", stack=stack)
        pulumi.runtime.test(build)()  # type: ignore[no-untyped-call]  # the SDK has no types here
    return engine


@contextmanager
def _closed_loops() -> Iterator[None]:
    """Close the event loops that Pulumi makes in each thread and leaves to the collector."""
    made: list[asyncio.AbstractEventLoop] = []
    make = asyncio.new_event_loop

    def make_and_note() -> asyncio.AbstractEventLoop:
        made.append(make())
        return made[-1]

    with mock.patch.object(asyncio, "new_event_loop", make_and_note):
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            yield
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            for each in made:
                each.close()
