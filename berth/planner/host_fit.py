"""Whether one replica's host memory, /dev/shm and disk work out on a node of one type."""

from dataclasses import dataclass

from berth.catalog.instance import Instance
from berth.planner.errors import problem
from berth.planner.host import (
    LEAST_ROOT_DISK_GIB,
    ROOT_DISK_TAKEN_GIB,
    HostNeeds,
    disk_gib,
    host_needs,
    least_memory_gib,
    node_share,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFit:
    """What one replica takes of its host, and what a node has for it; GiB."""

    needs: HostNeeds
    least_memory_gib: float
    """Without this much the replica is killed, /dev/shm and offloaded weights included."""
    has_memory_gib: int | None
    """None on nodes of unknown size."""
    has_disk_gib: int | None
    """For weights; None on nodes of unknown size, or where the root disk is made as large."""
    image_disk_gib: int = ROOT_DISK_TAKEN_GIB
    """Operating system and container images, on the root disk."""

    def reasons(self, where: str) -> tuple[str, ...]:
        """Why the node is too small for it; none where nothing is known of the node."""
        found = []
        if self.has_memory_gib is not None and self.has_memory_gib < self.least_memory_gib:
            what = (
                f"{self.least_memory_gib:g} GiB are needed, and {where} leaves "
                f"{self.has_memory_gib}"
            )
            found.append(problem("host memory", what, "use a larger instance type"))
        if self.has_disk_gib is not None and self.has_disk_gib < self.needs.model_cache_gib // 2:
            what = (
                f"the weights take {self.needs.model_cache_gib // 2} GiB, and the local disks of "
                f"{where} hold {self.has_disk_gib}"
            )
            found.append(problem("disk", what, "use a larger instance type, or a volume"))
        return tuple(found)


def host_fit(
    weights_bytes: int,
    gpus: int,
    instance: Instance | None,
    cpu_offload_gib: float = 0.0,
    gpus_per_node: int | None = None,
) -> HostFit:
    """One replica on `gpus` GPUs of a node of `instance`; None: a node of unknown size.

    Args:
        weights_bytes: as downloaded.
        gpus: of the replica; more than the node has means the whole of several nodes.
        instance: type of the node.
        cpu_offload_gib: weights per GPU that stay in host memory.
        gpus_per_node: where the GPUs are cut into slices, the number of slices.
    """
    per_node = gpus if instance is None else gpus_per_node or instance.gpu_count
    here = min(gpus, per_node)
    share = None if instance is None else node_share(instance, here, per_node)
    disk = None
    if instance is not None and instance.local_nvme_gb:
        disk = disk_gib(instance, LEAST_ROOT_DISK_GIB)
    return HostFit(
        needs=host_needs(weights_bytes, here, share),
        least_memory_gib=least_memory_gib(here) + cpu_offload_gib * here,
        has_memory_gib=None if share is None else share.memory_gib,
        has_disk_gib=disk,
    )
