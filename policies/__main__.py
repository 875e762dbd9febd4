"""The policy pack. It serves until the engine ends it, so nothing may import this module."""

from pulumi_policy import PolicyPack

from berth.policy_pack.analyzer import install
from berth.policy_pack.policies import make_policies
from berth.rules.registry import RULES

install()
PolicyPack(
    name="berth",
    description="Known mistakes of GPU inference on Kubernetes, each with the value that fixes it",
    policies=make_policies(RULES),
)
