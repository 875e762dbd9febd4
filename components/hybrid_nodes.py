"""Hosts of one's own that join the cluster from outside AWS."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_aws as aws

from berth.config.stack import HybridConfig
from berth.planner.plan import PoolPlan
from components import naming

ROLE_POLICIES: Final = ("AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")
"""Pull images; prove itself by SSM. Source:
https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-creds.html"""
MOST_REGISTRATIONS: Final = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class HybridNodesArgs:
    """Plain values come from the plan, `Input`s from other resources."""

    config: HybridConfig
    pools: Mapping[str, PoolPlan]
    """Only those whose hosts are hybrid."""
    cluster_name: pulumi.Input[str]
    region: str
    partition: str
    stack: str


class HybridNodes(pulumi.ComponentResource):
    """A role for the hosts, their access entry, and what they prove themselves with.

    Nothing here makes a host: `node_configs` holds a file for each, which its owner gives to
    `nodeadm init`. Hosts run Ubuntu with the amdgpu driver, and Cilium as their network.
    """

    node_configs: pulumi.Output[Mapping[str, Mapping[str, str]]]
    """By tier and host: nodeadm's NodeConfig in JSON, secret where it holds an activation code."""

    def __init__(
        self, name: str, args: HybridNodesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("berth:index:HybridNodes", name, None, opts)
        self._child = pulumi.ResourceOptions(parent=self)
        anywhere = args.config.roles_anywhere is not None
        role = self._role(name, args, anywhere)
        entry = aws.eks.AccessEntry(
            name,
            cluster_name=args.cluster_name,
            principal_arn=role.arn,
            type="HYBRID_LINUX",
            opts=self._child,
        )
        proof = (
            self._certificates(name, args, role)
            if anywhere
            else self._activations(name, args, role)
        )
        cluster = {"name": args.cluster_name, "region": args.region}
        self.node_configs = pulumi.Output.all(cluster=cluster, proof=proof, ready=entry.id).apply(
            lambda values: node_configs(args.pools, values["cluster"], values["proof"])
        )
        self.register_outputs({"node_configs": self.node_configs})

    def _role(self, name: str, args: HybridNodesArgs, anywhere: bool) -> aws.iam.Role:
        service = "rolesanywhere.amazonaws.com" if anywhere else "ssm.amazonaws.com"
        actions = ["sts:AssumeRole"]
        if anywhere:
            actions += ["sts:SetSourceIdentity", "sts:TagSession"]
        statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": actions}
        role = aws.iam.Role(
            name,
            assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
            tags=naming.name_tag(args.stack, "hybrid"),
            opts=self._child,
        )
        for policy in ROLE_POLICIES[:1] if anywhere else ROLE_POLICIES:
            aws.iam.RolePolicyAttachment(
                naming.resource_name(name, policy),
                role=role.name,
                policy_arn=f"arn:{args.partition}:iam::aws:policy/{policy}",
                opts=self._child,
            )
        describe = {"Effect": "Allow", "Action": ["eks:DescribeCluster"], "Resource": "*"}
        aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=json.dumps({"Version": "2012-10-17", "Statement": [describe]}),
            opts=self._child,
        )
        return role

    def _activations(
        self, name: str, args: HybridNodesArgs, role: aws.iam.Role
    ) -> Mapping[str, Any]:
        """One activation per tier, for as many hosts as it has; valid for a day."""
        proofs = {}
        for tier, pool in args.pools.items():
            activation = aws.ssm.Activation(
                naming.resource_name(name, tier),
                iam_role=role.name,
                registration_limit=min(pool.max_nodes, MOST_REGISTRATIONS),
                tags={
                    **naming.tier_tags(tier),
                    **naming.owner_tags(pool.ownership.owner, pool.ownership.cost_center),
                },
                opts=pulumi.ResourceOptions(
                    parent=self, additional_secret_outputs=["activationCode"]
                ),
            )
            proofs[tier] = {
                "ssm": {
                    "activationId": activation.id,
                    "activationCode": pulumi.Output.secret(activation.activation_code),
                }
            }
        return proofs

    def _certificates(
        self, name: str, args: HybridNodesArgs, role: aws.iam.Role
    ) -> Mapping[str, Any]:
        authority = args.config.roles_anywhere
        if authority is None:
            raise ValueError("hybrid nodes with certificates need an authority")
        anchor = aws.rolesanywhere.TrustAnchor(
            name,
            enabled=True,
            source=aws.rolesanywhere.TrustAnchorSourceArgs(
                source_type="CERTIFICATE_BUNDLE",
                source_data=aws.rolesanywhere.TrustAnchorSourceSourceDataArgs(
                    x509_certificate_data=authority.ca_certificate_pem
                ),
            ),
            opts=self._child,
        )
        profile = aws.rolesanywhere.Profile(
            name,
            enabled=True,
            accept_role_session_name=True,
            role_arns=[role.arn],
            opts=self._child,
        )
        proof = {
            "iamRolesAnywhere": {
                "trustAnchorArn": anchor.arn,
                "profileArn": profile.arn,
                "roleArn": role.arn,
            }
        }
        return dict.fromkeys(args.pools, proof)


def node_configs(
    pools: Mapping[str, PoolPlan], cluster: Mapping[str, str], proof: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """A NodeConfig for each host of each tier, `TIER-1` and on."""
    return {
        tier: {
            host: json.dumps(_node_config(host, pool, cluster, proof[tier]), indent=2)
            for host in (f"{tier}-{number}" for number in range(1, pool.max_nodes + 1))
        }
        for tier, pool in pools.items()
    }


def _node_config(
    host: str, pool: PoolPlan, cluster: Mapping[str, str], proof: Mapping[str, Any]
) -> dict[str, Any]:
    """As `nodeadm` reads it.

    Source:
        https://docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-nodeadm.html
    """
    hybrid = dict(proof)
    if "iamRolesAnywhere" in hybrid:
        hybrid["iamRolesAnywhere"] = {
            "nodeName": host,
            **hybrid["iamRolesAnywhere"],
            "certificatePath": "/etc/iam/pki/server.pem",
            "privateKeyPath": "/etc/iam/pki/server.key",
        }
    labels = naming.node_labels("gpu", pool.tier, pool.accelerator)
    taint = f"{naming.GPU_TAINT_KEY[pool.gpu_vendor]}={naming.GPU_TAINT_VALUE}:NoSchedule"
    return {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": dict(cluster),
            "hybrid": hybrid,
            "kubelet": {
                "flags": [
                    f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}",
                    f"--register-with-taints={taint}",
                ]
            },
        },
    }
