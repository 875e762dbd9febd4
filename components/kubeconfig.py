"""How Pulumi and people reach a new EKS cluster."""

import pulumi
import pulumi_aws as aws


def kubeconfig(cluster: aws.eks.Cluster, region: str) -> pulumi.Output[str]:
    """A kubeconfig, in JSON, whose user is a call of the AWS CLI; unknown until the cluster exists.

    Source:
        https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html
    """
    return pulumi.Output.json_dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": cluster.name,
                    "cluster": {
                        "server": cluster.endpoint,
                        "certificate-authority-data": cluster.certificate_authority.apply(
                            lambda authority: authority.data
                        ),
                    },
                }
            ],
            "users": [{"name": cluster.name, "user": {"exec": _token_command(cluster, region)}}],
            "contexts": [
                {
                    "name": cluster.name,
                    "context": {"cluster": cluster.name, "user": cluster.name},
                }
            ],
            "current-context": cluster.name,
        }
    )


def _token_command(cluster: aws.eks.Cluster, region: str) -> dict[str, object]:
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": [
            "eks",
            "get-token",
            "--cluster-name",
            cluster.name,
            "--region",
            region,
            "--output",
            "json",
        ],
        "interactiveMode": "Never",
    }
