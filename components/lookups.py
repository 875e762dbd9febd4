"""Questions to the aws provider, asked all at once and given up after seconds."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import resource_pb2, resource_pb2_grpc
from pulumi.runtime.settings import get_monitor
from pulumi_aws._utilities import get_version

from berth.planner.account_words import Unread, unread

DEADLINE_S: Final = 20
"""The provider itself tries for many minutes; its own start is within the time."""
MOST_AT_ONCE: Final = 8

Answer = Mapping[str, Any]
"""As the provider spells it: camelCase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One function of the aws provider."""

    function: str
    """Its token, such as `aws:ec2/getSubnet:getSubnet`."""
    arguments: Mapping[str, Any]
    action: str
    """What it takes of IAM, such as `ec2:DescribeSubnets`."""


def ask(questions: Mapping[str, Question]) -> Mapping[str, Answer | Unread]:
    """The answer to each question, or why there is none; within the deadline.

    The provider is the default one, with the region of each question; what would give it another
    account than the resources have is refused in a stack file.
    """
    if not questions:
        return {}
    monitor = get_monitor()
    with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as pool:
        asked = {key: pool.submit(_ask, monitor, each) for key, each in questions.items()}
        return {key: each.result() for key, each in asked.items()}


def _ask(monitor: Any, question: Question) -> Answer | Unread:
    # Not the SDK's own `invoke`: it takes no deadline, and a program waits for it to the end.
    request = resource_pb2.ResourceInvokeRequest(
        tok=question.function,
        args=json_format.ParseDict(question.arguments, struct_pb2.Struct()),
        version=get_version(),
        acceptResources=True,
    )
    # Pulumi's mocks are no stub, and know no deadline.
    is_engine = isinstance(monitor, resource_pb2_grpc.ResourceMonitorStub)
    limit = {"timeout": DEADLINE_S} if is_engine else {}
    try:
        response = monitor.Invoke(request, **limit)
    except grpc.RpcError as error:
        return unread(_words(error), question.action)
    except Exception as error:  # what a mock raises
        return unread(str(error), question.action)
    if response.failures:
        return unread("; ".join(each.reason for each in response.failures), question.action)
    answer: Answer = json_format.MessageToDict(getattr(response, "return"))  # a keyword in Python
    return answer


def _words(error: grpc.RpcError) -> str:
    """What the engine says of the failure; of a gRPC error only a call knows it."""
    if not isinstance(error, grpc.Call):
        return str(error)
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        return "deadline exceeded"
    return error.details() or error.code().name
