"""Whatever a configuration or a caller says, the answer is a verdict or lines, no traceback."""

import copy
import math
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berth.catalog.config_values import ModelConfigError
from berth.catalog.gpu import load_gpus
from berth.catalog.model import Model, Models, load_models
from berth.catalog.model_config import model_from_config
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import plan_memory

MODELS = load_models()
assert isinstance(MODELS, Models)
CONFIGS = [entry.config for entry in MODELS.entries.values()]
HOSTILE: list[Any] = [
    *(None, -1, 0, 3, 10**9, 10**30, 1e308, math.nan, math.inf),
    *("x", "", [], {}, [1], ["a"], True),
]
ANY_INTEGER = st.one_of(st.none(), st.integers(-2, 2), st.sampled_from([7, 256, 4096, 10**12]))
OPTIONS = st.builds(
    EngineOptions,
    vllm_version=st.sampled_from(
        ["0.32.0", "0.25.1", "0.11.0", "0.8.5", "0.6.0", "0.99.1", "main"]
    ),
    quantization=st.sampled_from(["auto", "none", "fp8", "awq", "nvfp4", "mxfp4", "zz"]),
    kv_cache_dtype=st.sampled_from(["auto", "fp8", "fp8_e5m2"]),
    tensor_parallel_size=st.integers(-1, 65),
    pipeline_parallel_size=st.integers(-1, 200),
    expert_parallel=st.booleans(),
    max_model_len=ANY_INTEGER,
    max_num_seqs=ANY_INTEGER,
    max_num_batched_tokens=ANY_INTEGER,
    kv_cache_memory_bytes=ANY_INTEGER,
    block_size=ANY_INTEGER,
    gpu_memory_utilization=st.one_of(st.none(), st.floats()),
    enforce_eager=st.booleans(),
    prefix_caching=st.booleans(),
)


def places(config: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, value in config.items():
        found.append((*above, key))
        if isinstance(value, dict):
            found += places(value, (*above, key))
    return found


@st.composite
def spoilt_configs(draw: st.DrawFn) -> dict[str, Any]:
    config = copy.deepcopy(dict(draw(st.sampled_from(CONFIGS))))
    place = draw(st.sampled_from(places(config)))
    holder = config
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
    return config


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(config=spoilt_configs(), options=OPTIONS, gpu=st.sampled_from(sorted(load_gpus())))
def test_a_spoilt_configuration_is_refused_in_lines_or_planned(
    config: dict[str, Any], options: EngineOptions, gpu: str
) -> None:
    model, lines = model_or_lines(config)
    if model is None:
        assert lines
        assert not any("\n" in line for line in lines)
        return

    verdict = plan_memory(model, load_gpus()[gpu], options)

    assert all(math.isfinite(value) for value in vars_of(verdict.memory))
    assert verdict.fits or verdict.reasons


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    name=st.sampled_from(sorted(MODELS.entries)),
    gpu=st.sampled_from(sorted(load_gpus())),
    ranks=st.sampled_from([1, 2, 4]),
)
def test_more_ranks_never_take_more_weights_each(name: str, gpu: str, ranks: int) -> None:
    model = MODELS[name]

    fewer, more = (
        plan_memory(
            model,
            load_gpus()[gpu],
            EngineOptions(vllm_version="0.32.0", tensor_parallel_size=n),
        ).memory.weights_gib
        for n in (ranks, 2 * ranks)
    )

    assert more <= fewer * 1.001


def model_or_lines(config: dict[str, Any]) -> tuple[Model | None, tuple[str, ...]]:
    try:
        return model_from_config(config, "config.json"), ()
    except ModelConfigError as error:
        return None, error.lines


def vars_of(memory: Any) -> list[float]:
    return [getattr(memory, name) for name in type(memory).__slots__]
