"""A stand-in for the Pulumi engine that keeps what was declared."""

from collections.abc import Callable
from typing import Any, NoReturn

import pulumi
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs

CLUSTER_OUTPUTS = {
    "arn": "arn:aws:eks:us-east-1:111122223333:cluster/berth",
    "endpoint": "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com",
    "certificateAuthority": {"data": "Q0VSVA=="},
    "name": "berth-1a2b3c4",
}


class RecordingEngine(pulumi.runtime.Mocks):
    """Answers every registration with its own inputs and keeps them for the test."""

    def __init__(self) -> None:
        self.declared: list[MockResourceArgs] = []

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.declared.append(args)
        outputs = dict(args.inputs)
        if args.typ == "aws:eks/cluster:Cluster":
            outputs = CLUSTER_OUTPUTS | outputs
        if args.typ == "aws:ec2/launchTemplate:LaunchTemplate":
            outputs["latestVersion"] = 3
        return f"{args.name}-id", outputs

    def call(self, args: MockCallArgs) -> NoReturn:
        raise AssertionError(f"unexpected lookup {args.token}: components take facts as arguments")

    def inputs_of(self, token: str, name: str | None = None) -> list[dict[str, Any]]:
        return [
            resource.inputs
            for resource in self.declared
            if resource.typ == token and name in (None, resource.name)
        ]

    def one(self, token: str, name: str | None = None) -> dict[str, Any]:
        (inputs,) = self.inputs_of(token, name)
        return inputs

    def names(self) -> set[tuple[str, str]]:
        return {(resource.typ, resource.name) for resource in self.declared}


def declare(build: Callable[[], object]) -> RecordingEngine:
    """What `build` declares, once all registrations have landed."""
    engine = RecordingEngine()
    pulumi.runtime.set_mocks(engine)

    @pulumi.runtime.test
    def run() -> None:
        build()

    run()
    return engine
