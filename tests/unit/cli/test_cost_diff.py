"""`berth cost diff` as a person runs it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from berth.cli.__main__ import main
from tests.unit.costs.engine_documents import export, node_group, preview, state, step

ROOT = Path(__file__).parents[3]
L4 = (ROOT / "stacks" / "Pulumi.l4-dev.yaml").read_text()
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*words: object) -> tuple[int, str, str]:
        code = main(["cost", "diff", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_it


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def usd(document: str, part: str, at: str = "plan") -> str:
    return str(json.loads(document)[part][at]["usd_per_hour"])


def two(**changes: Any) -> bytes:
    return preview(step("same", node_group(**changes)))


def test_two_previews(run: Run, tmp_path: Path) -> None:
    """Two p5.48xlarge with 200 GiB each to three: 55.04, and 0.0657534247 less 0.0438356164."""
    before = written(tmp_path / "a.json", two())
    scaling = {"minSize": 0, "desiredSize": 3, "maxSize": 4}
    after = written(tmp_path / "b.json", two(scalingConfig=scaling))

    code, out, err = run(before, after, "--json", "--as-of", "2026-11-30")

    assert (code, err) == (0, "")
    assert usd(out, "diff") == "55.0619178083"
    assert json.loads(out)["changes"][0]["moves"][0]["reasons"] == ["count"]


def test_one_preview_has_both_sides(run: Run, tmp_path: Path) -> None:
    """A replacement of g6.xlarge (0.8048) by g6.2xlarge (0.9776), two each."""
    old = node_group(instanceTypes=["g6.xlarge"])
    new = node_group(instanceTypes=["g6.2xlarge"])
    path = written(tmp_path / "a.json", preview(step("replace", new, old)))

    code, out, _ = run(path, "--json", "--as-of", "2026-11-30")

    assert code == 0
    assert usd(out, "diff") == "0.3456"
    assert json.loads(out)["changes"][0]["moves"][0]["text"] == "g6.xlarge → g6.2xlarge"


def test_a_new_stack_costs_nothing_before(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", preview(step("create", node_group())))

    code, out, _ = run(path, "--json", "--as-of", "2026-11-30")

    assert (code, usd(out, "past")) == (0, "0.00")
    assert usd(out, "diff") == usd(out, "total")


def test_stack_files_and_documents_mix(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One g6.xlarge more at the most: 0.8048, and 600 GB for 400 at 0.08 / 730, each rounded."""
    assert main(["cost", "--stack", str(ROOT / "stacks" / "Pulumi.l4-dev.yaml"), "--json"]) == 0
    before = written(tmp_path / "before.json", capsys.readouterr().out.encode())
    after = tmp_path / "Pulumi.l4-dev.yaml"
    after.write_text(L4.replace("max_nodes: 2", "max_nodes: 3"))

    code, out, _ = run(before, after, "--json")

    assert code == 0
    assert (usd(out, "diff"), usd(out, "diff", "ceiling")) == ("0.00", "0.8267178083")


def test_an_export_of_a_stack_of_berth_says_what_its_last_up_was_to_cost(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fee and loads are in no resource; the stack's own output has them."""
    h100 = ROOT / "stacks" / "Pulumi.h100-prod.yaml"
    assert main(["cost", "--stack", str(h100), "--json"]) == 0
    outputs = {"cost": json.loads(capsys.readouterr().out)}
    data = export(state("pulumi:pulumi:Stack", "berth-h100-prod", {}, outputs=outputs))

    code, out, _ = run(written(tmp_path / "a.json", data), h100)

    assert code == 0
    assert "no change, " in out


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in git with the stack l4-dev on `main`, and work on a branch of it."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repository" / "platform"
    (folder / "stacks").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\nstackConfigDir: stacks\n")
    (folder / "stacks" / "Pulumi.l4-dev.yaml").write_text(L4)
    git(folder.parent, "init", "-q", "-b", "main")
    git(folder.parent, "add", "-A")
    git(folder.parent, "commit", "-q", "-m", "one stack")
    git(folder.parent, "checkout", "-q", "-b", "work")
    monkeypatch.chdir(folder)
    return folder


def test_the_work_against_a_revision(run: Run, project: Path) -> None:
    stack = project / "stacks" / "Pulumi.l4-dev.yaml"
    stack.write_text(L4.replace("g6.xlarge", "g6.2xlarge"))

    code, out, err = run("--base", "main", "--stack", "l4-dev")

    assert (code, err) == (0, "")
    assert "l4-dev: +0.17 USD/h, +126.14 USD/month (+14.9 %)" in out
    assert "g6.xlarge → g6.2xlarge" in out


def test_stacks_that_came_and_went_count_whole(run: Run, project: Path) -> None:
    """The same stack under another name: the sum stays."""
    stacks = project / "stacks"
    (stacks / "Pulumi.l4-dev.yaml").rename(stacks / "Pulumi.l4-new.yaml")

    code, out, _ = run("--base", "main", "--json")

    document = json.loads(out)
    assert code == 0
    assert [each["stack"] for each in document["stacks"]] == ["l4-dev", "l4-new"]
    assert usd(out, "diff") == "0.00"
    assert document["stacks"][0]["total"]["plan"]["usd_per_hour"] == "0.00"
    assert document["stacks"][1]["past"]["plan"]["usd_per_hour"] == "0.00"


def test_what_others_did_to_the_base_since_is_not_part_of_the_work(run: Run, project: Path) -> None:
    git(project, "checkout", "-q", "main")
    stack = project / "stacks" / "Pulumi.l4-dev.yaml"
    stack.write_text(L4.replace("g6.xlarge", "g6.2xlarge"))
    git(project, "commit", "-q", "-a", "-m", "a larger one")
    git(project, "checkout", "-q", "work")

    _, out, _ = run("--base", "main")

    assert "no change, " in out


def test_a_newer_price_list_is_told_from_the_change(run: Run, project: Path) -> None:
    """At the base a g6.xlarge cost 0.80, here 0.8048: 0.0048 that nobody here decided."""
    prices = project / "berth" / "catalog" / "prices"
    prices.mkdir(parents=True)
    today = (ROOT / "berth" / "catalog" / "prices" / "us-east-1.yaml").read_text()
    assert today.count("0.8048") >= 1
    (prices / "us-east-1.yaml").write_text(today.replace("0.8048", "0.80"))
    git(project.parent, "add", "-A")
    git(project.parent, "commit", "-q", "-m", "older prices")

    _, out, _ = run("--base", "work", "--json")

    document = json.loads(out)
    assert document["price_list_moves"]["plan_usd_per_hour"] == "0.0048"
    assert document["code_moves"]["plan_usd_per_hour"] == "0.00"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param((), "give BEFORE and AFTER, one preview, or --base REV", id="nothing"),
        pytest.param(("a", "b", "c"), "give BEFORE and AFTER", id="three"),
        pytest.param(("-", "-"), "standard input holds one document", id="stdin-twice"),
        pytest.param(("a", "--base", "main"), "give files or --base, not both", id="both"),
        pytest.param(("a", "--stack", "b"), "--stack goes with --base", id="stack-of-files"),
        pytest.param(("none.json", "b"), "none.json: no such file or directory", id="no-file"),
        pytest.param(("--base", "nothere"), "nothere: no revision that git has", id="revision"),
        pytest.param(("--base", "--output=x"), "expected one argument", id="an-option-as-revision"),
        pytest.param(("--base", "main", "--stack", "l4-dve"), "did you mean l4-dev", id="stack"),
    ],
)
@pytest.mark.usefixtures("project")
def test_wrong_use_ends_with_2(run: Run, words: tuple[str, ...], text: str) -> None:
    code, out, err = run(*words)

    assert (code, out) == (2, "")
    assert text in err
    assert "Traceback" not in err


def test_a_stack_file_that_was_broken_at_the_base_is_named_there(run: Run, project: Path) -> None:
    stack = project / "stacks" / "Pulumi.l4-dev.yaml"
    stack.write_text(L4.replace("max_nodes: 2", "max_nodes: many"))
    git(project, "commit", "-q", "-a", "-m", "broken")
    stack.write_text(L4)

    code, _, err = run("--base", "work")

    assert code == 2
    assert err.startswith("work:stacks/Pulumi.l4-dev.yaml:")
    assert "max_nodes" in err


def test_an_export_alone_has_no_change(run: Run, tmp_path: Path) -> None:
    code, _, err = run(written(tmp_path / "a.json", export(node_group())), "--region", "us-east-1")

    assert code == 2
    assert "an export shows one state of a stack" in err


def test_a_document_that_berth_did_not_write_is_refused_with_its_key(
    run: Run, tmp_path: Path
) -> None:
    data = json.dumps({"lines": [{"name": "GPU nodes", "usd_per_unit": "cheap"}]}).encode()
    path = written(tmp_path / "a.json", data)

    code, _, err = run(path, path)

    assert code == 2
    assert "no estimate as `berth cost --json` writes it" in err


def with_limits(project: Path, text: str) -> None:
    (project.parent / "berth-guardrails.yaml").write_text(text)
    stack = project / "stacks" / "Pulumi.l4-dev.yaml"
    stack.write_text(L4.replace("g6.xlarge", "g6.2xlarge"))


def test_a_change_beyond_the_limits_of_the_repository_ends_with_1(run: Run, project: Path) -> None:
    """847.59 to 973.73 USD a month is +14.9 %."""
    with_limits(project, "every_stack: {change_percent: 10}\n")

    code, out, err = run("--base", "main", "--json")

    assert code == 1
    assert err == (
        "l4-dev: berth-guardrails.yaml: every_stack.change_percent: the change makes a month "
        "+14.9 %, above 10; divide the change, or raise change_percent\n"
    )
    (found,) = json.loads(out)["guardrails"]
    assert (found["enforcement_level"], found["override"]) == ("mandatory", None)


def test_a_reason_sets_the_limits_aside_and_is_shown(run: Run, project: Path) -> None:
    with_limits(project, "every_stack: {change_percent: 10}\n")

    code, out, err = run("--base", "main", "--json", "--override", "agreed with finance")

    assert code == 0
    assert "(accepted: agreed with finance)" in err
    assert json.loads(out)["guardrails"][0]["override"] == "agreed with finance"


def test_a_warning_refuses_nothing(run: Run, project: Path) -> None:
    with_limits(project, "stacks: {l4-dev: {warn: {change_percent: 10}}}\n")

    code, _, err = run("--base", "main")

    assert code == 0
    assert err.endswith("above 10 (a warning)\n")


def test_limits_of_another_stack_do_not_hold(run: Run, project: Path) -> None:
    with_limits(project, "stacks: {h100-prod: {change_percent: 1}}\n")

    assert run("--base", "main")[0] == 0


def test_limits_that_cannot_be_read_are_told_before_anything_is_priced(
    run: Run, project: Path
) -> None:
    with_limits(project, "every_stack: {change_percent: much}\n")

    code, out, err = run("--base", "main")

    assert (code, out) == (2, "")
    assert "every_stack.change_percent: much is not a number of per cent" in err
