"""The SDK's analyzer, which here reads resources once per call and gives each violation a level.

The SDK reads every resource again for each policy, which for 500 resources and 40 policies takes
longer than all else together. This is the one module that reaches into it; `SDK_VERSION` is what it
was written against, and a test fails when another one is installed.
"""

from datetime import date
from typing import Any

import grpc
import pulumi_policy.policy as sdk
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel, Policy, ReportViolation, Severity

from berth.policy_pack.mend import mend
from berth.policy_pack.plain import Properties, plain_properties
from berth.policy_pack.policies import RULE_POLICIES
from berth.policy_pack.request import (
    StackFacts,
    read_configured,
    read_resource,
    read_stack,
    serving,
)
from berth.policy_pack.violations import Violations
from berth.rules.environment import environment_of_stack
from berth.rules.exceptions import EXCEPTIONS_POLICY

SDK_VERSION = "1.21.0"


class BerthAnalyzer(sdk._PolicyAnalyzerServicer):
    """Answers the engine for one stack."""

    def __init__(self, name: str, version: str, policies: list[Policy], *rest: Any) -> None:
        super().__init__(name, version, policies, *rest)
        self._pack = (name, version)
        self._by_name = {policy.name: policy for policy in policies}
        self._facts = StackFacts()
        self._inputs: dict[str, Properties] = {}
        self._exceptions = read_configured({}, date.today())

    def Configure(  # noqa: N802
        self, request: analyzer_pb2.ConfigureAnalyzerRequest, context: grpc.ServicerContext
    ) -> Empty:
        """Take the settings of every policy, exceptions among them."""
        stated = request.policyConfig[EXCEPTIONS_POLICY].properties
        self._exceptions = read_configured(MessageToDict(stated), date.today())
        answer: Empty = super().Configure(request, context)  # type: ignore[no-untyped-call]
        return answer

    def ConfigureStack(  # noqa: N802
        self, request: analyzer_pb2.AnalyzerStackConfigureRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzerStackConfigureResponse:
        """Take what the engine says of the stack; levels of a production stack follow from it."""
        self._facts = StackFacts(
            stack=request.stack,
            environment_setting=request.config.get("berth:environment"),
            budget_setting=request.config.get("berth:budget"),
            tags=tuple(request.tags.values()),
        )
        environment = environment_of_stack(
            setting=self._facts.environment_setting,
            stack=self._facts.stack,
            tags=self._facts.tags,
        )
        for policy in self._by_name.values():
            if isinstance(policy, RULE_POLICIES):
                policy.enforcement_level = EnforcementLevel(policy.rule.level_in(environment))
        answer: analyzer_pb2.AnalyzerStackConfigureResponse = super().ConfigureStack(
            request, context
        )
        return answer

    def Analyze(  # noqa: N802
        self, request: analyzer_pb2.AnalyzeRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzeResponse:
        """Judge the inputs of one resource."""
        inputs = plain_properties(request.properties)
        self._inputs[request.urn] = inputs  # four threads serve; each writes keys of its own
        with serving(read_resource(request, inputs, self._facts, self._exceptions)):
            bare = analyzer_pb2.AnalyzeRequest(
                type=request.type, name=request.name, urn=request.urn
            )
            answer: analyzer_pb2.AnalyzeResponse = super().Analyze(  # type: ignore[no-untyped-call]
                bare, context
            )
        return answer

    def AnalyzeStack(  # noqa: N802
        self, request: analyzer_pb2.AnalyzeStackRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.AnalyzeResponse:
        """Judge all resources: the inputs that were seen before, and the outputs."""
        asked = read_stack(request.resources, self._inputs, self._facts, self._exceptions)
        with serving(asked):
            answer: analyzer_pb2.AnalyzeResponse = super().AnalyzeStack(  # type: ignore[no-untyped-call]
                analyzer_pb2.AnalyzeStackRequest(), context
            )
        return answer

    def Remediate(  # noqa: N802
        self, request: analyzer_pb2.AnalyzeRequest, context: grpc.ServicerContext
    ) -> analyzer_pb2.RemediateResponse:
        """Mend one resource by the policies whose level is `remediate`, each after the other.

        The SDK's own way shows unknown values as texts and can lose what is secret.
        """
        response = analyzer_pb2.RemediateResponse()
        name, version = self._pack
        properties, accepted = request.properties, self._exceptions.accepted
        for policy in self._by_name.values():
            level = self._get_enforcement_level(policy)
            if level != EnforcementLevel.REMEDIATE or not isinstance(policy, RULE_POLICIES):
                continue
            config = self._get_policy_config(policy.name)
            try:
                mended = mend(policy.rule, request, properties, config, accepted)
                problem = ""
            except Exception as error:  # a deployment must not fail on a bug of ours
                mended, problem = None, f"{policy.name}: not mended: {type(error).__name__}"
            if mended is None and not problem:
                continue
            properties = mended or properties
            response.remediations.append(
                analyzer_pb2.Remediation(
                    policyName=policy.name,
                    policyPackName=name,
                    policyPackVersion=version,
                    description=policy.description,
                    properties=mended,
                    diagnostic=problem,
                )
            )
        return response

    def _create_report_violation(
        self,
        response: analyzer_pb2.AnalyzeResponse,
        policy_name: str,
        policy_description: str,
        enforcement_level: EnforcementLevel,
        severity: Severity | None = None,
    ) -> ReportViolation:
        report = super()._create_report_violation(
            response, policy_name, policy_description, enforcement_level, severity
        )
        is_default = enforcement_level == self._by_name[policy_name].enforcement_level
        return Violations(response, report, level_is_chosen=not is_default)


def install() -> None:
    """Have `PolicyPack` serve with `BerthAnalyzer`."""
    sdk._PolicyAnalyzerServicer = BerthAnalyzer  # type: ignore[misc,assignment]
