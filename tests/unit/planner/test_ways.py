"""Ways to make a server fit: unlike each other, near, and true."""

from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.planner.engine_options import EngineOptions
from berth.planner.search import Request, search
from berth.planner.ways import ways_to_fit

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"


def ways(model: str, *, gpu: str, size: int | None = None, **options: Any) -> list[str]:
    catalog = load_catalog()
    asked = EngineOptions(vllm_version="0.32.0", **options)
    found = search(
        catalog.models[model],
        Request(options=asked, gpu=gpu, tensor_parallel_size=size),
        catalog,
    )
    assert not found.chosen.verdict.fits
    return ways_to_fit(catalog.models[model], found.chosen, catalog)


def test_a_request_too_long_for_the_cache_may_be_shorter_or_have_more_memory() -> None:
    found = ways(LLAMA_8B, gpu="L4", size=1)

    assert [way.split()[0] for way in found] == ["max_model_len", "tensor_parallel_size", "gpu"]


def test_two_changes_are_tried_where_one_is_not_enough() -> None:
    """141 GB in 16 bits: not on two H100, but 70 GB in fp8 are, with 35 GB each."""
    found = ways(LLAMA_70B, gpu="H100-SXM-80GB", size=1)

    assert "quantization fp8 with tensor_parallel_size 2" in found


@pytest.mark.parametrize(
    ("options", "way"),
    [
        pytest.param({"gpu_memory_utilization": 1.0}, "gpu_memory_utilization 0.99", id="share"),
        pytest.param(
            {"kv_cache_memory_bytes": 80 << 30}, "kv_cache_memory_bytes left out", id="cache"
        ),
        pytest.param({"block_size": 7}, "block_size left out", id="block"),
    ],
)
def test_what_was_asked_too_much_is_put_back_first(options: dict[str, Any], way: str) -> None:
    assert ways(LLAMA_8B, gpu="H100-SXM-80GB", size=1, **options)[0] == way


def test_a_split_that_does_not_divide_the_heads_has_a_neighbour() -> None:
    assert ways(LLAMA_8B, gpu="H100-SXM-80GB", size=7)[0] == "tensor_parallel_size 8"
