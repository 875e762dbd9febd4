"""A real API server that answers for every EKS cluster of the pretended cloud."""

from dataclasses import dataclass
from typing import Final

from berth.offline.values import Properties

CLUSTER: Final = "aws:eks/cluster:Cluster"
GET_CLUSTER: Final = "aws:eks/getCluster:getCluster"


@dataclass(frozen=True, slots=True)
class ControlPlaneAddress:
    """Where an API server is, and what it proves itself with."""

    endpoint: str
    certificate_authority: str
    """In base64, as EKS gives it."""

    def in_cluster(self, resource_type: str, outputs: Properties) -> Properties:
        """The outputs of a resource, with this address if it is a cluster."""
        if resource_type != CLUSTER:
            return outputs
        authority = {"data": self.certificate_authority}
        return {**outputs, "endpoint": self.endpoint, "certificateAuthority": authority}

    def in_answer(self, token: str, answer: Properties) -> Properties:
        """The answer of a look-up, with this address if it is about a cluster."""
        if token != GET_CLUSTER:
            return answer
        authorities = [{"data": self.certificate_authority}]
        return {**answer, "endpoint": self.endpoint, "certificateAuthorities": authorities}
