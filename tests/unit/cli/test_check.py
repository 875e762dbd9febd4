"""`berth check`: what it reads, what it prints, and how it ends."""

import io
import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from berth.cli.__main__ import main

BAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  strategy: {type: Recreate}
  template:
    spec:
      volumes: [{name: cache, persistentVolumeClaim: {claimName: cache}}]
      containers:
      - name: server
        image: vllm/vllm-openai:v0.18.0
        args: [--model, meta-llama/Llama-3.1-8B-Instruct, -tp, "2"]
        resources: {limits: {nvidia.com/gpu: 1}}
        volumeMounts: [{name: cache, mountPath: /root/.cache/huggingface}]
"""
GOOD = BAD.replace('"2"', '"1"')
KIND = "tp-exceeds-gpus"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.yaml"
    path.write_text(BAD, "utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["check", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_json_has_the_shape_that_others_read(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, bad, "--json")

    assert (code, err) == (1, "")
    assert json.loads(out) == {
        "violations": [
            {
                "kind": KIND,
                "severity": "high",
                "enforcement_level": "mandatory",
                "resource": "chat",
                "message": "chat: tensor parallel 2 needs 2 GPUs and container server has 1; "
                "lower the parallel size or ask for more GPUs",
                "fix": "set -tp to 1, or spec.template.spec.containers[0].resources.limits"
                "[nvidia.com/gpu] to 2",
            }
        ],
        "not_checked": [],
    }


def test_a_right_manifest_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.yaml").write_text(GOOD, "utf-8")

    assert run(capsys, tmp_path) == (0, "0 mandatory, 0 advisory findings\n", "")


def test_text_names_the_fix(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, bad)

    assert code == 1
    assert out.startswith(f"mandatory  {KIND}  chat: tensor parallel 2")
    assert "\n           fix: set -tp to 1" in out


def test_a_broken_document_is_named_and_the_others_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(f"a: [b\n---\n{BAD}", "utf-8")

    code, out, err = run(capsys, path, "--json")

    assert code == 2
    assert err.startswith(f"{path}:2: ")
    assert [entry["kind"] for entry in json.loads(out)["violations"]] == [KIND]


def test_standard_input_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(BAD))

    assert run(capsys, "-")[0] == 1


def test_a_list_of_manifests_is_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import yaml

    document = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(BAD)]}
    (tmp_path / "l.json").write_text(json.dumps(document), "utf-8")

    assert run(capsys, tmp_path / "l.json")[0] == 1


def resource(**changes: Any) -> dict[str, Any]:
    import yaml

    urn = "urn:pulumi:dev::team::kubernetes:apps/v1:Deployment::chat"
    inputs = yaml.safe_load(BAD)
    return {"urn": urn, "type": "kubernetes:apps/v1:Deployment", "inputs": inputs, **changes}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"version": 3, "deployment": {"resources": [resource()]}}, 1),
        ({"version": 3, "deployment": {"resources": [resource(delete=True)]}}, 0),
        ({"steps": [{"op": "create", "newState": resource()}]}, 1),
        ({"steps": [{"op": "delete", "newState": resource()}]}, 0),
        ([{"type": "kubernetes:apps/v1:Deployment", "name": "chat", "props": {}}], 0),
    ],
    ids=["state", "pending-delete", "preview", "deleted", "list"],
)
def test_documents_of_pulumi_are_read(
    document: Any, expected: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d.json").write_text(json.dumps(document), "utf-8")

    assert run(capsys, tmp_path / "d.json")[0] == expected


def test_an_unknown_value_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = resource()
    pod = unknown["inputs"]["spec"]["template"]["spec"]
    pod["containers"][0]["args"] = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    (tmp_path / "p.json").write_text(json.dumps({"steps": [{"newState": unknown}]}), "utf-8")

    code, out, _ = run(capsys, tmp_path / "p.json", "--json")

    assert code == 0
    assert {
        "kind": KIND,
        "resource": "chat",
        "field": "spec.template.spec.containers[0].args",
        "message": "chat: not checked: spec.template.spec.containers[0].args is known after apply",
    } in json.loads(out)["not_checked"]


@pytest.mark.parametrize(
    ("level", "config", "expected"),
    [
        ("mandatory", {}, 1),
        ("never", {}, 0),
        ("mandatory", {KIND: "advisory"}, 0),
        ("advisory", {KIND: "advisory"}, 1),
        ("advisory", {KIND: "disabled"}, 0),
        ("advisory", {"all": "disabled"}, 0),
    ],
)
def test_levels_are_chosen(
    bad: Path, level: str, config: Any, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = bad.parent / "config.json"
    settings.write_text(json.dumps(config), "utf-8")

    assert run(capsys, bad, "--fail-on", level, "--config", settings)[0] == expected


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"no-such": "advisory"}, "no-such is no rule"),
        ({KIND: "strict"}, "strict is no level"),
        ({KIND: {"size": 1}}, "size is no setting of it"),
        ({"spot-in-prod": {"allowSpot": "all"}}, "allowSpot: no array"),
    ],
)
def test_a_wrong_configuration_is_wrong_usage(
    bad: Path, config: Any, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = bad.parent / "config.json"
    settings.write_text(json.dumps(config), "utf-8")

    code, out, err = run(capsys, bad, "--config", settings)

    assert (code, out) == (2, "")
    assert text in err


def exceptions(folder: Path, **changes: Any) -> Path:
    entry = {
        "reason": "two processes share the card",
        "owner": "serving",
        "ends_on": "2999-01-01",
        "match": [{"policies": [KIND], "targets": ["ch*"]}],
        **changes,
    }
    path = folder / "exceptions.json"
    path.write_text(json.dumps({k: v for k, v in entry.items() if v is not None}), "utf-8")
    path.write_text(json.dumps([json.loads(path.read_text("utf-8"))]), "utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({}, 0, ""),
        ({"ends_on": "2020-01-01"}, 1, "ended on 2020-01-01"),
        ({"match": [{"policies": [KIND], "targets": ["x"]}]}, 1, "nothing is left that it covers"),
        ({"reason": None}, 2, "reason: missing"),
        ({"match": [{"policies": ["x-y"], "targets": ["*"]}]}, 2, "x-y is no rule"),
        (
            {"match": [{"policies": ["secret-*"], "targets": ["*"]}], "ends_on": None},
            2,
            "secret-plain-env needs one",
        ),
        ({"ends_on": "soon"}, 2, "soon is no day"),
    ],
    ids=["covers", "ended", "unused", "no-reason", "no-rule", "security-without-end", "no-day"],
)
def test_exceptions(
    bad: Path, changes: Any, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = run(capsys, bad, "--exceptions", exceptions(bad.parent, **changes))

    assert seen[0] == code
    assert text in seen[2]


def test_the_configuration_of_the_pack_may_hold_the_exceptions(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = json.loads(exceptions(bad.parent).read_text("utf-8"))
    config = bad.parent / "policies.json"
    config.write_text(json.dumps({"policy-exceptions": {"exceptions": listed}}), "utf-8")

    assert run(capsys, bad, "--config", config)[0] == 0


def test_an_annotation_that_covers_nothing_is_named(
    bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = BAD.replace(
        "{name: chat}", "{name: chat, annotations: {berth.dev/except-image-unpinned: shared}}"
    )
    bad.write_text(noted, "utf-8")

    assert run(capsys, bad)[2].strip() == (
        "chat: berth.dev/except-image-unpinned: nothing is left that it covers; remove it"
    )


@pytest.mark.parametrize("reason", ['""', '"  "', "", "true"])
def test_an_annotation_without_a_reason_is_named(
    reason: str, bad: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the rule finds nothing here: the next change must not bring a surprise."""
    note = f"berth.dev/except-image-unpinned: {reason}"
    bad.write_text(BAD.replace("{name: chat}", f"{{name: chat, annotations: {{{note}}}}}"), "utf-8")

    assert run(capsys, bad)[2].strip() == (
        "chat: berth.dev/except-image-unpinned: no reason, so it covers nothing; "
        "say why, or remove it"
    )


def test_an_annotation_with_a_reason_is_an_exception(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = BAD.replace(
        "{name: chat}", f"{{name: chat, annotations: {{berth.dev/except-{KIND}: shared}}}}"
    )
    (tmp_path / "a.yaml").write_text(noted, "utf-8")
    (tmp_path / "b.yaml").write_text(noted.replace(": shared", ': ""'), "utf-8")

    assert run(capsys, tmp_path / "a.yaml")[0] == 0
    assert run(capsys, tmp_path / "b.yaml")[0] == 1


def test_sarif_points_at_the_document(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, bad, "--format", "sarif")

    document = json.loads(out)
    (result,) = document["runs"][0]["results"]
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert (code, document["version"], result["level"]) == (1, "2.1.0", "error")
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == KIND
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": str(bad)}, "region": {"startLine": 1}}


def test_junit_has_a_case_per_rule(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, bad, "--format", "junit")

    suite = ElementTree.fromstring(out)[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert (suite.get("tests"), suite.get("failures"), failed) == ("48", "1", [KIND])


def test_all_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--list")

    ids = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert (code, len(ids)) == (0, 48)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "no PATH given"),
        (["/no/such/file.yaml"], "cannot be read"),
        (["--format", "xml"], "invalid choice"),
    ],
)
def test_wrong_usage_ends_with_2(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, *words)

    assert code == 2
    assert text in err


def test_other_files_are_refused_or_left_out(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = bad.parent / "values.yaml"
    other.write_text("replicas: 2\n", "utf-8")

    code, _, err = run(capsys, other)
    assert (code, "neither a manifest" in err) == (2, True)
    assert run(capsys, other, "--ignore-others")[0] == 0
    assert run(capsys, bad.parent)[0] == 1
