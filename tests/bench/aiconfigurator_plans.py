"""Times the memory estimate of aiconfigurator, in whatever interpreter has it.

Runs as a program of its own: reads a table of models, systems and sizes as JSON, writes what it
measured as JSON. It imports nothing of this repository.
"""

import importlib
import json
import logging
import sys
import time
from typing import Any

logging.disable(logging.CRITICAL)


def main() -> int:
    """Read the table from standard input, estimate every line of it, print the counts."""
    estimate = importlib.import_module("aiconfigurator_core.sdk.memory").estimate_kv_cache
    table = json.load(sys.stdin)
    answered = refused = 0
    for system in table["systems"]:  # reads the data of the system
        _estimated(estimate, "Qwen/Qwen3-8B", system, 1)
    seconds = 0.0
    deadline = time.perf_counter() + table["most_s"]
    for model in table["models"]:
        for system in table["systems"]:
            for size in table["sizes"]:
                started = time.perf_counter()
                if started > deadline:
                    break
                if _estimated(estimate, model, system, size):
                    answered += 1
                    seconds += time.perf_counter() - started
                else:
                    refused += 1
    json.dump({"answered": answered, "refused": refused, "seconds": seconds}, sys.stdout)
    return 0


def _estimated(estimate: Any, model: str, system: str, size: int) -> bool:
    """Whether there was an answer."""
    try:
        estimate(
            model,
            system,
            "vllm",
            "current",
            max_num_tokens=8192,
            max_batch_size=256,
            memory_fraction_kind="of_total",
            memory_fraction_value=0.92,
            tp_size=size,
            moe_tp_size=size,
            moe_ep_size=1,
        )
    except Exception:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
