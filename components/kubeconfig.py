"""How Pulumi and people reach an EKS cluster."""

import pulumi


def kubeconfig(
    name: pulumi.Input[str],
    endpoint: pulumi.Input[str],
    certificate_authority: pulumi.Input[str],
    region: str,
) -> pulumi.Output[str]:
    """A kubeconfig, in JSON, whose user is a call of the AWS CLI: it never holds a token.

    Source:
        https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html
    """
    return pulumi.Output.json_dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": name,
                    "cluster": {
                        "server": endpoint,
                        "certificate-authority-data": certificate_authority,
                    },
                }
            ],
            "users": [{"name": name, "user": {"exec": _token_command(name, region)}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
    )


def _token_command(name: pulumi.Input[str], region: str) -> dict[str, object]:
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": [
            "eks",
            "get-token",
            "--cluster-name",
            name,
            "--region",
            region,
            "--output",
            "json",
        ],
        "interactiveMode": "Never",
    }
