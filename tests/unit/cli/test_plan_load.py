"""`berth plan` with a load, and `berth calibrate`, as commands."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from berth.cli.__main__ import main

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LOAD = ["--requests-per-second", "2", "--input-tokens", "1000", "--output-tokens", "200"]
FIXED = ["plan", LLAMA_8B, "--gpu", "H100", "--tensor-parallel-size", "1"]


def planned(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of one run."""
    code = main([*argv, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_json_has_speed_start_and_price(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = planned([*FIXED, *LOAD], capsys)

    chosen = document["chosen"]
    assert code == 0
    assert {
        "ttft_ms",
        "ttft_ms_low",
        "ttft_ms_high",
        "itl_ms",
        "itl_ms_low",
        "itl_ms_high",
        "output_tokens_per_s",
        "requests_per_s",
        "capacity_requests_per_s",
        "decode_ceiling_tokens_per_s",
        "evidence",
    } <= set(chosen["speed"])
    assert list(chosen["startup"]) == [
        "image_s",
        "weights_s",
        "compile_and_graphs_s",
        "total_s",
        "budget_s",
    ]
    assert chosen["cost"]["usd_per_hour"] == "6.88"  # p5.4xlarge, list of 2026-07-20
    assert document["search_ms"] > 0
    assert all(set(each) >= {"gpu", "reason"} for each in document["rejected"])


def test_a_replica_over_two_nodes_is_told_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSeek V3 takes 671 GB, and eight H100 have 640."""
    argv = ["plan", "deepseek-ai/DeepSeek-V3", "--instance-type", "p5.48xlarge", *LOAD]
    code, document = planned([*argv, "--max-model-len", "16384"], capsys)

    chosen = document["chosen"]
    assert (code, chosen["nodes_per_replica"]) == (0, 2)
    assert chosen["vllm_args"][-4:] == ["--distributed-executor-backend", "mp", "--nnodes", "2"]


def test_clients_are_answered_by_one_replica_unless_goals_ask_for_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = ["--concurrency", "32", "--input-tokens", "1000", "--output-tokens", "200"]
    _, document = planned([*FIXED, *load, "--vllm-version", "0.24.0"], capsys)

    speed = document["chosen"]["speed"]
    assert document["chosen"]["replicas"] == 1
    assert speed["itl_ms"] == pytest.approx(12.1, rel=0.02)  # an independent prototype
    assert speed["ttft_ms"] == pytest.approx(117, rel=0.02)


def test_goals_that_nothing_meets_are_exit_1_with_the_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main([*FIXED, *LOAD, "--itl-ms", "2", "--json"])
    output = capsys.readouterr()

    assert code == 1
    assert json.loads(output.out)["meets_goals"] is False
    assert output.err.startswith("itl_ms ")
    assert "against 2 (" in output.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(
            ["--requests-per-second", "0", "--input-tokens", "9", "--output-tokens", "9"],
            "--requests-per-second: 0 is not above 0; raise it",
            id="no-load",
        ),
        pytest.param(
            ["--requests-per-second", "-3", "--input-tokens", "9", "--output-tokens", "9"],
            "--requests-per-second: -3 is not above 0; raise it",
            id="negative",
        ),
        pytest.param(
            [*LOAD, "--concurrency", "3"],
            "--concurrency: is given beside --requests-per-second; give one of them",
            id="both-kinds",
        ),
        pytest.param(
            [*LOAD, "--max-model-len", "1199"],
            "--max-model-len: 1199 is below the 1200 tokens of a request; "
            "raise it or shorten the request",
            id="longer-than-allowed",
        ),
        pytest.param(
            ["--requests-per-second", "1", "--input-tokens", "200000", "--output-tokens", "9"],
            f"berth plan: --input-tokens: 200009 tokens of a request are above the 131072 of "
            f"{LLAMA_8B}; shorten it or name another model",
            id="longer-than-the-model",
        ),
        pytest.param(
            ["--requests-per-second", "1"],
            "--input-tokens: is needed to know what a request costs; give its tokens",
            id="no-tokens",
        ),
        pytest.param(
            ["--itl-ms", "40"],
            "--ttft-ms, --itl-ms: need a load; give --requests-per-second or --concurrency",
            id="goals-without-load",
        ),
        pytest.param(
            [*LOAD, "--usd-per-gpu-hour", "MI300X=free"],
            "berth plan: --usd-per-gpu-hour: MI300X=free is no GPU with a price above 0; "
            "write MI300X=1.85",
            id="no-price",
        ),
        pytest.param(
            [*LOAD, "--region", "eu-west-1", "--gpu", "L4"],
            "berth plan: --region: L4 is not sold in eu-west-1; name one of ",
            id="region-without-the-gpu",
        ),
    ],
)
def test_a_wrong_load_is_refused(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["plan", LLAMA_8B, *arguments])

    output = capsys.readouterr()
    assert code == 2
    assert output.err.startswith(line)


def test_the_page_says_speed_price_and_what_lost(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["plan", LLAMA_8B, *LOAD, "--itl-ms", "60", "--max-model-len", "4096"])

    page = capsys.readouterr().out
    assert code == 0
    assert "USD per 1M output tokens" in page
    assert "by memory bandwidth at most" in page
    assert "no price of MI300X is known; give --usd-per-gpu-hour MI300X=USD" in page


def test_explain_says_what_a_wider_split_over_pcie_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["plan", "Llama-3.3-70B-Instruct", *LOAD, "--max-model-len", "4096", "--explain", "L40S"])

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("L40S: ")
    assert "TP 8 over PCIe is beyond the limit of 2: all-reduce alone takes 4.9 s" in last


def test_the_plot_has_the_frontier_and_the_goal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "plan.svg"

    code = main([*FIXED, *LOAD, "--itl-ms", "60", "--plot", str(file)])

    text = file.read_text(encoding="utf-8")
    assert code == 0
    assert "price against latency" in text
    assert "goal: 60 ms per token" in text


def test_the_plot_may_be_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    file = tmp_path / "plan.png"

    code = main([*FIXED, *LOAD, "--plot", str(file)])

    assert code == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_a_plot_of_another_kind_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = main([*FIXED, *LOAD, "--plot", str(tmp_path / "plan.gif")])

    assert code == 2
    assert "is neither .svg nor .png" in capsys.readouterr().err


def test_both_roofs_of_a_narrow_format_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    # 1,008 GB/s over 4.68 GB, and over 0.5 GB for each of 8.03 billion weights
    load = ["--concurrency", "1", "--input-tokens", "100", "--output-tokens", "200"]

    main(["plan", LLAMA_8B, "--gpu", "RTX-4090", "--quantization", "awq", *load])

    page = capsys.readouterr().out
    assert "by memory bandwidth at most 216" in page
    assert "0.5 GB per billion weights at most 251" in page


def a_bench(clients: int, itl_ms: float, **changes: Any) -> dict[str, Any]:
    """A result of `vllm bench serve` for Llama 8B on one H100."""
    return {
        "date": "20261129-101112",
        "model_id": LLAMA_8B,
        "num_prompts": 10 * clients,
        "completed": 10 * clients,
        "max_concurrency": clients,
        "total_input_tokens": 10_000 * clients,
        "total_output_tokens": 2_000 * clients,
        "mean_ttft_ms": 50.0 if clients == 1 else 150.0,
        "mean_tpot_ms": itl_ms,
        "output_throughput": 1000 * clients / itl_ms,
    } | changes


def bench_files(folder: Path, *benches: dict[str, Any]) -> list[str]:
    """Each result in a file of its own."""
    paths = []
    for index, bench in enumerate(benches):
        path = folder / f"run{index}.json"
        path.write_text(json.dumps(bench), encoding="utf-8")
        paths.append(str(path))
    return paths


def test_a_calibrated_plan_says_what_was_measured(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = bench_files(tmp_path, a_bench(32, 15.0), a_bench(1, 8.0))
    target = str(tmp_path / "calibration.json")
    load = ["--concurrency", "32", "--input-tokens", "1000", "--output-tokens", "200"]

    code = main(["calibrate", "--bench", *files, "--gpu", "H100", "--output", target])
    _, document = planned([*FIXED, *load, "--calibration", target], capsys)

    speed = document["chosen"]["speed"]
    assert code == 0
    assert speed["itl_ms"] == pytest.approx(15.0, abs=0.01)
    assert speed["ttft_ms"] == pytest.approx(150, abs=0.1)
    assert (speed["evidence"], speed["constants"]) == ("calibrated", "calibrated on 2026-11-29")
    assert speed["itl_ms_high"] / speed["itl_ms"] < 1.2


@pytest.mark.parametrize(
    ("changes", "loaded_itl_ms", "line"),
    [
        pytest.param(
            {"model_id": "Qwen/Qwen3-8B"}, 15.0, "is of Qwen/Qwen3-8B, not of", id="model"
        ),
        pytest.param({"gpu": "L4"}, 15.0, "was run on L4, not on H100-SXM-80GB", id="gpu-stated"),
        pytest.param({}, 5.0, "contradict 8 ms with one", id="faster-under-load"),
        pytest.param({}, 500.0, "contradict", id="throughput-falls"),
        pytest.param({"max_concurrency": 1}, 15.0, "have 1 and 1 clients", id="same-load-twice"),
        pytest.param({"completed": 100}, 15.0, "100 of 320 requests were answered", id="failures"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(
    changes: dict[str, Any],
    loaded_itl_ms: float,
    line: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    files = bench_files(tmp_path, a_bench(1, 8.0), a_bench(32, loaded_itl_ms) | changes)

    code = main(["calibrate", "--bench", *files, "--gpu", "H100", "--model", LLAMA_8B])

    assert code in (1, 2)
    assert line in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("", "is no JSON", id="empty"),
        pytest.param("[" * 100_000, "is no JSON", id="deep"),
        pytest.param("[]", "is no JSON object", id="list"),
        pytest.param(
            '{"mean_tpot_ms": 1, "mean_tpot_ms": 2}', "has mean_tpot_ms twice", id="twice"
        ),
        pytest.param('{"completed": NaN}', "has no completed above 0", id="nan"),
        pytest.param('{"completed": "10"}', "has no completed above 0", id="text"),
    ],
)
def test_a_hostile_file_is_refused_in_one_line(
    text: str, line: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = bench_files(tmp_path, a_bench(1, 8.0))
    hostile = tmp_path / "hostile.json"
    hostile.write_text(text, encoding="utf-8")

    code = main(["calibrate", "--bench", *files, str(hostile), "--gpu", "H100"])

    errors = capsys.readouterr().err
    assert code == 2
    assert line in errors
    assert errors.count("\n") == 1


def test_another_gpu_is_seen_by_its_speed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # an L4 cannot read 15 GiB of weights in 8 ms: 300 GB/s make 54 ms
    files = bench_files(tmp_path, a_bench(1, 8.0), a_bench(32, 15.0))

    code = main(["calibrate", "--bench", *files, "--gpu", "L4"])

    assert code == 1
    assert "check GPU, format and split" in capsys.readouterr().err


def test_labels_of_a_plot_do_not_overlap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "plan.svg"
    goals = ["--ttft-ms", "1500", "--itl-ms", "40", "--usd-per-gpu-hour", "MI300X=1.85"]
    load = ["--requests-per-second", "12", "--input-tokens", "2000", "--output-tokens", "300"]

    main(["plan", "Llama-3.3-70B-Instruct", *load, *goals, "--plot", str(picture)])

    capsys.readouterr()
    boxes = []
    for node in ElementTree.parse(picture).getroot():
        if node.tag.endswith("text"):
            wide, high = len(node.text or "") * 6.0, float(node.attrib["font-size"])
            left = float(node.attrib["x"]) - (wide if "text-anchor" in node.attrib else 0)
            boxes.append((left, float(node.attrib["y"]) - high, left + wide, node.attrib["y"]))
    assert len(boxes) > 20
    assert not [(a, b) for a, b in combinations(boxes, 2) if overlap(a, b)]


def overlap(one: tuple[float, float, float, str], other: tuple[float, float, float, str]) -> bool:
    """Whether two boxes of left, top, right and bottom have a part in common."""
    beside = one[2] <= other[0] or other[2] <= one[0]
    return not beside and one[1] < float(other[3]) and other[1] < float(one[3])


def test_the_explanation_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = planned(["plan", LLAMA_8B, *LOAD, "--explain", "L40S"], capsys)

    assert document["explanation"].startswith("L40S: ")
    assert "TP 8 over PCIe is beyond the limit of 2" in document["explanation"]
