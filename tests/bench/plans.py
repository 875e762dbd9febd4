"""How fast the planner is: one fixed plan, and 40 models x 15 GPUs x tensor parallel 1 to 8."""

import json
import time
from statistics import median

from berth.catalog.load import load_catalog
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import plan_memory

MODELS, GPUS, SIZES = 40, 15, range(1, 9)
REPEATS = 2000


def main() -> None:
    """Measure and print one line of JSON."""
    started = time.perf_counter()
    catalog = load_catalog()
    load_s = time.perf_counter() - started
    models = [catalog.models[name] for name in list(catalog.models)[:MODELS]]
    gpus = [gpu for gpu in catalog.gpus.values() if gpu.tier][:GPUS]
    started = time.perf_counter()
    for model in models:
        for gpu in gpus:
            for size in SIZES:
                plan_memory(model, gpu, _options(size))
    table_s = time.perf_counter() - started
    plans = len(models) * len(gpus) * len(SIZES)
    print(
        json.dumps(
            {
                "catalog_load_s": round(load_s, 3),
                "one_plan_ms": round(_one_plan_ms(), 4),
                "table_plans": plans,
                "table_plans_per_s": round(plans / table_s),
            }
        )
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
