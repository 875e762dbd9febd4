"""Instance types: figures of AWS's own tables, and that the shipped data holds together."""

import pytest

from berth.catalog.instance import Instance, load_instances


@pytest.mark.parametrize(
    ("name", "gpu", "gpu_count", "vcpu", "memory_gib", "local_nvme_gb", "efa_interfaces"),
    [
        pytest.param("p5.48xlarge", "H100-SXM-80GB", 8, 192, 2048, 30400, 32, id="p5: 8 x 3.8 TB"),
        pytest.param("g6.xlarge", "L4", 1, 4, 16, 250, 0, id="g6 smallest"),
        pytest.param("g6.12xlarge", "L4", 4, 48, 192, 3760, 1, id="g6 with four"),
        pytest.param("p5en.48xlarge", "H200-SXM-141GB", 8, 192, 2048, 30400, 16, id="p5en"),
        pytest.param("p4d.24xlarge", "A100-SXM-40GB", 8, 96, 1152, 8000, 4, id="p4d"),
    ],
)
def test_nodes_hold_what_ec2_says(
    name: str,
    gpu: str,
    gpu_count: int,
    vcpu: int,
    memory_gib: int,
    local_nvme_gb: int,
    efa_interfaces: int,
) -> None:
    instance = load_instances()[name]

    assert (instance.gpu, instance.gpu_count) == (gpu, gpu_count)
    assert (instance.vcpu, instance.memory_gib) == (vcpu, memory_gib)
    assert (instance.local_nvme_gb, instance.efa_interfaces) == (local_nvme_gb, efa_interfaces)


def test_p5_takes_fewer_pods_than_its_size_suggests() -> None:
    """Two network interfaces only: 2 x (50 - 1) + 2."""
    assert load_instances()["p5.48xlarge"].max_pods == 100


def test_the_system_node_type_has_no_gpu() -> None:
    instance = load_instances()["m7i.large"]

    assert (instance.gpu, instance.gpu_count) == (None, 0)
    assert instance.ami_types == ("AL2023_x86_64_STANDARD",)


def all_instances() -> list[object]:
    return [pytest.param(name, each, id=name) for name, each in load_instances().items()]


@pytest.mark.parametrize(("name", "instance"), all_instances())
def test_ami_types_are_of_the_cpu_architecture(name: str, instance: Instance) -> None:
    word = {"x86_64": "_x86_64_", "arm64": "_ARM_64_"}[instance.cpu_arch]

    assert all(word in ami_type or ami_type == "CUSTOM" for ami_type in instance.ami_types)


@pytest.mark.parametrize(("name", "instance"), all_instances())
def test_quota_family_follows_the_instance_family(name: str, instance: Instance) -> None:
    """On-demand quotas of AWS: G and VT, P, and the standard families."""
    code = {"g": "L-DB2E81BA", "p": "L-417A185B", "m": "L-1216C47A"}[name[0]]

    assert instance.quota_code_on_demand == code


@pytest.mark.parametrize(("name", "instance"), all_instances())
def test_regions_are_listed_once_and_in_order(name: str, instance: Instance) -> None:
    assert list(instance.regions) == sorted(set(instance.regions))
    assert list(instance.capacity_block_regions) == sorted(set(instance.capacity_block_regions))


def test_b200_is_not_seen_in_europe() -> None:
    regions = load_instances()["p6-b200.48xlarge"].regions

    assert "us-east-1" in regions
    assert not [region for region in regions if region.startswith("eu-")]
