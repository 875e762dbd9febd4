"""Files that are broken, of no shape or without end: problems by file and line, no traceback."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from berth.cli.__main__ import main

POD = "{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {containers: [CONTAINER]}}"
SERVER = "{name: s, image: 'vllm/vllm-openai:v0.32.0'}"
KIND = "gpu-request-missing"


def pod(name: str, container: str = SERVER) -> str:
    return POD.replace("NAME", name).replace("CONTAINER", container)


def checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | bytes, name: str = "a.yaml"
) -> tuple[int, list[str], list[str]]:
    """Exit code, resources with a finding, and lines on standard error without the folder."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code = main(["check", "--json", str(path)])
    out, err = capsys.readouterr()
    found = [v["resource"] for v in json.loads(out)["violations"] if v["kind"] == KIND]
    return code, found, err.replace(f"{tmp_path}/", "").splitlines()


@pytest.mark.parametrize(
    ("text", "found", "problems"),
    [
        pytest.param(
            f"{pod('a')}\n---\nkind: Pod\nspec: {{containers: [\n---\n{pod('c')}\n",
            ["a", "c"],
            ["a.yaml:5: did not find expected node content; mend it (the other documents are "
             "checked)"],
            id="broken-in-the-middle",
        ),
        pytest.param(
            f"{pod('a')}\n---\n- a\n- list\n---\njust text\n",
            ["a"],
            ["a.yaml: entry 0: no resource; give type, name and props",
             "a.yaml: entry 1: no resource; give type, name and props",
             "a.yaml:6: neither a manifest, a Pulumi state or preview, nor a list of "
             "{type, name, props}; name one of these"],
            id="other-shapes",
        ),
        pytest.param(
            "\n\n" + pod("a", "{name: s, image: 7, args: {a: 1}, env: A=B}, 5, text"),
            [],
            [],
            id="strings-and-numbers-for-lists-and-mappings",
        ),
        pytest.param(
            pod("a").replace("containers:", "replicas: 1e400, tolerations: no, volumes: 7, "
                             "nodeSelector: [x], containers:"),
            ["a"],
            [],
            id="odd-fields-beside-a-server",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: &m {name: a, labels: *m}\n"
            f"spec: &s {{containers: [{SERVER}], affinity: *s}}\n",
            ["a"],
            [],
            id="a-cycle-of-references",
        ),
        pytest.param(
            f"kind: List\napiVersion: v1\nitems:\n- 5\n- {pod('a')}\n- [x]\n", ["a"], [], id="list"
        ),
        pytest.param("", [], ["a.yaml: nothing in it; name a file with manifests or resources"],
                     id="empty"),
        pytest.param(
            f"a: {'[' * 5000}{']' * 5000}\n---\n{pod('b')}\n",
            ["b"],
            ["a.yaml:1: exceeded maximum nesting depth; mend it (the other documents are checked)"],
            id="too-deep",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named_and_the_rest_is_judged(
    text: str,
    found: Sequence[str],
    problems: Sequence[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, seen, lines = checked(tmp_path, capsys, text)

    assert (seen, lines) == (found, problems)
    assert code == (2 if problems else 1 if found else 0)


def test_references_that_grow_without_end_are_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine times nine, seven times over: 4.8 million containers if they were."""
    names = "abcdefg"
    lines = [f"{names[0]}: &{names[0]} [x,x,x,x,x,x,x,x,x]"]
    for inner, outer in pairwise(names):
        lines.append(f"{outer}: &{outer} [{','.join([f'*{inner}'] * 9)}]")
    text = "\n".join([*lines, "apiVersion: v1", "kind: Pod", "spec: {containers: *g}", ""])

    assert checked(tmp_path, capsys, text) == (0, [], [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(b"\xff\xfe", [], id="at-once"),
        pytest.param(f"{pod('a')}\n---\n".encode() + b"x: \xff\n", ["a"], id="behind-a-manifest"),
    ],
)
def test_other_encodings_are_named(
    text: bytes, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, seen, lines = checked(tmp_path, capsys, text)

    assert (code, lines) == (2, ["a.yaml: cannot be read (not utf-8 text); name another"])
    assert set(seen) <= set(found)


def test_entries_of_a_list_that_are_no_resources_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = {"spec": {"containers": [{"name": "s", "image": "vllm/vllm-openai:v0.32.0"}]}}
    entries = [
        {"type": 5, "name": "x", "props": {}},
        {"type": "kubernetes:core/v1:Pod", "name": ["x"], "props": "none"},
        7,
        {"type": "kubernetes:core/v1:Pod", "name": "a", "props": server},
    ]
    code, seen, lines = checked(tmp_path, capsys, json.dumps(entries), "a.json")

    assert (code, seen) == (2, ["a"])
    assert lines == [
        f"a.json: entry {number}: no resource; give type, name and props" for number in range(3)
    ]


def test_a_state_of_odd_shapes_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text for a list, a list for an object, a resource that is its own parent."""
    group = {
        "urn": "urn:pulumi:s::p::aws:eks/nodeGroup:NodeGroup::g",
        "type": "aws:eks/nodeGroup:NodeGroup",
        "parent": "urn:pulumi:s::p::aws:eks/nodeGroup:NodeGroup::g",
        "propertyDependencies": {
            "launchTemplate": ["urn:pulumi:s::p::aws:eks/nodeGroup:NodeGroup::g"]
        },
        "inputs": {"taints": "x", "instanceTypes": "g6e.2xlarge", "scalingConfig": [1]},
    }
    state = {"version": 3, "deployment": {"resources": [group, {"urn": 7}, None]}}

    assert checked(tmp_path, capsys, json.dumps(state), "state.json") == (0, [], [])
