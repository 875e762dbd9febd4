"""The example of every rule: the bad stack breaks that rule and no other, the good one none."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from berth.rules import page_address
from berth.rules.check import check
from berth.rules.error_text import explained_by, load_error_texts
from berth.rules.example import as_resources, load_example
from berth.rules.page import _yaml_block, index_text, page_text
from berth.rules.registry import RULES

BY_ID = {rule.id: rule for rule in RULES}
PAGES = Path(__file__).parents[3] / "docs" / "rules"


def kinds_found(entries: Any) -> set[str]:
    report = check(as_resources(entries))
    assert (report.not_checked, report.surprises) == ((), ())
    return {finding.kind for finding in report.findings}


@pytest.mark.parametrize("rule_id", BY_ID)
def test_the_bad_stack_breaks_its_rule_alone_and_the_good_one_none(rule_id: str) -> None:
    example = load_example(rule_id)

    assert kinds_found(example.bad) == {rule_id}
    assert kinds_found(example.good) == set()


def test_every_example_belongs_to_a_rule() -> None:
    names = [entry.name for entry in files("berth.rules").joinpath("examples").iterdir()]

    assert sorted(names) == sorted(f"{rule_id}.yaml" for rule_id in BY_ID)


def test_a_page_says_what_its_rule_is_and_what_to_write() -> None:
    page = page_text(BY_ID["gpu-request-missing"])

    assert page.startswith("# gpu-request-missing\n\nA model server asks for the GPUs that it uses")
    assert "| high | mandatory | each resource alone" in page
    assert "fix: set spec.template.spec.containers[0].resources.limits[nvidia.com/gpu] to 1" in page
    assert "berth.dev/except-gpu-request-missing" in page


def test_a_security_rule_names_no_annotation() -> None:
    assert "berth.dev/except" not in page_text(BY_ID["secret-plain-env"])


def test_a_rule_with_settings_names_them() -> None:
    assert "| `dedicatedCluster` | boolean |" in page_text(BY_ID["gpu-pool-untainted"])


def test_what_did_not_change_is_named_and_not_repeated() -> None:
    mended = page_text(BY_ID["missing-toleration"]).partition("## Mended")[2]

    assert "As it was: NodeGroup gpu, Release gpu-operator." in mended
    assert "aws:eks/nodeGroup:NodeGroup" not in mended


def test_a_page_tells_of_a_remediation_and_how_far_it_looks() -> None:
    wider = "It looks at one resource alone, so it changes every one that could have the mistake."

    assert "## Remediation" not in page_text(BY_ID["image-unpinned"])
    assert wider in page_text(BY_ID["service-env-collision"])
    alone = page_text(BY_ID["shm-too-small"])
    assert "## Remediation" in alone
    assert wider not in alone


def test_a_page_tells_what_an_admission_policy_leaves_out() -> None:
    assert "Helm releases are no objects of the API server." in page_text(BY_ID["image-unpinned"])
    assert "## In the cluster" not in page_text(BY_ID["shm-too-small"])


def test_a_stack_stands_on_a_page_as_its_author_would_write_it() -> None:
    page = page_text(BY_ID["time-slicing-misuse"])

    assert page.index("type: kubernetes:helm.sh/v3:Release") < page.index("chart: gpu-operator")
    assert "          any: |\n            version: v1\n" in page
    assert "args: [--model, Qwen/Qwen3-0.6B," in page
    assert "&id" not in page_text(BY_ID["rollout-deadlock"])


def test_the_same_value_twice_is_written_twice() -> None:
    labels = {"app": "chat"}
    entries = [{"selector": labels, "labels": labels}]

    assert _yaml_block(entries) == ("```yaml\nselector:\n  app: chat\nlabels:\n  app: chat\n```")


def test_the_index_links_every_page() -> None:
    index = index_text(RULES)

    assert all(f"[{rule_id}]({rule_id}.md)" in index for rule_id in BY_ID)


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (
            ["Source, https://example.com/s", "Rules, https://example.com/r"],
            "https://example.com/r",
        ),
        (["Source, https://example.com/s", "Rules"], None),
        (None, None),
    ],
)
def test_the_distribution_may_name_the_address_of_its_pages(
    addresses: Any, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Metadata:
        def get_all(self, name: str) -> Any:
            return addresses if name == "Project-URL" else None

    monkeypatch.setattr(page_address, "metadata", lambda name: Metadata())

    assert page_address._published_pages.__wrapped__() == expected


def test_only_an_address_on_the_web_is_one_for_others() -> None:
    assert page_address.is_on_the_web("https://example.com/rules/ami-eol.md")
    assert not page_address.is_on_the_web("file:///rules/ami-eol.md")
    assert not page_address.is_on_the_web(None)


def test_pages_lie_in_the_checkout_until_a_release_names_their_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert page_address.page_address("shm-too-small") == (PAGES / "shm-too-small.md").as_uri()

    monkeypatch.setattr(page_address, "_published_pages", lambda: "https://example.com/rules/")
    assert (
        page_address.page_address("shm-too-small") == "https://example.com/rules/shm-too-small.md"
    )


@pytest.mark.parametrize(
    ("message", "rule_id"),
    [
        ("0/5 nodes are available: 5 Insufficient nvidia.com/gpu.", "gpu-capacity-exceeded"),
        ("1 node(s) had untolerated taint {nvidia.com/gpu: present}", "missing-toleration"),
        ("ValueError: No available memory for the\n  cache blocks. Try", "startup-oom"),
        ("exec /usr/bin/python3: exec format error", "cpu-arch-mismatch"),
        ("torch.distributed.DistBackendError: NCCL: ncclSystemError:", "shm-too-small"),
        (
            "UnexpectedAdmissionError: request for 'nvidia.com/gpu: 2' too large: maximum request "
            "size for shared resources is 1",
            "time-slicing-misuse",
        ),
        ("World size (2) is larger than the number of available GPUs (1)", "tp-exceeds-gpus"),
        ("VLLM_PORT 'tcp://10.0.0.7:80' appears to be a URI", "service-env-collision"),
        (
            "User-specified max_model_len (65536) is greater than the derived max_model_len",
            "max-len-exceeds-model",
        ),
        (
            "Total number of attention heads (32) must be divisible by tensor parallel size (3).",
            "tp-heads-indivisible",
        ),
        (
            "48.01 GiB KV cache is needed, which is larger than the available KV cache memory",
            "startup-oom",
        ),
        ('Multi-Attach error for volume "pvc-1"', "rwo-shared-volume"),
    ],
)
def test_an_error_text_leads_to_its_rule(message: str, rule_id: str) -> None:
    (found, *_) = explained_by(message)

    assert found.rules[0] == rule_id


def test_error_texts_name_rules_that_exist() -> None:
    assert {rule_id for entry in load_error_texts() for rule_id in entry.rules} <= set(BY_ID)
    assert explained_by("everything is fine") == []
