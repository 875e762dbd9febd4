"""What a node offers, against Karpenter's published figures, and what a replica asks of it."""

import pytest

from berth.catalog.instance import Instance, load_instances
from berth.planner.host import (
    allocatable_cores,
    allocatable_memory_mib,
    disk_gib,
    host_needs,
    least_memory_gib,
    node_share,
)

GB = 1000**3
BF16_8B_BYTES = 16_060_522_496
"""8,030,261,248 parameters, two bytes each."""
BF16_70B_BYTES = 141_107_412_992


def an_instance(name: str, **changes: object) -> Instance:
    return load_instances()[name].model_copy(update=changes)


@pytest.mark.parametrize(
    ("name", "memory_mib"),
    [
        pytest.param("g6e.xlarge", 29_317, id="32 GiB, 58 pods"),
        pytest.param("g6e.2xlarge", 59_627, id="64 GiB, 58 pods"),
        pytest.param("g6e.8xlarge", 239_554, id="256 GiB, 234 pods"),
    ],
)
def test_memory_for_pods_is_as_karpenter_lists_it(name: str, memory_mib: int) -> None:
    assert allocatable_memory_mib(an_instance(name)) == memory_mib


@pytest.mark.parametrize(
    ("name", "millicores"),
    [
        pytest.param("g6e.xlarge", 3_920, id="4 vCPU"),
        pytest.param("g6e.2xlarge", 7_910, id="8 vCPU"),
        pytest.param("g6e.8xlarge", 31_850, id="32 vCPU"),
        pytest.param("g6.48xlarge", 191_450, id="192 vCPU"),
    ],
)
def test_cores_for_pods_are_as_karpenter_lists_them(name: str, millicores: int) -> None:
    assert allocatable_cores(an_instance(name)) * 1000 == pytest.approx(millicores)


def test_8b_fits_on_the_smallest_l4_node() -> None:
    """14,162 MiB and 3.92 cores less what system pods take: 12 GiB and 3 cores."""
    share = node_share(an_instance("g6.xlarge"), 1)

    needs = host_needs(BF16_8B_BYTES, 1, share)

    assert (share.cores, share.memory_gib) == (3, 12)
    assert (needs.cpu_request_cores, needs.host_memory_request_gib) == (3, 12)


def test_all_replicas_of_a_node_fit_beside_each_other() -> None:
    """Four of two GPUs on a p5.48xlarge: 191.45 cores, 2048 GiB less 7.5 % and the kubelet's."""
    p5 = an_instance("p5.48xlarge")

    needs = host_needs(BF16_70B_BYTES, 2, node_share(p5, 2))

    assert 4 * needs.cpu_request_cores <= 190
    assert 4 * needs.host_memory_request_gib <= allocatable_memory_mib(p5) / 1024 - 1
    assert needs.host_memory_request_gib >= 132, "the weights stay in the page cache"


def test_two_threads_per_process_of_vllm() -> None:
    """2 + N physical cores for N GPUs, with two threads each."""
    assert host_needs(BF16_70B_BYTES, 2, None).cpu_request_cores == 8


@pytest.mark.parametrize(
    ("gpus", "shm_gib"),
    [
        pytest.param(1, 1, id="one rank"),
        pytest.param(2, 4, id="two ranks"),
        pytest.param(8, 16, id="eight ranks: 2 GiB in all ran out"),
    ],
)
def test_shared_memory_grows_with_the_ranks(gpus: int, shm_gib: int) -> None:
    assert host_needs(BF16_8B_BYTES, gpus, None).shm_gib == shm_gib


def test_shared_memory_is_part_of_the_memory_request() -> None:
    needs = host_needs(BF16_8B_BYTES, 8, None)

    assert needs.host_memory_request_gib == least_memory_gib(8)
    assert needs.host_memory_request_gib > needs.shm_gib


def test_the_cache_holds_two_revisions() -> None:
    """2 x 131.42 GiB, and 5 % for what comes with them, is 275.98."""
    assert host_needs(BF16_70B_BYTES, 2, None).model_cache_gib == 276


@pytest.mark.parametrize(
    ("weights_bytes", "startup_budget_s"),
    [
        pytest.param(16 * GB, 1_800, id="floor while weights come from the hub"),
        pytest.param(150 * GB, 1_800, id="150 GB at 0.2 GB/s twice, and 300 s, is the floor"),
        pytest.param(151 * GB, 1_810, id="151 GB is above it"),
        pytest.param(810 * GB, 8_400, id="405B in 16 bit"),
    ],
)
def test_the_start_may_take_twice_the_download(weights_bytes: int, startup_budget_s: int) -> None:
    assert host_needs(weights_bytes, 8, None).startup_budget_s == startup_budget_s


def test_weights_go_to_local_disks_where_there_are_any() -> None:
    """3.8 TB are 3539 GiB, of which a file system leaves nine tenths of the number in GB."""
    assert disk_gib(an_instance("p5.4xlarge"), root_disk_gib=200) == 3_420


def test_without_local_disks_the_root_disk_keeps_room_for_images() -> None:
    assert disk_gib(an_instance("p5.4xlarge", local_nvme_gb=0), root_disk_gib=200) == 150
