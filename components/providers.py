"""The providers of a stack, made by hand so that nothing depends on the caller's defaults.

Only `aws:profile` is taken from Pulumi's configuration, since the look-ups follow it as well: both
must be in one account.
"""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from berth.config.stack import ExistingCluster
from berth.planner.plan import EksClusterFacts
from components.cluster import Cluster
from components.kubeconfig import kubeconfig


def aws_provider(
    name: str, region: str, tags: Mapping[str, str], parent: pulumi.Resource
) -> aws.Provider:
    """AWS in one region; every resource that can carry tags carries these."""
    return aws.Provider(
        name,
        region=region,
        profile=pulumi.Config("aws").get("profile"),
        default_tags=aws.ProviderDefaultTagsArgs(tags=dict(tags)),
        opts=pulumi.ResourceOptions(parent=parent),
    )


def new_cluster_provider(
    name: str, cluster: Cluster, parent: pulumi.Resource
) -> kubernetes.Provider:
    """The cluster that this stack makes; its ARN alone says whether it is still the same one."""
    return kubernetes.Provider(
        name,
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.arn,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def eks_cluster_provider(
    name: str, cluster: EksClusterFacts, region: str, parent: pulumi.Resource
) -> kubernetes.Provider:
    """An EKS cluster that exists, by what its account says about it."""
    return kubernetes.Provider(
        name,
        kubeconfig=kubeconfig(
            cluster.name, cluster.endpoint, cluster.certificate_authority, region
        ),
        cluster_identifier=cluster.arn,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def existing_cluster_provider(
    name: str, cluster: ExistingCluster, parent: pulumi.Resource
) -> kubernetes.Provider:
    """A cluster that exists, by one context of a kubeconfig file."""
    return kubernetes.Provider(
        name,
        kubeconfig=cluster.kubeconfig,
        context=cluster.context,
        opts=pulumi.ResourceOptions(parent=parent),
    )
