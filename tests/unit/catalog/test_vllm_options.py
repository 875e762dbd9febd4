"""The options of vLLM's own parser."""

from berth.catalog.vllm_option import load_vllm_options


def test_an_option_is_found_by_each_of_its_spellings() -> None:
    options = load_vllm_options()

    assert options["-tp"] is options["--tensor-parallel-size"]
    assert options["--tensor-parallel-size"].takes_value


def test_a_switch_takes_no_value() -> None:
    assert not load_vllm_options()["--no-enable-prefix-caching"].takes_value


def test_choices_are_those_of_the_parser() -> None:
    choices = load_vllm_options()["--kv-cache-dtype"].choices

    assert choices is not None
    assert {"auto", "fp8", "fp8_e5m2"} <= set(choices)
