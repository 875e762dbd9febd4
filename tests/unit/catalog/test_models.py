"""The shipped models: exact parameter counts, sizes as published, names that are found."""

import csv
from pathlib import Path

import pytest

from berth.catalog.model import Models, find_model, load_models

DATA = Path(__file__).parents[2] / "data"
GIB = 1024**3


def counts() -> list[tuple[str, str, int]]:
    with (DATA / "model_parameters.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [(row["repository"], row["counted_class"], int(row["parameters"])) for row in rows]


@pytest.mark.parametrize(("repository", "counted_class", "parameters"), counts())
def test_parameters_are_those_of_the_model_class(
    repository: str, counted_class: str, parameters: int
) -> None:
    """Counted on the meta device; biases of routers are buffers there, hence the tolerance."""
    model = load_models()[repository]

    whole = "ConditionalGeneration" in counted_class
    counted = model.parameters if whole else model.language_parameters
    assert counted == pytest.approx(parameters, rel=1e-6)


def published() -> list[tuple[str, int]]:
    with (DATA / "published_parameters.csv").open(encoding="utf-8") as file:
        return [(row["model"], int(row["parameters"])) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("name", "parameters"), published())
def test_parameters_are_those_that_the_hub_shows(name: str, parameters: int) -> None:
    assert load_models()[name].parameters == pytest.approx(parameters, rel=1e-3)


@pytest.mark.parametrize(
    ("repository", "gib"),
    [
        pytest.param("deepseek-ai/DeepSeek-V3", 641, id="fp8-with-mtp"),
        pytest.param("moonshotai/Kimi-K2-Thinking", 553, id="int4-experts"),
        pytest.param("openai/gpt-oss-20b", 12.8, id="mxfp4-20b"),
        pytest.param("openai/gpt-oss-120b", 60.8, id="mxfp4-120b"),
        pytest.param("meta-llama/Llama-3.1-8B-Instruct", 14.96, id="16-bit"),
    ],
)
def test_downloads_are_as_large_as_published(repository: str, gib: float) -> None:
    assert load_models()[repository].weights_bytes / GIB == pytest.approx(gib, rel=0.005)


@pytest.mark.parametrize(
    ("repository", "billions"),
    [
        pytest.param("Qwen/Qwen3-30B-A3B", 3.3, id="name-says-A3B"),
        pytest.param("Qwen/Qwen3-235B-A22B", 22, id="name-says-A22B"),
        pytest.param("openai/gpt-oss-120b", 5.7, id="published-5.1-without-embedding"),
        pytest.param("meta-llama/Llama-3.1-8B", 8.03, id="dense-all"),
    ],
)
def test_active_parameters_are_those_of_the_experts_chosen(
    repository: str, billions: float
) -> None:
    assert load_models()[repository].active_parameters / 1e9 == pytest.approx(billions, rel=0.03)


@pytest.mark.parametrize(
    ("repository", "attention"),
    [
        ("meta-llama/Llama-3.1-8B", ("full",)),
        ("openai/gpt-oss-20b", ("full", "sliding_window")),
        ("deepseek-ai/DeepSeek-V3", ("mla",)),
        ("zai-org/GLM-5.2", ("sparse_mla",)),
        ("Qwen/Qwen3.5-27B", ("gdn", "full")),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", ("chunked", "full")),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", ("mamba2", "full")),
        ("deepseek-ai/DeepSeek-V4-Pro", ("compressed",)),
    ],
)
def test_kinds_of_attention_are_named(repository: str, attention: tuple[str, ...]) -> None:
    assert load_models()[repository].attention == attention


def test_every_entry_can_be_built() -> None:
    models = load_models()

    assert all(models[name].parameters > 1e8 for name in models)


def test_names_are_unique() -> None:
    models = load_models()
    assert isinstance(models, Models)

    names = [n for key, e in models.entries.items() for n in (key, *e.same_weights)]

    assert len(set(names)) == len(names)


def test_every_entry_has_a_source() -> None:
    models = load_models()
    assert isinstance(models, Models)

    assert all(entry.source.url is not None for entry in models.entries.values())


def test_a_model_is_found_without_its_owner() -> None:
    assert (
        find_model(load_models(), "llama-3.3-70b-instruct") == "meta-llama/Llama-3.3-70B-Instruct"
    )


def test_the_start_of_a_name_names_the_model() -> None:
    with pytest.raises(LookupError, match=r"the nearest is meta-llama/Llama-3.3-70B-Instruct$"):
        find_model(load_models(), "llama-3.3-70b")


def test_a_misspelt_model_names_the_nearest() -> None:
    with pytest.raises(LookupError, match=r"the nearest is Qwen/Qwen3-32B$"):
        find_model(load_models(), "Qwen/Qwen3-32")
