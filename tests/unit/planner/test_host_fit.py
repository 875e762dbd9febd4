"""Host memory, /dev/shm and disk of one replica, against the node it is for."""

import pytest

from berth.catalog.instance import load_instances
from berth.planner.host_fit import host_fit

GIB = 1024**3


@pytest.mark.parametrize(
    ("instance_type", "starts"),
    [
        pytest.param("g6f.large", ["host memory"], id="8-gib"),
        pytest.param("g6f.xlarge", [], id="16-gib"),
    ],
)
def test_a_server_needs_11_gib_of_host_memory(instance_type: str, starts: list[str]) -> None:
    """6 for the server, 4 for the worker, 1 of /dev/shm; 8 GiB less 7.5 %, kubelet and pods: 5."""
    fit = host_fit(1 * GIB, 1, load_instances()[instance_type])

    assert [line.partition(":")[0] for line in fit.reasons(instance_type)] == starts


@pytest.mark.parametrize(
    ("weights_gib", "starts"),
    [pytest.param(50, [], id="fits"), pytest.param(400, ["disk"], id="too-large")],
)
def test_weights_must_fit_on_the_local_disks(weights_gib: int, starts: list[str]) -> None:
    """g6.xlarge has 250 GB: 225 GiB with a file system."""
    fit = host_fit(weights_gib * GIB, 1, load_instances()["g6.xlarge"])

    assert [line.partition(":")[0] for line in fit.reasons("g6.xlarge")] == starts


def test_offloaded_weights_are_in_host_memory() -> None:
    plain = host_fit(16 * GIB, 2, load_instances()["g6.12xlarge"])
    offloaded = host_fit(16 * GIB, 2, load_instances()["g6.12xlarge"], cpu_offload_gib=4)

    assert offloaded.least_memory_gib - plain.least_memory_gib == 8


def test_nothing_is_refused_on_nodes_of_unknown_size() -> None:
    assert host_fit(1000 * GIB, 8, None).reasons("MI300X") == ()
