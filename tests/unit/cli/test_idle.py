"""`berth idle` as a person or a nightly job runs it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from berth.cli.__main__ import main
from tests.unit.idle.server import StandIn, serving

L4 = Path(__file__).parents[3] / "stacks" / "Pulumi.l4-dev.yaml"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.delenv("PROMETHEUS_TOKEN", raising=False)
    with serving() as state:
        yield state


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*words: object) -> tuple[int, str, str]:
        code = main(["idle", "--stack", str(L4), *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_it


def test_an_idle_gpu_with_money_and_the_line_that_frees_it(run: Run, server: StandIn) -> None:
    """g6.xlarge at 0.8048 for six hours is 4.83."""
    server.always = {"GPU-1": 0}
    line = next(
        number
        for number, text in enumerate(L4.read_text().splitlines(), 1)
        if text.strip().startswith("min_nodes")
    )

    code, out, err = run("--prometheus", server.url)

    assert (code, err) == (0, "")
    assert out.splitlines()[0] == (
        "l4-dev: 1 GPU served nothing for 6 hours, 0.80 USD an hour, 4.83 USD in that time; "
        "0 GPUs in use"
    )
    assert f"Pulumi.l4-dev.yaml:{line}: berth:tiers.l4.min_nodes: lower it from 1" in out


def test_a_busy_gpu_is_not_named(run: Run, server: StandIn) -> None:
    server.always = {"GPU-1": 70}

    code, out, _ = run("--prometheus", server.url, "--max-gpus", "0")

    assert (code, len(out.splitlines())) == (0, 1)
    assert out.endswith("1 GPU in use\n")


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (("--max-usd-per-hour", "0.81"), 0),
        (("--max-usd-per-hour", "0.80"), 1),
        (("--max-gpus", "1"), 0),
        (("--max-gpus", "0"), 1),
    ],
)
def test_a_limit_ends_with_1(run: Run, server: StandIn, limit: tuple[str, str], code: int) -> None:
    server.always = {"GPU-1": 0}

    found, _, err = run("--prometheus", server.url, *limit)

    assert found == code
    assert ("free them, or raise the limit" in err) == bool(code)


def test_json(run: Run, server: StandIn) -> None:
    server.always = {"GPU-1": 0}

    document = json.loads(run("--prometheus", server.url, "--json", "--hours", "2")[1])

    assert document["hours"] == 2
    assert document["idle"] == {
        "gpus": 1,
        "usd_per_hour": "0.8048",
        "usd": "1.61",
        "at_least": False,
    }
    assert document["gpus"][0]["key"] == "berth:tiers.l4.min_nodes"


def test_recorded_answers_say_the_same_again(run: Run, server: StandIn, tmp_path: Path) -> None:
    server.always = {"GPU-1": 0}
    path = tmp_path / "r.json"
    live = run("--prometheus", server.url, "--record", path)

    assert run("--recorded", path) == live
    assert len(server.asked) == 3


def test_no_series_is_no_verdict(run: Run, server: StandIn) -> None:
    code, out, err = run("--prometheus", server.url, "--max-gpus", "0")

    assert (code, out) == (2, "")
    assert "no series of DCGM_FI_DEV_GPU_UTIL or DCGM_FI_PROF_GR_ENGINE_ACTIVE" in err


def test_a_file_that_cannot_be_written(run: Run, server: StandIn, tmp_path: Path) -> None:
    server.always = {"GPU-1": 0}

    code, _, err = run("--prometheus", server.url, "--record", tmp_path / "no" / "r.json")

    assert code == 2
    assert "no such file" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "one of the arguments --prometheus --recorded is required"),
        (["--prometheus", "http://127.0.0.1:9"], "cannot be reached"),
        (["--prometheus", "x"], "no address of a Prometheus server"),
        (["--recorded", "no-such-file"], "no-such-file: no such file"),
        (["--recorded", str(L4)], "no recording of `berth idle --record`"),
        (["--prometheus", "http://127.0.0.1:9", "--hours", "0"], "0 is no time"),
        (
            ["--prometheus", "http://127.0.0.1:9", "--hours", "700", "--step", "15"],
            "168,000 points",
        ),
        (["--prometheus", "http://127.0.0.1:9", "--step", "1.5"], "no whole number of seconds"),
        (["--prometheus", "http://127.0.0.1:9", "--max-gpus", "-1"], "--max-gpus"),
        (["--prometheus", "http://127.0.0.1:9", "--max-usd-per-hour", "nan"], "nan is no amount"),
    ],
)
def test_wrong_usage_and_no_answer(run: Run, words: list[str], said: str) -> None:
    code, out, err = run(*words)

    assert (code, out) == (2, "")
    assert said in err
