"""The shipped GPUs: sorted, sourced, found by everyday names, right where a log shows them."""

from datetime import date

import pytest

from berth.catalog.gpu import find_gpu, load_gpus, load_unusable


def test_keys_are_sorted() -> None:
    keys = list(load_gpus())

    assert keys == sorted(keys)


def test_names_are_unique() -> None:
    gpus = load_gpus()

    names = [*gpus, *(alias for gpu in gpus.values() for alias in gpu.aliases)]

    assert len({name.casefold() for name in names}) == len(names)


def test_every_source_was_checked() -> None:
    assert all(gpu.source.checked >= date(2026, 8, 1) for gpu in load_gpus().values())


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("H100", "H100-SXM-80GB"),
        ("h200", "H200-SXM-141GB"),
        ("A100-80", "A100-SXM-80GB"),
        ("a100-40", "A100-SXM-40GB"),
        ("l4", "L4"),
        ("MI300X", "MI300X"),
        ("RTX PRO 6000", "RTX-PRO-6000"),
    ],
)
def test_everyday_names_are_found(name: str, key: str) -> None:
    assert find_gpu(load_gpus(), name) == key


def test_a_misspelt_gpu_names_the_nearest() -> None:
    with pytest.raises(LookupError, match=r"^no GPU is called H10O; the nearest is H100-SXM-80GB$"):
        find_gpu(load_gpus(), "H10O")


@pytest.mark.parametrize("name", [*load_unusable(), "tpu v6e", "rubin ultra"])
def test_other_accelerators_are_told_apart(name: str) -> None:
    with pytest.raises(LookupError, match=r"is .*; "):
        find_gpu(load_gpus(), name)


@pytest.mark.parametrize(
    ("key", "visible_gib"),
    [
        pytest.param("L4", 22.03, id="vllm-0.29-log"),
        pytest.param("A100-SXM-80GB", 79.25, id="vllm-0.31-log"),
        pytest.param("H100-SXM-80GB", 79.18, id="vllm-0.11-tables"),
        pytest.param("H200-SXM-141GB", 139.8, id="vllm-log-of-p5en"),
        pytest.param("MI300X", 191.98, id="bare-metal"),
        pytest.param("T4", 14.56, id="not-sixteen"),
    ],
)
def test_visible_memory_is_that_of_logs(key: str, visible_gib: float) -> None:
    assert load_gpus()[key].visible_gib == visible_gib


def test_workstation_cards_are_no_tiers() -> None:
    gpus = load_gpus()

    assert not any(gpus[key].tier for key in ("RTX-3090", "RTX-4090", "RTX-5090"))


def test_mig_slices_of_one_profile_fit_in_the_gpu() -> None:
    profiles = [p for gpu in load_gpus().values() for p in gpu.mig_profiles]

    assert all(p.count * p.compute_slices <= 7 for p in profiles)


def test_what_was_not_measured_says_so() -> None:
    low = [gpu for gpu in load_gpus().values() if gpu.evidence == "low"]

    assert all(gpu.evidence_note for gpu in low)


@pytest.mark.parametrize(
    ("key", "computes", "stores_only", "neither"),
    [
        pytest.param("T4", {"fp16"}, {"fp8", "int4"}, {"bf16", "mxfp4", "nvfp4"}, id="7.5"),
        pytest.param("A100-SXM-80GB", {"bf16"}, {"fp8", "mxfp4", "nvfp4"}, set(), id="8.0"),
        pytest.param("L4", {"bf16", "fp8"}, {"mxfp4", "nvfp4"}, set(), id="8.9"),
        pytest.param("H100-SXM-80GB", {"bf16", "fp8"}, {"mxfp4", "nvfp4"}, set(), id="9.0"),
        pytest.param("B200-SXM-180GB", {"fp8", "nvfp4", "mxfp4"}, {"int4"}, set(), id="10.0"),
        pytest.param("MI300X", {"bf16", "fp8_fnuz"}, {"int4"}, {"fp8", "nvfp4"}, id="gfx942"),
        pytest.param("MI355X", {"bf16", "fp8", "mxfp4"}, {"int4"}, {"nvfp4"}, id="gfx950"),
    ],
)
def test_formats_follow_the_capability(
    key: str, computes: set[str], stores_only: set[str], neither: set[str]
) -> None:
    """vLLM: FP8 is computed from 8.9 and stored from 7.5; NVFP4 is computed from 10.0."""
    gpu = load_gpus()[key]

    assert computes <= set(gpu.computes)
    assert stores_only <= set(gpu.stores) - set(gpu.computes)
    assert not neither & {*gpu.computes, *gpu.stores}
