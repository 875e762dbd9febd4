"""`berth comment` as CI runs it, against a stand-in of both platforms."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.cli.__main__ import main
from tests.unit.comment import stand_in
from tests.unit.comment.stand_in import TOKEN

ROOT = Path(__file__).parents[3]
L4 = (ROOT / "stacks" / "Pulumi.l4-dev.yaml").read_text()
Run = Callable[..., tuple[int, str, str]]
OF_CI = (
    "GITHUB_TOKEN",
    "GITHUB_REPOSITORY",
    "GITHUB_REF",
    "GITHUB_EVENT_PATH",
    "GITHUB_API_URL",
    "GITHUB_GRAPHQL_URL",
    "GITLAB_TOKEN",
    "CI_PROJECT_ID",
    "CI_MERGE_REQUEST_PROJECT_ID",
    "CI_MERGE_REQUEST_IID",
    "CI_API_V4_URL",
)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[stand_in.Platform]:
    for name in OF_CI:
        monkeypatch.delenv(name, raising=False)
    with stand_in.serving() as platform:
        yield platform


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*words: object) -> tuple[int, str, str]:
        code = main(["comment", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_it


@pytest.fixture
def diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Path]:
    """The difference that changing the text of l4-dev makes, as a file."""

    def make(*changes: tuple[str, str], more: str = "") -> Path:
        text = L4 + more
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        before, after = tmp_path / "before.yaml", tmp_path / "Pulumi.l4-dev.yaml"
        before.write_text(L4)
        after.write_text(text)
        main(["cost", "diff", str(before), str(after), "--json"])
        path = tmp_path / "diff.json"
        path.write_text(capsys.readouterr().out)
        return path

    return make


LARGER = ("g6.xlarge", "g6.2xlarge")


def on_github(monkeypatch: pytest.MonkeyPatch, served: stand_in.Platform) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_API_URL", served.base)
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/platform")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")


def on_gitlab(monkeypatch: pytest.MonkeyPatch, served: stand_in.Platform) -> None:
    monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
    monkeypatch.setenv("CI_API_V4_URL", served.base)
    monkeypatch.setenv("CI_PROJECT_ID", "1")
    monkeypatch.setenv("CI_MERGE_REQUEST_IID", "7")


def test_a_pull_request_gets_one_comment_that_follows_the_change(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """847.59 to 973.73 USD a month: +0.1728 an hour, 126.14 a month, 14.9 %."""
    on_github(monkeypatch, served)

    code, out, err = run(diff(LARGER), "--github")
    again = run(diff(LARGER, ("max_nodes: 2", "max_nodes: 3")), "--github")

    assert (code, err) == (0, "")
    assert out.startswith("l4-dev: created: at/")
    assert again[1].startswith("l4-dev: updated: at/")
    (body,) = served.comments.values()
    assert "**l4-dev: +0.17 USD/h, +126.14 USD/month (+14.9 %); price lists of" in body
    assert "| l4 | g6.2xlarge | us-east-1 | 1 / 1 / 3 | on demand |" in body
    assert "g6.xlarge → g6.2xlarge" in body


def test_a_merge_request_is_found_by_the_variables_of_the_job(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_gitlab(monkeypatch, served)

    code, _, err = run(diff(LARGER), "--gitlab", "--repository", "acme/platform")

    assert (code, err) == (0, "")
    assert len(served.comments) == 1


def test_the_number_may_stand_in_the_event(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    on_github(monkeypatch, served)
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))

    assert run(diff(LARGER), "--github")[0] == 0


def test_nothing_is_written_where_nothing_changed_and_that_is_wanted(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_github(monkeypatch, served)

    code, out, _ = run(diff(), "--github", "--skip-unchanged")

    assert (code, served.comments) == (0, {})
    assert "skipped" in out


def test_a_refused_stack_is_posted_and_ends_with_1(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_github(monkeypatch, served)

    code, _, _ = run(diff(LARGER, more="  berth:budget: {monthly_usd: 900}\n"), "--github")

    assert code == 1
    (body,) = served.comments.values()
    assert "> Refused by 1 limit on cost." in body


def test_a_preview_adds_policies_and_whether_it_can_start(
    run: Run, diff: Callable[..., Path], tmp_path: Path
) -> None:
    finding = {"kind": "image-unpinned", "enforcement_level": "mandatory", "resource": "chat"}
    document = {
        "stack": "l4-dev",
        "start": [{"tier": "l4", "ok": False, "problem": "quota 0, needs 4", "fix": "raise it"}],
        "policies": [{**finding, "message": "no tag", "fix": "pin it"}],
    }
    preview = tmp_path / "preview.json"
    preview.write_text(json.dumps(document))

    code, out, _ = run(diff(LARGER), "--preview", preview)

    assert code == 1
    assert "> Refused by 1 policy finding." in out
    assert "> Tier l4 cannot start: quota 0, needs 4." in out
    assert "- mandatory: image-unpinned: no tag; pin it" in out


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        pytest.param((), "<!-- berth-comment cost/l4-dev -->", id="markdown"),
        pytest.param(("--format", "text"), "l4-dev: +0.17 USD/h", id="text"),
        pytest.param(("--format", "html"), "<!doctype html>", id="html"),
        pytest.param(("--json",), "{", id="json"),
        pytest.param(("--github", "--dry-run"), "<!-- berth-comment", id="dry-run"),
    ],
)
def test_without_a_platform_it_prints_and_asks_nobody(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    words: tuple[str, ...],
    begins: str,
) -> None:
    code, out, err = run(diff(LARGER), *words)

    assert (code, err) == (0, "")
    assert out.startswith(begins)
    assert served.asked == []


@pytest.mark.parametrize(
    ("words", "variables", "text"),
    [
        pytest.param(("--github",), {"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set", id="token"),
        pytest.param(("--github",), {"GITHUB_TOKEN": "a b"}, "holds no token", id="two-words"),
        pytest.param(
            ("--github",), {"GITHUB_REPOSITORY": ""}, "--repository is missing", id="repository"
        ),
        pytest.param(
            ("--github", "--repository", "acme"), {}, "acme is not OWNER/NAME", id="half-a-name"
        ),
        pytest.param(
            ("--github",), {"GITHUB_REF": "refs/heads/main"}, "--number is missing", id="number"
        ),
        pytest.param(("--github", "--number", "0"), {}, "--number 0", id="number-0"),
        pytest.param(
            ("--github",), {"GITHUB_API_URL": "file:///etc"}, "no address of an API", id="address"
        ),
        pytest.param(("--github", "--gitlab"), {}, "not allowed with", id="both"),
        pytest.param(("--mode", "often"), {}, "invalid choice", id="mode"),
    ],
)
def test_wrong_use_ends_with_2_and_asks_nobody(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    variables: dict[str, str],
    text: str,
) -> None:
    on_github(monkeypatch, served)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    code, out, err = run(diff(LARGER), *words)

    assert (code, out) == (2, "")
    assert text in err
    assert served.asked == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param("{", "no whole JSON", id="cut-off"),
        pytest.param("[]", "not what `berth cost diff --json` writes", id="a-list"),
        pytest.param("{}", "missing required field", id="nothing-in-it"),
        pytest.param('{"stacks": [{"past": 7}]}', "$.stacks[0].past", id="wrong-type"),
    ],
)
def test_another_document_is_refused_before_anything_is_posted(
    run: Run, tmp_path: Path, data: str, text: str
) -> None:
    path = tmp_path / "diff.json"
    path.write_text(data)

    code, out, err = run(path)

    assert (code, out) == (2, "")
    assert text in err


@pytest.mark.parametrize("usd", ["NaN", "Infinity", "1e999999", "-1E+13", "1E-400"])
def test_a_number_that_is_no_money_is_refused(
    run: Run, diff: Callable[..., Path], usd: str
) -> None:
    path = diff(LARGER)
    document = json.loads(path.read_text())
    document["total"]["plan"]["usd_per_month"] = usd
    path.write_text(json.dumps(document))

    code, out, err = run(path)

    assert (code, out) == (2, "")
    assert "$.total.plan.usd_per_month is no amount" in err


def test_a_preview_of_another_stack_is_refused(
    run: Run, diff: Callable[..., Path], tmp_path: Path
) -> None:
    preview = tmp_path / "preview.json"
    preview.write_text(json.dumps({"stack": "h100-prod"}))

    code, _, err = run(diff(LARGER), "--preview", preview)

    assert code == 2
    assert "is of the stack h100-prod" in err


def test_a_platform_that_refuses_ends_with_2_and_no_token_is_shown(
    run: Run,
    diff: Callable[..., Path],
    served: stand_in.Platform,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_github(monkeypatch, served)
    monkeypatch.setenv("GITHUB_TOKEN", "another")
    words: Any = (diff(LARGER), "--github")

    code, out, err = run(*words)

    assert (code, out) == (2, "")
    assert "answered 401 (Bad credentials); the token is not accepted" in err
    assert "another" not in err
