"""How fast the search is: all GPUs, formats and splits in process and as a command; 500 servers."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from statistics import median
from typing import Any

from berth.catalog.load import load_catalog
from berth.config.stack import StackConfig
from berth.planner.account import Account
from berth.planner.cheapest import compare_options
from berth.planner.engine_options import EngineOptions
from berth.planner.make_plan import make_plan
from berth.planner.node_choice import catalog_offers
from berth.planner.search_space import Fixed
from berth.planner.sizing import Goals
from berth.planner.speed.serving import Traffic

MODEL = "Qwen/Qwen3-32B"
DAY = date(2026, 11, 30)
RUNS = 9
LOAD = Traffic(input_tokens=2000, output_tokens=300, requests_per_s=12)
GOALS = Goals(ttft_ms=1500, itl_ms=40)
FLAGS = (
    *("--requests-per-second", "12", "--input-tokens", "2000", "--output-tokens", "300"),
    *("--ttft-ms", "1500", "--itl-ms", "40", "--max-model-len", "16384", "--json"),
)
PEER = (
    "cli default --model-path {model} --system h100_sxm --backend vllm --total-gpus 8 --isl 2000 "
    "--osl 300 --ttft 1500 --tpot 40"
)


def main() -> None:
    """Measure and print one line of JSON."""
    load_catalog()
    everything, h100 = _in_process(None), _in_process("H100-SXM-80GB")
    command_s = _seconds([sys.executable, "-m", "berth", "plan", MODEL, *FLAGS])
    figures: dict[str, Any] = {
        "search_all_gpus_ms": round(everything, 1),
        "search_h100_ms": round(h100, 1),
        "command_all_gpus_s": round(command_s, 2),
        "stack_100_servers_s": round(_stack_s(100), 2),
        "stack_500_servers_s": round(_stack_s(500), 2),
    }
    print(json.dumps(figures | _peer(h100)))


def _in_process(gpu: str | None) -> float:
    """Median milliseconds of CPU of one whole search."""
    catalog = load_catalog()
    offers = catalog_offers(catalog, "us-east-1", DAY, {})
    if gpu is not None:
        offers = {gpu: offers[gpu]}
    fixed = Fixed(options=EngineOptions(vllm_version="", max_model_len=16384))
    model = catalog.models[MODEL]
    return 1000 * _median_s(
        lambda: compare_options(model, fixed, LOAD, GOALS, offers, catalog), time.process_time
    )


def _median_s(work: Callable[[], object], clock: Callable[[], float]) -> float:
    times = []
    for _ in range(RUNS):
        started = clock()
        work()
        times.append(clock() - started)
    return median(times)


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def _stack_s(servers: int) -> float:
    """Seconds to plan a stack with that many model servers, each with a load."""
    catalog = load_catalog()
    server = {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "tier": "l4",
        "max_model_len": 4096,
        "load": {"requests_per_s": 0.5, "input_tokens": 500, "output_tokens": 100},
    }
    config = StackConfig.model_validate(
        {
            "region": "us-east-1",
            "environment": "dev",
            "as_of": DAY,
            "cluster": {"kubernetes_version": "1.35", "endpoint": "private"},
            "tiers": {
                "l4": {
                    "instance_type": "g6.xlarge",
                    "capacity": {"type": "ON_DEMAND"},
                    "max_nodes": 1000,
                }
            },
            "models": {f"m{index}": server for index in range(servers)},
        }
    )
    started = time.process_time()
    make_plan(config, catalog, Account.assumed(config.region, catalog))
    return time.process_time() - started


def _peer(ours_ms: float) -> dict[str, Any]:
    """The same model, load and GPU with aiconfigurator, where it is installed."""
    program = shutil.which("aiconfigurator")
    if program is None:
        return {"aiconfigurator": "not installed, not measured"}
    peer_s = _seconds([program, *PEER.format(model=MODEL).split()])
    return {"aiconfigurator_s": round(peer_s, 1), "times_faster": round(peer_s * 1000 / ours_ms)}
