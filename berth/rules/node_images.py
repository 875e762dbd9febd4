"""Rules about the images that GPU nodes start from, and their disks."""

import re
from collections.abc import Iterator
from typing import Final

from berth.catalog.gpu_software import is_older
from berth.rules.resource import Resource
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import quantity_gib
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pool import AL2_GPU, Pool
from berth.rules.stack_view.user_data import decoded_user_data
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError

_FIRST_WITHOUT_AL2: Final = "1.33"
_DEFAULT_DISK_GIB: Final = 20
_LEAST_DISK_GIB: Final = 40
_GOOD_DISK_GIB: Final = 100
_LOCAL_DISKS: Final = re.compile(
    r"localStorage|setup-local-disks|ephemeral-storage|instance-store-policy|mdadm|/dev/nvme|RAID0",
    re.IGNORECASE,
)


def _find_wrong_image(pool: Pool, context: Context) -> Iterator[Breach]:
    ami_type = pool.ami_type
    if pool.kind != "node group" or not ami_type or ami_type == "CUSTOM":
        return
    vendors = {pool.accelerators[name].vendor: name for name in pool.gpu_types}
    is_nvidia = ami_type.endswith("_NVIDIA") or ami_type == AL2_GPU
    if "nvidia" in vendors and not is_nvidia:
        what = f"{ami_type} has no driver for the GPU of {vendors['nvidia']}"
        wanted = "AL2023_ARM_64_NVIDIA" if "ARM" in ami_type else "AL2023_x86_64_NVIDIA"
    elif "amd" in vendors and is_nvidia:
        what = f"{ami_type} has NVIDIA's driver and {vendors['amd']} has an AMD GPU"
        wanted = "CUSTOM, with an image that has AMD's driver"
    elif "neuron" in vendors and is_nvidia and ami_type != AL2_GPU:
        what = f"{ami_type} has NVIDIA's driver and {vendors['neuron']} has Neuron devices"
        wanted = "AL2023_x86_64_NEURON"
    else:
        return
    yield Breach(
        where=pool.name,
        what=what,
        change="use the image for this accelerator",
        fix=f"set amiType to {wanted}",
    )


AMI_GPU_MISMATCH = Rule(
    id="ami-gpu-mismatch",
    title="The node image has the driver of the accelerator that the nodes have.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="AMI type and instance types of node groups, launch templates",
    why="nodes start without a driver, and nothing sees their GPUs",
    source="https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html",
    subjects=lambda view: view.pools,
    judge=_find_wrong_image,
)


def _find_ended_image(pool: Pool, context: Context) -> Iterator[Breach]:
    ami_type = pool.ami_type or ""
    if not ami_type.startswith("AL2_"):
        return
    version = _kubernetes_version(pool, context.view)
    is_gone = bool(version) and not is_older(version, _FIRST_WITHOUT_AL2)
    end = f"does not exist for Kubernetes {version}" if is_gone else "gets no more fixes"
    wanted = "AL2023_x86_64_NVIDIA" if ami_type == AL2_GPU else ami_type.replace("AL2_", "AL2023_")
    yield Breach(
        where=pool.name,
        what=f"{ami_type} ended on 2025-11-26 and {end}",
        change="move to Amazon Linux 2023 or Bottlerocket",
        fix=f"set amiType to {wanted}" + ("" if "NVIDIA" in wanted else "_STANDARD"),
        level="mandatory" if is_gone else None,
    )


def _kubernetes_version(pool: Pool, view: StackView) -> str:
    for stated in (pool.body.at("version"), pool.body.at("releaseVersion")):
        if isinstance(stated.value, str):
            return stated.value.partition("-")[0]
    for cluster in view.of_type("aws:eks/cluster:Cluster"):
        version = Field(cluster.props).at("version").value
        if isinstance(version, str):
            return version
    return ""


AMI_EOL = Rule(
    id="ami-eol",
    title="Node images are not those of Amazon Linux 2.",
    severity="high",
    level="advisory",
    scope="stack",
    reads="AMI type and Kubernetes version of node groups",
    why="the image ended with Kubernetes 1.32: the next upgrade of the cluster is blocked",
    source="https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html",
    subjects=lambda view: view.pools,
    judge=_find_ended_image,
)


def _find_floating_image(pool: Pool, context: Context) -> Iterator[Breach]:
    if pool.kind != "node group" or pool.vendor is None:
        return
    if context.options.get("floatingAmi") is True or pool.body.at("amiType").value == "CUSTOM":
        return
    if not pool.body.at("releaseVersion").is_absent:
        return
    template = pool.launch_template
    if template is UNKNOWN:
        return
    if isinstance(template, Resource):
        if not Field(template.props).at("imageId").is_absent:
            return
    elif not pool.body.at("launchTemplate").is_absent:
        return
    yield Breach(
        where=pool.name,
        what="no releaseVersion, so new nodes start from whatever image is newest that day",
        change="pin the release",
        fix="set releaseVersion to the release that runs today, as `aws eks describe-nodegroup` "
        "shows it (KUBERNETES-YYYYMMDD)",
    )


AMI_UNPINNED = Rule(
    id="ami-unpinned",
    title="GPU nodes start from a pinned node image.",
    severity="low",
    level="advisory",
    scope="stack",
    reads="release version and launch template of GPU node groups",
    why="driver and runtime change under the servers without a change of the stack",
    source="https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html",
    subjects=lambda view: view.pools,
    judge=_find_floating_image,
    options={
        "floatingAmi": {
            "type": "boolean",
            "default": False,
            "description": "New images are wanted, as in a canary group.",
        }
    },
)


def _find_small_disk(pool: Pool, context: Context) -> Iterator[Breach]:
    if pool.vendor is None:
        return
    found = _node_class_disk(pool, context.view) if pool.kind == "node pool" else _disk(pool)
    if found is None:
        return
    size_gib, where, fix = found
    if size_gib >= _GOOD_DISK_GIB:
        return
    yield Breach(
        where=pool.name,
        what=f"the disk for images has {size_gib:g} GiB ({where}), and one image of an engine "
        f"takes 10 to 30; {_GOOD_DISK_GIB} are wanted",
        change="enlarge it",
        fix=fix,
        level="mandatory" if size_gib < _LEAST_DISK_GIB else None,
    )


def _disk(pool: Pool) -> tuple[float, str, str] | None:
    """Size of the disk that holds images, what says so, and how to enlarge it."""
    template, ami_type = pool.launch_template, pool.body.at("amiType").text() or ""
    if template is UNKNOWN:
        raise KnownAfterApplyError("launchTemplate.id")
    if isinstance(template, Resource):
        return _template_disk(Field(template.props), pool, ami_type)
    if pool.kind != "node group" or not pool.body.at("launchTemplate").is_absent:
        return None
    stated = pool.body.at("diskSize")
    size = stated.integer()
    where = "by default" if stated.is_absent else stated.path
    return size or _DEFAULT_DISK_GIB, where, f"set {stated.path} to 200"


def _template_disk(template: Field, pool: Pool, ami_type: str) -> tuple[float, str, str] | None:
    if _LOCAL_DISKS.search(decoded_user_data(template)):
        return None
    sizes: dict[str, float] = {}
    listed = template.at("blockDeviceMappings")
    for mapping in listed.items():
        size = mapping.at("ebs", "volumeSize")
        gib = None if size.is_absent else quantity_gib(f"{size.known()}Gi")
        sizes[mapping.at("deviceName").text() or ""] = gib or _DEFAULT_DISK_GIB
    if ami_type.startswith("BOTTLEROCKET"):
        device = "/dev/xvdb"
    elif ami_type.startswith("AL2"):
        device = "/dev/xvda"
    else:
        device = max(sizes, key=lambda name: sizes[name], default="/dev/xvda")
    size_gib = sizes.get(device, float(_DEFAULT_DISK_GIB))
    where = device if device in sizes else f"{device} by default"
    entry = f"{{deviceName: {device}, ebs: {{volumeSize: 200}}}}"
    verb = f"set volumeSize of {device} to 200" if device in sizes else f"add {entry}"
    return size_gib, where, f"{verb} in {listed.path} of its launch template"


def _node_class_disk(pool: Pool, view: StackView) -> tuple[float, str, str] | None:
    reference = pool.body.at("spec", "template", "spec", "nodeClassRef")
    if reference.at("kind").text() != "EC2NodeClass":
        return None
    name = reference.at("name").known()
    for resource in view.of_kind("EC2NodeClass", "karpenter.k8s.aws"):
        body = Field(resource.props)
        if body.at("metadata", "name").value != name:
            continue
        spec = body.at("spec")
        if spec.at("instanceStorePolicy").text() == "RAID0":
            return None
        user_data = spec.at("userData").text() or ""
        if _LOCAL_DISKS.search(user_data):
            return None
        aliases = [term.at("alias").text() or "" for term in spec.at("amiSelectorTerms").items()]
        family = (spec.at("amiFamily").text() or "").lower()
        is_bottlerocket = family == "bottlerocket" or any("bottlerocket" in a for a in aliases)
        is_known = is_bottlerocket or family or any(aliases)
        sizes = {
            mapping.at("deviceName").text() or "": quantity_gib(
                mapping.at("ebs", "volumeSize").known()
            )
            or _DEFAULT_DISK_GIB
            for mapping in spec.at("blockDeviceMappings").items()
        }
        device = "/dev/xvdb" if is_bottlerocket else "/dev/xvda"
        if not is_known or family == "custom":
            device = max(sizes, key=lambda key: sizes[key], default=device)
        size_gib = sizes.get(device, float(_DEFAULT_DISK_GIB))
        where = f"{device} of {resource.name}" + ("" if device in sizes else " by default")
        entry = f"{{deviceName: {device}, ebs: {{volumeSize: 200Gi}}}}"
        return size_gib, where, f"set spec.blockDeviceMappings of {resource.name} to [{entry}]"
    return None


NODE_DISK_TOO_SMALL = Rule(
    id="node-disk-too-small",
    title="GPU nodes have a disk that holds the images of engines.",
    severity="high",
    level="advisory",
    scope="stack",
    reads="disk size, block devices and user data of GPU pools, launch templates and node classes",
    why="pulling an image fills the disk: DiskPressure, and pods are evicted",
    source="https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html",
    subjects=lambda view: view.pools,
    judge=_find_small_disk,
)

RULES = (AMI_GPU_MISMATCH, AMI_EOL, AMI_UNPINNED, NODE_DISK_TOO_SMALL)
