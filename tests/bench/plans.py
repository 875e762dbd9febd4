"""How fast the planner is: one fixed plan, and 40 models x 15 GPUs x tensor parallel 1 to 8."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from berth.catalog.load import load_catalog
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import plan_memory

MODELS = (
    "MiniMaxAI/MiniMax-M2.5",
    "MiniMaxAI/MiniMax-M2.7",
    "MiniMaxAI/MiniMax-M3",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-1.7B",
    "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen3-235B-A22B-FP8",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-30B-A3B-FP8",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-32B-FP8",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct",
    "Qwen/Qwen3-VL-235B-A22B-Instruct",
    "Qwen/Qwen3-VL-2B-Instruct",
    "Qwen/Qwen3-VL-30B-A3B-Instruct",
    "Qwen/Qwen3-VL-32B-Instruct",
    "Qwen/Qwen3-VL-4B-Instruct",
    "Qwen/Qwen3-VL-8B-Instruct",
    "Qwen/Qwen3.5-122B-A10B",
    "Qwen/Qwen3.5-27B",
    "Qwen/Qwen3.5-35B-A3B",
    "Qwen/Qwen3.5-397B-A17B",
    "XiaomiMiMo/MiMo-7B-Base",
    "XiaomiMiMo/MiMo-V2-Flash",
    "deepseek-ai/DeepSeek-R1",
    "deepseek-ai/DeepSeek-V3",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Flash",
    "deepseek-ai/DeepSeek-V4-Pro",
    "google/gemma-4-26B-A4B",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "meta-llama/Meta-Llama-3.1-405B",
    "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Meta-Llama-3.1-8B",
    "mistralai/Mixtral-8x22B-v0.1",
    "mistralai/Mixtral-8x7B-v0.1",
    "openai/gpt-oss-120b",
    "openai/gpt-oss-20b",
)
"""Configurations that aiconfigurator brings too."""
SYSTEM_OF: dict[str, str | None] = {
    "A100-SXM-80GB": "a100_sxm",
    "A10G": None,
    "B200-SXM-180GB": "b200_sxm",
    "B300-SXM-288GB": "b300_sxm",
    "GB200": "gb200",
    "H100-NVL-94GB": None,
    "H100-PCIE-80GB": "h100_pcie",
    "H100-SXM-80GB": "h100_sxm",
    "H200-SXM-141GB": "h200_sxm",
    "L4": "l4",
    "L40S": "l40s",
    "MI300X": None,
    "MI355X": None,
    "RTX-PRO-6000": "rtx_pro_6000_server",
    "T4": None,
}
"""Our GPUs, and what aiconfigurator calls them, where it knows them."""
SIZES = range(1, 9)
REPEATS = 2000
PYTHON_VARIABLE = "BERTH_AICONFIGURATOR_PYTHON"
"""Names the interpreter that has aiconfigurator, where it is not this one."""
MOST_S = 60
"""Longest that aiconfigurator is measured; the rate is that of what it did."""


def main() -> None:
    """Measure and print: loading, one plan, the table, and the table against aiconfigurator."""
    started = time.perf_counter()
    catalog = load_catalog()
    load_s = time.perf_counter() - started
    models = [catalog.models[name] for name in MODELS]
    gpus = [catalog.gpus[key] for key in SYSTEM_OF]
    started = time.perf_counter()
    for model in models:
        for gpu in gpus:
            for size in SIZES:
                plan_memory(model, gpu, _options(size))
    table_s = time.perf_counter() - started
    plans = len(models) * len(gpus) * len(SIZES)
    print(f"catalog loaded in      {load_s:.3f} s (at most 0.2 wanted)")
    print(f"one fixed plan         {_one_plan_ms():.4f} ms (under 1 wanted)")
    print(f"{plans} plans of a table  {plans / table_s:,.0f} per second")
    print(f"aiconfigurator         {_against_aiconfigurator(plans / table_s)}")


def _against_aiconfigurator(ours_per_s: float) -> str:
    """The same table by aiconfigurator's `estimate_kv_cache`, in words."""
    python = os.environ.get(PYTHON_VARIABLE, sys.executable)
    table = {
        "models": MODELS,
        "systems": [system for system in SYSTEM_OF.values() if system],
        "sizes": list(SIZES),
        "most_s": MOST_S,
    }
    program = Path(__file__).with_name("aiconfigurator_plans.py")
    try:
        ended = subprocess.run(
            [python, str(program)],
            input=json.dumps(table),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return f"not compared: {python} cannot be run ({error.strerror})"
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no output"])[-1]
        return f"not compared ({last}); name a Python that has it in {PYTHON_VARIABLE}"
    theirs = json.loads(ended.stdout)
    if not theirs["answered"]:
        return "not compared: it answered no line of the table"
    per_s = theirs["answered"] / theirs["seconds"]
    return (
        f"{per_s:,.0f} answers per second ({theirs['answered']} of the table's lines, "
        f"{theirs['refused']} more refused): {ours_per_s / per_s:,.1f} times as many plans here"
    )


def _one_plan_ms() -> float:
    catalog = load_catalog()
    model = catalog.models["meta-llama/Llama-3.3-70B-Instruct"]
    gpu = catalog.gpus["H100-SXM-80GB"]
    options = EngineOptions(
        vllm_version="0.32.0", quantization="fp8", tensor_parallel_size=2, max_model_len=16384
    )
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        plan_memory(model, gpu, options)
        times.append((time.perf_counter() - started) * 1000)
    return median(times)


def _options(size: int) -> EngineOptions:
    return EngineOptions(vllm_version="0.32.0", tensor_parallel_size=size)
