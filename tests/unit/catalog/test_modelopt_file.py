"""A format that stands beside `config.json`: read from the folder and from a stand-in hub."""

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from berth.catalog.config_values import ModelConfigError, read_config_file
from berth.catalog.hub import fetch_config
from berth.catalog.model_config import model_from_config
from berth.catalog.modelopt_file import format_in_name

LLAMA_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
BESIDE = {
    "producer": {"name": "modelopt", "version": "0.17.0"},
    "quantization": {
        "quant_algo": "FP8",
        "kv_cache_quant_algo": "FP8",
        "exclude_modules": ["lm_head"],
    },
}
REPOSITORY = Path("nvidia", "Llama-3.1-8B-Instruct-FP8", "resolve", "main")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / REPOSITORY
    made.mkdir(parents=True)
    (made / "config.json").write_text(json.dumps(LLAMA_8B), "utf-8")
    (made / "hf_quant_config.json").write_text(json.dumps(BESIDE), "utf-8")
    return made


class QuietHub(SimpleHTTPRequestHandler):
    """Serves a folder as the hub serves a repository."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        pass


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHub, directory=str(tmp_path)))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_format_beside_the_configuration_counts(folder: Path) -> None:
    model = model_from_config(read_config_file(folder / "config.json"), "llama")

    assert (model.quantization, model.kv_cache_dtype) == ("fp8", "fp8")
    # 32 layers x 218,103,808 weights of 1 byte, 2 x 128,256 x 4,096 of 2 bytes: 8.457 GiB
    assert model.weights_bytes / 1024**3 == pytest.approx(8.457, rel=0.001)


def test_what_the_configuration_itself_says_comes_first(folder: Path) -> None:
    own = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    (folder / "config.json").write_text(json.dumps({**LLAMA_8B, "quantization_config": own}))

    model = model_from_config(read_config_file(folder / "config.json"), "llama")

    assert model.quantization == "nvfp4"


@pytest.mark.parametrize(
    "beside", [{}, {"quantization": 3}, {"quantization": {"quant_algo": None}}]
)
def test_a_file_that_tells_no_format_changes_nothing(folder: Path, beside: dict[str, Any]) -> None:
    (folder / "hf_quant_config.json").write_text(json.dumps(beside), "utf-8")

    assert read_config_file(folder / "config.json") == LLAMA_8B


def test_a_broken_file_beside_is_refused(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text("{", "utf-8")

    with pytest.raises(ModelConfigError, match=r"hf_quant_config.json: is no JSON"):
        read_config_file(folder / "config.json")


def test_the_hub_is_asked_for_both_files(hub: Path) -> None:
    model = model_from_config(fetch_config("nvidia/Llama-3.1-8B-Instruct-FP8"), "llama")

    assert model.quantization == "fp8"


def test_most_repositories_have_no_such_file(hub: Path) -> None:
    (hub / "hf_quant_config.json").unlink()

    assert fetch_config("nvidia/Llama-3.1-8B-Instruct-FP8") == LLAMA_8B


def test_a_repository_that_the_hub_lacks_is_refused(hub: Path) -> None:
    with pytest.raises(ModelConfigError, match="no/such: the hub answers 404; check the name"):
        fetch_config("no/such")


def test_a_hub_is_a_web_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")

    with pytest.raises(ModelConfigError, match="HF_ENDPOINT: file:///etc is no web address"):
        fetch_config("a/b")


@pytest.mark.parametrize(
    ("name", "promised"),
    [
        pytest.param("nvidia/Llama-3.1-70B-Instruct-FP8", "fp8", id="ending"),
        pytest.param("nvidia--DeepSeek-V3.1-NVFP4.json", "nvfp4", id="file"),
        pytest.param("Qwen/Qwen3-8B", None, id="none"),
        pytest.param("me/drawqueen-7b", None, id="inside-a-word"),
    ],
)
def test_formats_in_names(name: str, promised: str | None) -> None:
    assert format_in_name(name) == promised


@pytest.mark.parametrize("name", ["../x", "a", "a/b/c", "a/..", "http://x/y", "a/b?c"])
def test_only_repository_names_are_fetched(name: str) -> None:
    with pytest.raises(ModelConfigError, match="is no repository name; give owner/name"):
        fetch_config(name)
