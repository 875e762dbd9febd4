"""What could not be judged, on its way from the pack's process to the report."""

from pathlib import Path

import pytest

from berth.policy_pack.not_checked import VARIABLE, note_not_checked, read_not_checked
from berth.rules.finding import NotChecked
from tests.unit.policy_pack.engine import analyze, analyzer

FIRST = NotChecked(kind="a", resource="chat", urn="urn:chat", field="spec.x")
SECOND = NotChecked(kind="b", resource="chat", urn="urn:chat", field="spec.y")


def test_each_entry_arrives_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes"
    monkeypatch.setenv(VARIABLE, str(path))

    note_not_checked([SECOND])
    note_not_checked([FIRST, SECOND])

    assert read_not_checked(path) == (FIRST, SECOND)


def test_without_a_file_nothing_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    note_not_checked([FIRST])

    monkeypatch.setenv(VARIABLE, str(tmp_path / "no" / "folder"))
    note_not_checked([FIRST])

    assert read_not_checked(tmp_path / "no" / "folder") == ()


def test_the_pack_notes_the_field_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

    path = tmp_path / "notes"
    monkeypatch.setenv(VARIABLE, str(path))
    server = {
        "name": "server",
        "image": UNKNOWN_STRING_VALUE,
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    props = {"spec": {"template": {"spec": {"containers": [server]}}}}

    analyze(analyzer(), "kubernetes:apps/v1:Deployment", props)

    assert {(e.kind, e.field) for e in read_not_checked(path)} >= {
        ("image-unpinned", "spec.template.spec.containers[0].image")
    }
