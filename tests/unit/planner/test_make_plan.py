"""Whole plans of three stacks, and what each says about its servers and nodes."""

from dataclasses import replace
from decimal import Decimal

import pytest

from berth.catalog.load import load_catalog
from berth.catalog.software import Software
from berth.catalog.vllm_option import load_vllm_options
from tests.unit.planner.stacks import (
    BLOCK,
    EXISTING_CLUSTER,
    LLAMA_70B,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    planned,
    refusal,
)

H100_PROD = {
    "environment": "prod",
    "tiers": {"h100": an_h100_tier()},
    "models": {"chat": a_70b(replicas=4)},
}
MI300X_PROD = {
    "region": None,
    "environment": "prod",
    "cluster": EXISTING_CLUSTER,
    "tiers": {"mi300x": an_existing_tier(usd_per_gpu_hour="1.85")},
    "models": {"chat": a_70b(tier="mi300x", replicas=4)},
}


def test_a_70b_in_fp8_takes_two_h100() -> None:
    """67.7 GiB of weights are below one GPU's 72.8, but leave too little cache for 16384 tokens."""
    server = planned(**H100_PROD).servers["chat"]

    assert (server.quantization, server.tensor_parallel_size) == ("fp8", 2)
    assert (server.gpu, server.instance_type) == ("H100-SXM-80GB", "p5.48xlarge")
    assert server.fits
    assert server.memory.weights_gib == pytest.approx(33.88, abs=0.1)
    assert server.memory.needed_kv_gib == pytest.approx(2.5)


def test_four_replicas_of_two_gpus_fill_one_node() -> None:
    plan = planned(**H100_PROD)

    assert plan.servers["chat"].nodes == 1
    pool = plan.pools["h100"]
    assert (pool.min_nodes, pool.planned_nodes, pool.max_nodes) == (1, 1, 2)
    assert pool.gpus_requested == 8


def test_a_fifth_replica_takes_a_second_node() -> None:
    plan = planned(**H100_PROD | {"models": {"chat": a_70b(replicas=5)}})

    assert plan.servers["chat"].nodes == 2
    assert plan.pools["h100"].planned_nodes == 2


def test_every_argument_is_said_in_vllms_words() -> None:
    assert planned(**H100_PROD).servers["chat"].vllm_args == (
        "--model",
        LLAMA_70B,
        "--port",
        "8000",
        "--tensor-parallel-size",
        "2",
        "--max-model-len",
        "16384",
        "--max-num-seqs",
        "1024",
        "--max-num-batched-tokens",
        "8192",
        "--gpu-memory-utilization",
        "0.92",
        "--shutdown-timeout",
        "60",
        "--quantization",
        "fp8_per_tensor",
    )


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param(H100_PROD, id="h100"),
        pytest.param({}, id="l4"),
        pytest.param({"models": {"chat": an_8b(kv_cache_dtype="fp8")}}, id="fp8 cache"),
        pytest.param(MI300X_PROD, id="mi300x"),
    ],
)
def test_vllm_knows_every_argument(stack: dict[str, object]) -> None:
    known = load_vllm_options()
    args = planned(**stack).servers["chat"].vllm_args

    flags, values = args[::2], args[1::2]

    assert all(known[flag].takes_value for flag in flags)
    assert not [value for value in values if value.startswith("-")]
    assert not [
        (flag, value)
        for flag, value in zip(flags, values, strict=True)
        if value not in (known[flag].choices or (value,))
    ]


def test_what_the_stack_fixes_stays_fixed() -> None:
    server = planned(
        tiers={"l4": an_l4_tier(instance_type="g6.12xlarge")},
        models={
            "chat": an_8b(
                tensor_parallel_size=4,
                max_num_seqs=32,
                max_num_batched_tokens=4096,
                gpu_memory_utilization=0.8,
                kv_cache_dtype="fp8",
            )
        },
    ).servers["chat"]

    args = dict(zip(server.vllm_args[::2], server.vllm_args[1::2], strict=True))
    assert args["--tensor-parallel-size"] == "4"
    assert (args["--max-num-seqs"], args["--max-num-batched-tokens"]) == ("32", "4096")
    assert (args["--gpu-memory-utilization"], args["--kv-cache-dtype"]) == ("0.8", "fp8")


def test_16_bit_is_taken_where_it_fits() -> None:
    """8B weights are 15.0 GiB of the 20.3 that vLLM may use on an L4."""
    server = planned().servers["chat"]

    assert (server.quantization, server.tensor_parallel_size) == ("none", 1)
    assert "--quantization" not in server.vllm_args


def test_fp8_is_taken_where_16_bit_leaves_too_little_cache() -> None:
    """A request of 64k tokens needs 8 GiB: more than 20.3 - 15.0, less than 20.3 - 8.5."""
    server = planned(models={"chat": an_8b(max_model_len=65536)}).servers["chat"]

    assert server.quantization == "fp8"
    assert server.vllm_args[-2:] == ("--quantization", "fp8_per_tensor")


def test_widest_format_comes_before_fewest_gpus() -> None:
    """70B in 16 bit on two GPUs of 141 GiB, though fp8 would do with one."""
    server = planned(
        tiers={"h200": an_h100_tier(instance_type="p5en.48xlarge")},
        models={"chat": a_70b(tier="h200", quantization="auto")},
    ).servers["chat"]

    assert (server.quantization, server.tensor_parallel_size) == ("none", 2)


def test_without_a_link_between_gpus_the_search_ends_at_two() -> None:
    """A request of 128k tokens needs 16 GiB of cache: two L4 have it beside 15 GiB of weights."""
    tiers = {"l4": an_l4_tier(instance_type="g6.12xlarge")}

    server = planned(tiers=tiers, models={"chat": an_8b(max_model_len=131_072)}).servers["chat"]
    too_large = refusal(tiers=tiers, models={"chat": a_70b(tier="l4", max_model_len=1024)})

    assert (server.quantization, server.tensor_parallel_size) == ("none", 2)
    assert [" fp8 on 2 x L4, " in line for line in too_large] == [True]


def test_a_stack_may_ask_for_more_than_the_search_would() -> None:
    """70B in FP8 is 17 GiB on each of four L4."""
    server = planned(
        tiers={"l4": an_l4_tier(instance_type="g6.12xlarge")},
        models={"chat": a_70b(tier="l4", max_model_len=1024, tensor_parallel_size=4)},
    ).servers["chat"]

    assert server.gpus_per_replica == 4


def test_mi300x_runs_the_image_for_amd() -> None:
    plan = planned(**MI300X_PROD)
    server, pool = plan.servers["chat"], plan.pools["mi300x"]

    assert server.image == "vllm/vllm-openai-rocm:v0.31.0"
    assert (server.gpu_resource, server.instance_type) == ("amd.com/gpu", None)
    assert (pool.source, pool.gpu_vendor, pool.ami_type) == ("existing", "amd", None)
    assert (pool.min_nodes, pool.planned_nodes, pool.max_nodes) == (2, 2, 2)
    assert plan.usd_per_gpu_hour == {"mi300x": Decimal("1.85")}


def test_a_cluster_that_exists_gets_no_network_and_no_operator() -> None:
    plan = planned(**MI300X_PROD)

    assert (plan.network, plan.system_pool, plan.gpu_software) == (None, None, None)


def test_nvidia_nodes_of_the_stack_get_the_operator() -> None:
    software = planned().gpu_software

    assert software is not None
    assert software.gpu_operator_version == "v26.3.3"


def test_a_pool_carries_what_sets_its_nodes_apart() -> None:
    pool = planned().pools["l4"]

    assert pool.ami_type == "AL2023_x86_64_NVIDIA"
    assert (pool.accelerator, pool.gpu_resource) == ("nvidia-l4", "nvidia.com/gpu")
    assert (pool.root_disk_gib, pool.local_nvme, pool.cpu_arch) == (200, True, "x86_64")


def test_several_servers_share_the_nodes_of_a_tier() -> None:
    """3 x 2 and 2 x 1 GPUs are the eight of one node."""
    plan = planned(
        tiers={"h100": an_h100_tier()},
        models={
            "big": a_70b(replicas=3),
            "small": an_8b(tier="h100", replicas=2),
        },
    )

    assert plan.pools["h100"].planned_nodes == 1
    assert plan.pools["h100"].gpus_requested == 8


def test_a_pool_without_replicas_keeps_its_fewest_nodes() -> None:
    plan = planned(models={"chat": an_8b(replicas=0)})

    assert plan.pools["l4"].planned_nodes == 0
    assert plan.servers["chat"].nodes == 0


def test_the_same_stack_gives_the_same_plan() -> None:
    assert planned(**H100_PROD) == planned(**H100_PROD)


def test_the_block_goes_into_the_pool_as_written() -> None:
    capacity = planned(**H100_PROD).pools["h100"].capacity

    assert capacity is not None
    assert capacity.model_dump(mode="json", exclude_none=True) == BLOCK


def test_nodes_start_with_the_release_that_is_pinned_for_their_region_and_version() -> None:
    pinned = {
        "checked": "2026-12-01",
        "releases": {
            "1.35": {
                "AL2023_x86_64_NVIDIA": "1.35.2-20261120",
                "AL2023_x86_64_STANDARD": "1.35.2-20261122",
            }
        },
    }
    shipped = load_catalog()
    software = Software.model_validate(
        shipped.software.model_dump() | {"ami_releases": {"us-east-1": pinned}}
    )
    catalog = replace(shipped, software=software)
    old = {"kubernetes_version": "1.34", "endpoint": "private"}

    here, older = planned(catalog), planned(catalog, cluster=old)
    elsewhere = planned(catalog, region="us-west-2")

    assert here.system_pool is not None
    assert here.system_pool.ami_release == "1.35.2-20261122"
    assert here.pools["l4"].ami_release == "1.35.2-20261120"
    assert older.pools["l4"].ami_release is None
    assert elsewhere.pools["l4"].ami_release is None
