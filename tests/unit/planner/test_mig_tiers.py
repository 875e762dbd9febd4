"""Tiers whose GPUs are cut into MIG slices: what a slice has, how many fit, what is refused."""

from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.planner.slices import find_profile, gpu_slice
from tests.unit.planner.stacks import (
    EXISTING_CLUSTER,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    planned,
    refusal,
)

SMALL = "Qwen/Qwen2.5-0.5B-Instruct"
H200 = {"instance_type": "p5en.48xlarge", "capacity": {"type": "ON_DEMAND"}}


def a_sliced_tier(profile: str = "3g.40gb", **changes: Any) -> dict[str, Any]:
    """Up to two p5.48xlarge with every GPU cut."""
    return an_h100_tier(mig_profile=profile, **changes)


def sliced(profile: str = "3g.40gb", tier: dict[str, Any] | None = None, **server: Any) -> Any:
    tiers = {"h100": tier or a_sliced_tier(profile)}
    return planned(tiers=tiers, models={"chat": an_8b(tier="h100", **server)})


@pytest.mark.parametrize(
    ("gpu", "profile", "visible_gib", "gb_per_s", "bf16_tflops"),
    [
        # NVIDIA's MIG user guide: 3g.40gb has three of seven compute and four of eight memory
        # slices, 1g.10gb one of each; H100 3350 GB/s and 989 TFLOPS, A100-40 1555 and 312.
        pytest.param("H100-SXM-80GB", "3g.40gb", 38.0, 1675.0, 989 * 3 / 7, id="half"),
        pytest.param("H100-SXM-80GB", "1g.10gb", 9.5, 418.75, 989 / 7, id="smallest"),
        pytest.param("H100-SXM-80GB", "1g.20gb", 19.0, 837.5, 989 / 7, id="double memory"),
        pytest.param("A100-SXM-40GB", "1g.5gb", 4.75, 194.375, 312 / 7, id="A100"),
        # 71 of 141 GB are four eighths of the bandwidth too: 4800 / 2.
        pytest.param("H200-SXM-141GB", "3g.71gb", 67.45, 2400.0, 989 * 3 / 7, id="H200"),
    ],
)
def test_a_slice_has_its_share(
    gpu: str, profile: str, visible_gib: float, gb_per_s: float, bf16_tflops: float
) -> None:
    whole = load_catalog().gpus[gpu]
    cut = find_profile(whole, profile)
    assert cut is not None
    part = gpu_slice(whole, cut)

    assert part.visible_gib == pytest.approx(visible_gib)
    assert part.memory_gb_per_s == pytest.approx(gb_per_s)
    assert part.dense_tflops["bf16"] == pytest.approx(bf16_tflops)
    assert part.evidence == "low"


def test_the_whole_gpu_as_one_slice_shows_no_more_than_the_gpu() -> None:
    for gpu in load_catalog().gpus.values():
        for profile in gpu.mig_profiles:
            assert gpu_slice(gpu, profile).visible_gib <= gpu.visible_gib


@pytest.mark.parametrize(
    ("profile", "slices"), [("1g.10gb", 56), ("2g.20gb", 24), ("3g.40gb", 16), ("7g.80gb", 8)]
)
def test_a_node_offers_the_slices_of_all_its_gpus(profile: str, slices: int) -> None:
    """Eight H100, each cut into 7, 3, 2 or 1."""
    pool = sliced(profile, model=SMALL).pools["h100"]

    assert (pool.gpus_per_node, pool.mig_profile) == (slices, profile)
    assert (pool.gpu, pool.gpu_resource) == ("H100-SXM-80GB", "nvidia.com/gpu")


@pytest.mark.parametrize(("replicas", "nodes"), [(16, 1), (17, 2)])
def test_a_replica_takes_one_slice(replicas: int, nodes: int) -> None:
    server = sliced(replicas=replicas).servers["chat"]

    assert (server.gpus_per_replica, server.tensor_parallel_size) == (1, 1)
    assert server.gpu == "H100-SXM-80GB-MIG-3g.40gb"
    assert server.nodes == nodes


def test_the_replicas_of_all_slices_fit_on_the_host() -> None:
    """p5.48xlarge has 192 vCPU and 2048 GiB, for 56 slices."""
    each = sliced("1g.10gb", model=SMALL).servers["chat"]

    assert each.cpu_request_cores * 56 < 192
    assert each.host_memory_request_gib * 56 < 2048


def test_too_small_a_slice_is_named() -> None:
    """16 bits of 8B are 15 GiB, and FP8 8.5 GiB."""
    tiers = {"h100": a_sliced_tier("1g.10gb")}
    lines = refusal(tiers=tiers, models={"chat": an_8b(tier="h100", quantization="none")})

    assert any("on 1 x H100-SXM-80GB-MIG-1g.10gb" in line for line in lines)


@pytest.mark.parametrize(
    ("quantization", "tokens_per_s"),
    [("none", 1082), ("fp8", 1544)],
)
def test_the_one_measured_slice_is_within_the_band(quantization: str, tokens_per_s: float) -> None:
    """Llama 3.1 8B on an H200 3g.71gb with sixteen requests at once, as published."""
    load = {"concurrency": 16, "input_tokens": 512, "output_tokens": 512}
    tier = an_h100_tier(mig_profile="3g.71gb", **H200)
    speed = (
        sliced(tier=tier, quantization=quantization, replicas=1, load=load).servers["chat"].speed
    )

    assert speed.itl_ms_low < 16 / tokens_per_s * 1000 < speed.itl_ms_high
    assert speed.evidence == "low"


def test_a_load_is_shared_out_over_slices() -> None:
    """A replica is planned for 70 % of its saturation, so 120 % of one take two."""
    load = {"requests_per_s": 1, "input_tokens": 500, "output_tokens": 100}
    one = sliced(load=load, quantization="fp8").servers["chat"]
    more = one.speed.capacity_requests_per_s * 1.2
    two = sliced(load=load | {"requests_per_s": more}, quantization="fp8").servers["chat"]

    assert (one.replicas, two.replicas) == (1, 2)
    assert (two.gpus_per_replica, two.nodes) == (1, 1)


@pytest.mark.parametrize("size", ["tensor_parallel_size", "pipeline_parallel_size"])
@pytest.mark.parametrize(
    "load", [None, {"requests_per_s": 1, "input_tokens": 500, "output_tokens": 100}]
)
def test_slices_do_not_work_together(size: str, load: Any) -> None:
    server = a_70b(**{size: 2, "load": load})
    (line,) = refusal(tiers={"h100": a_sliced_tier()}, models={"chat": server})

    assert line == (
        f"berth:models.chat.{size}: 2, and tier h100 has MIG slices of H100-SXM-80GB, which have "
        "no peer access to each other; set it to 1, or name a tier without mig_profile"
    )


@pytest.mark.parametrize(
    ("tier", "line"),
    [
        pytest.param(
            an_l4_tier(mig_profile="1g.10gb"),
            "berth:tiers.l4.mig_profile: no MIG profile of L4 is known, so it is not cut into "
            "slices; remove it, or name a type with one of A100-SXM-40GB, ",
            id="GPU without MIG",
        ),
        pytest.param(
            a_sliced_tier("1g.5gb"),
            "berth:tiers.l4.mig_profile: H100-SXM-80GB has no profile 1g.5gb; use one of 1g.10gb, "
            "1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb",
            id="profile of another GPU",
        ),
        pytest.param(
            a_sliced_tier(ami_type="BOTTLEROCKET_x86_64_NVIDIA"),
            "berth:tiers.l4.mig_profile: BOTTLEROCKET_x86_64_NVIDIA takes no MIG manager, which "
            "cuts the GPUs; remove ami_type, or remove mig_profile",
            id="image without the manager",
        ),
    ],
)
def test_what_cannot_be_cut_is_refused(tier: dict[str, Any], line: str) -> None:
    lines = refusal(tiers={"l4": tier})

    assert any(each.startswith(line) for each in lines)


def test_amd_has_no_mig() -> None:
    with pytest.raises(ValueError, match="mig_profile"):
        refusal(
            cluster=EXISTING_CLUSTER,
            tiers={"mi300x": an_existing_tier(mig_profile="1g.10gb")},
            models={"chat": a_70b(tier="mi300x")},
        )


def test_only_a_sliced_pool_needs_the_mig_manager() -> None:
    whole = planned(tiers={"h100": an_h100_tier()}, models={"chat": an_8b(tier="h100")})

    assert whole.gpu_software is not None
    assert not whole.gpu_software.cuts_slices
    assert sliced().gpu_software.cuts_slices


def test_lists_do_not_mix_slices_and_whole_gpus() -> None:
    tiers = {"h100": an_h100_tier(capacity={"type": "ON_DEMAND"}), "cut": a_sliced_tier()}
    (line,) = refusal(tiers=tiers, models={"chat": an_8b(tier=["h100", "cut"])})

    assert line.startswith("berth:models.chat.tier[1]: cut is p5.48xlarge (16 x H100-SXM-80GB-MIG")
