"""The pack as the engine talks to it, without the engine."""

import inspect
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any
from unittest import mock

import pulumi_policy.policy as sdk
import pytest
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import proxy

from berth.costs.guardrails import BUDGET_EXCEEDED
from berth.policy_pack import request as request_module
from berth.policy_pack.analyzer import SDK_VERSION, BerthAnalyzer
from berth.policy_pack.plain import plain_properties
from berth.policy_pack.policies import make_policies
from berth.rules.exceptions import EXCEPTIONS_POLICY
from berth.rules.finding import split_message
from tests.unit.policy_pack.engine import (
    CONTEXT,
    LEVEL_NAMES,
    RULES,
    analyze,
    analyze_stack,
    analyzer,
    configure,
    info_of,
    levels_of,
    secret,
)
from tests.unit.rules.stacks import ABSENT, container, gpus, node_group, pod_spec

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def pod(**changes: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": pod_spec(container(**changes))}}}


UNPINNED = pod(image="vllm/vllm-openai:latest")
UNTAINTED = (NODE_GROUP, "pool", node_group(taints=[]).props)
INTOLERANT = (DEPLOYMENT, "chat", {"spec": {"template": {"spec": pod_spec(tolerations=[])}}})
TAINTED = (NODE_GROUP, "pool", node_group().props)


def test_the_sdk_is_the_one_that_the_analyzer_was_written_against() -> None:
    parameters = inspect.signature(sdk._PolicyAnalyzerServicer._create_report_violation).parameters

    assert version("pulumi-policy") == SDK_VERSION
    assert list(parameters) == [
        "self",
        "response",
        "policy_name",
        "policy_description",
        "enforcement_level",
        "severity",
    ]
    assert "_PolicyAnalyzerServicer(" in inspect.getsource(sdk.PolicyPack.__init__)


def test_it_lists_every_rule_with_its_schema() -> None:
    info = info_of(analyzer())

    names = [policy.name for policy in info.policies]
    assert names == [*(rule.id for rule in RULES), BUDGET_EXCEEDED, EXCEPTIONS_POLICY]
    for policy, rule in zip(info.policies, RULES, strict=False):
        page = f"docs/rules/{rule.id}.md"
        assert (policy.description, policy.url.endswith(page)) == (rule.title, True)
        assert set(policy.configSchema.properties) == {"environment", *rule.options}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"stack": "l4-dev"}, "advisory"),
        ({"stack": "h100-prod"}, "mandatory"),
        ({"stack": "h100-prod", "config": {"berth:environment": "dev"}}, "advisory"),
        ({"stack": "main", "config": {"berth:environment": "prod"}}, "mandatory"),
        ({"stack": "main", "tags": {"stage": "prod"}}, "mandatory"),
    ],
)
def test_levels_follow_the_environment(facts: dict[str, Any], expected: str) -> None:
    pack = analyzer(**facts)
    configure(pack)
    info = info_of(pack)

    levels = {policy.name: LEVEL_NAMES[policy.enforcementLevel] for policy in info.policies}

    assert levels["image-unpinned"] == expected
    assert levels["missing-toleration"] == "mandatory"
    assert levels_of(analyze(pack, DEPLOYMENT, UNPINNED)) == {"image-unpinned": expected}
    assert levels_of(analyze_stack(pack, UNTAINTED)) == {"gpu-pool-untainted": expected}


def test_the_pack_can_be_told_the_environment() -> None:
    pack = analyzer(stack="main")
    configure(pack, properties={"image-unpinned": {"environment": "prod"}})

    assert levels_of(analyze(pack, DEPLOYMENT, UNPINNED)) == {"image-unpinned": "mandatory"}


def test_a_label_makes_one_resource_production() -> None:
    pack = analyzer(stack="main")
    configure(pack)

    labelled = {**UNPINNED, "metadata": {"labels": {"stage": "prod"}}}

    assert levels_of(analyze(pack, DEPLOYMENT, labelled)) == {"image-unpinned": "mandatory"}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("mandatory", {"image-unpinned": "mandatory"}),
        ("disabled", {}),
    ],
)
def test_the_level_that_the_user_chose_wins(chosen: str, expected: dict[str, str]) -> None:
    pack = analyzer(stack="l4-dev")
    configure(pack, levels={"image-unpinned": chosen})

    assert levels_of(analyze(pack, DEPLOYMENT, UNPINNED)) == expected


def test_production_can_be_made_milder() -> None:
    pack = analyzer(stack="h100-prod")
    configure(pack, levels={"image-unpinned": "advisory"})

    assert levels_of(analyze(pack, DEPLOYMENT, UNPINNED)) == {"image-unpinned": "advisory"}


def test_one_policy_reports_cases_at_levels_of_their_own() -> None:
    pack = analyzer()
    configure(pack)
    operator = ("kubernetes:helm.sh/v3:Release", "gpu-operator")
    props = {"chart": "gpu-operator", "version": "v26.3.3"}
    toolkit = {**props, "values": {"driver": {"enabled": False}}}

    both = levels_of(analyze_stack(pack, TAINTED, (*operator, props)))
    only_toolkit = levels_of(analyze_stack(pack, TAINTED, (*operator, toolkit)))

    assert both == {"driver-double-install": "mandatory"}
    assert only_toolkit == {"driver-double-install": "advisory"}


def test_settings_reach_the_rule() -> None:
    pack = analyzer()
    configure(pack, properties={"gpu-pool-untainted": {"dedicatedCluster": True}})

    assert levels_of(analyze_stack(pack, UNTAINTED)) == {}


def test_message_and_fix_come_apart_after_the_sdk_has_put_the_title_before_them() -> None:
    pack = analyzer()
    configure(pack)

    (diagnostic,) = analyze_stack(pack, INTOLERANT, TAINTED).diagnostics

    assert diagnostic.message.startswith(diagnostic.description + "\n")
    assert diagnostic.urn == "urn:chat"
    assert split_message(diagnostic.message) == (
        "chat: spec.template.spec.tolerations does not tolerate nvidia.com/gpu=true:NoSchedule of "
        "pool pool, where it must run; tolerate what the pool is tainted with",
        "add tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}] to "
        "spec.template.spec",
    )


def test_an_unknown_value_is_not_applicable_and_hides_nothing_else() -> None:
    pack = analyzer()
    configure(pack)
    props = pod(image="vllm/vllm-openai:latest", args=["-tp", proxy.UNKNOWN_STRING_VALUE])

    response = analyze(pack, DEPLOYMENT, props)

    assert levels_of(response) == {"image-unpinned": "advisory"}
    (skipped,) = response.not_applicable
    assert skipped.policy_name == "tp-exceeds-gpus"
    assert skipped.reason == (
        "chat: not checked: spec.template.spec.containers[0].args is known after apply"
    )


def test_secret_values_are_read_and_never_told() -> None:
    pack = analyzer()
    configure(pack)

    response = analyze(pack, DEPLOYMENT, pod(image=secret("example.com/hidden-vllm:latest")))

    (message,) = [d.message for d in response.diagnostics]
    assert "hidden" not in message
    assert "[secret]" in message


def test_a_rule_that_fails_is_one_advisory_line() -> None:
    pack = analyzer(stack="h100-prod")
    configure(pack, levels={"tp-exceeds-gpus": "mandatory"})

    broken = mock.patch(
        "berth.rules.stack_view.engine_arguments.EngineArguments.ranks",
        side_effect=ZeroDivisionError,
    )
    with broken:
        response = analyze(pack, DEPLOYMENT, pod())

    assert levels_of(response) == {"tp-exceeds-gpus": "advisory"}
    (message,) = [split_message(d.message)[0] for d in response.diagnostics]
    assert message == (
        "chat: not checked: tp-exceeds-gpus failed with ZeroDivisionError; report it with the "
        "resource that made it fail"
    )


def test_resources_are_read_once_for_all_policies() -> None:
    pack = analyzer()
    configure(pack)

    with mock.patch.object(request_module, "plain_properties", wraps=plain_properties) as read:
        analyze_stack(pack, TAINTED, INTOLERANT)

    assert read.call_count == 2


def test_what_was_written_is_judged_where_the_provider_cannot_be_asked_yet() -> None:
    pack = analyzer()
    configure(pack)
    analyze(pack, DEPLOYMENT, INTOLERANT[2])

    planned_without_outputs: tuple[str, str, dict[str, object]] = (DEPLOYMENT, "chat", {})

    assert levels_of(analyze_stack(pack, TAINTED, planned_without_outputs)) == {
        "missing-toleration": "mandatory"
    }


def test_calls_at_the_same_time_do_not_see_each_other() -> None:
    pack = analyzer()
    configure(pack)

    def kinds(number: int) -> set[str]:
        odd = gpus(2, 1) if number % 2 else gpus(1)
        return set(levels_of(analyze(pack, DEPLOYMENT, pod(resources=odd))))

    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(kinds, range(200)))

    assert seen == [{"gpu-request-limit-mismatch"} if n % 2 else set() for n in range(200)]


def test_the_engine_says_what_a_pool_was_made_of() -> None:
    pack = analyzer()
    configure(pack)
    template = "aws:ec2/launchTemplate:LaunchTemplate"
    reference = {"id": proxy.UNKNOWN_STRING_VALUE, "version": "1"}
    props = node_group(
        instanceTypes=ABSENT, amiType="CUSTOM", launchTemplate=reference, taints=[]
    ).props
    request = analyzer_pb2.AnalyzeStackRequest()
    for token, name, values in (
        (template, "lt", {"instanceType": "p5.48xlarge"}),
        (NODE_GROUP, "pool", props),
    ):
        entry = request.resources.add(type=token, name=name, urn=f"urn:{name}")
        entry.properties.update(dict(values))
    request.resources[1].propertyDependencies["launchTemplate"].urns.append("urn:lt")

    assert set(levels_of(pack.AnalyzeStack(request, CONTEXT))) == {"gpu-pool-untainted"}


def test_an_analyzer_that_was_told_nothing_still_judges() -> None:
    pack = BerthAnalyzer("berth", "0.1.0", make_policies(RULES), sdk.EnforcementLevel.ADVISORY)

    assert set(levels_of(analyze(pack, DEPLOYMENT, UNPINNED))) == {"image-unpinned"}


def exception(**changes: Any) -> dict[str, Any]:
    entry = {
        "reason": "a test bench",
        "owner": "serving",
        "match": [{"policies": ["missing-toleration"], "targets": ["chat"]}],
        **changes,
    }
    return {"exceptions": [{key: value for key, value in entry.items() if value is not None}]}


@pytest.mark.parametrize(
    ("stated", "levels", "text"),
    [
        pytest.param(exception(), {}, "", id="covers"),
        pytest.param(exception(ends_on="2999-12-31"), {}, "", id="ends-later"),
        pytest.param(
            exception(ends_on="2020-01-31"),
            {"missing-toleration": "mandatory", EXCEPTIONS_POLICY: "advisory"},
            "exception of serving for missing-toleration: ended on 2020-01-31; fix or renew it",
            id="ended",
        ),
        pytest.param(
            exception(match=[{"policies": ["image-*"], "targets": ["*"]}]),
            {"missing-toleration": "mandatory", EXCEPTIONS_POLICY: "advisory"},
            "exception of serving for image-*: nothing is left that it covers; remove it",
            id="unused",
        ),
        pytest.param(
            exception(reason=None),
            {"missing-toleration": "mandatory", EXCEPTIONS_POLICY: "mandatory"},
            "policy-exceptions: exceptions[0].reason: missing; say why the findings are accepted",
            id="no-reason",
        ),
        pytest.param(
            exception(match=[{"policies": ["no-such"], "targets": ["*"]}]),
            {"missing-toleration": "mandatory", EXCEPTIONS_POLICY: "mandatory"},
            "no-such is no rule; see `berth check --list`",
            id="unknown-rule",
        ),
    ],
)
def test_configured_exceptions(stated: dict[str, Any], levels: dict[str, str], text: str) -> None:
    pack = analyzer()
    configure(pack, properties={EXCEPTIONS_POLICY: stated})

    answer = analyze_stack(pack, TAINTED, INTOLERANT)

    assert levels_of(answer) == levels
    assert text in "".join(d.message for d in answer.diagnostics)


def test_an_exception_covers_what_one_resource_shows_too() -> None:
    """A rule about one resource is asked before the stack is; its exception is not unused."""
    stated = exception(match=[{"policies": ["image-unpinned"], "targets": ["urn:chat"]}])
    pack = analyzer()
    configure(pack, properties={EXCEPTIONS_POLICY: stated})

    assert levels_of(analyze(pack, DEPLOYMENT, UNPINNED)) == {}
    assert levels_of(analyze_stack(pack, (DEPLOYMENT, "chat", UNPINNED))) == {}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("missing-toleration", None),
        ("image-unpinned", "nothing is left that it covers; remove it"),
        ("no-such", "no-such is no rule"),
        ("secret-plain-env", "a rule about security needs an end"),
    ],
)
def test_exceptions_on_the_resource_itself(kind: str, text: str | None) -> None:
    note = {f"berth.dev/except-{kind}": "a test bench"}
    props = {**INTOLERANT[2], "metadata": {"annotations": note}}
    pack = analyzer()
    configure(pack)

    answer = analyze_stack(pack, TAINTED, (DEPLOYMENT, "chat", props))

    said = {d.policyName: d.message for d in answer.diagnostics}
    assert ("missing-toleration" in said) is (kind != "missing-toleration")
    assert (EXCEPTIONS_POLICY in said) is (text is not None)
    assert (text or "") in said.get(EXCEPTIONS_POLICY, "")
