"""Rules about images that were built for another accelerator or another processor."""

import re
from collections.abc import Iterator
from typing import Final

from berth.catalog.gpu_software import load_gpu_software
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import vendor_of_key
from berth.rules.stack_view.image import Image
from berth.rules.stack_view.placement import named_instance_types, read_terms
from berth.rules.stack_view.pod import Container, Pod

_X86: Final = re.compile(r"(?<![a-z0-9])(amd64|x86[-_]64)(?![a-z0-9])")
_CUDA_WORD: Final = re.compile(r"cuda[0-9.]*|cu[0-9]{2,3}")
_ARM_FAMILIES: Final = frozenset({"g5g", "p6e-gb200", "p6e-gb300"})


def _find_other_vendor(container: Container, context: Context) -> Iterator[Breach]:
    image = container.image
    if image is None or container.init or image.is_gpu_agent:
        return
    allowed = context.options.get("multiVendorImages")
    if isinstance(allowed, list) and image.repository in allowed:
        return
    for key in container.asked_keys:
        vendor = vendor_of_key(key)
        built_for = _built_for(image, vendor)
        if built_for and built_for != vendor:
            yield Breach(
                where=container.resource.name,
                what=f"{image.reference} is built for {_NAMES[built_for]} and {container.name} "
                f"asks for {key}",
                change="use an image for these GPUs, or ask for the others",
                fix=f"set {container.body.at('image').path} to a {_BUILDS[vendor]} build",
            )
            return


_NAMES: Final = {"nvidia": "NVIDIA's CUDA", "amd": "AMD's ROCm"}
_BUILDS: Final = {"nvidia": "CUDA", "amd": "ROCm", "neuron": "Neuron"}


def _built_for(image: Image, vendor: str) -> str | None:
    words = image.words
    if any(word.startswith("rocm") for word in words):
        return "amd"
    if any(word.startswith("neuron") for word in words):
        return None
    is_cuda = any(map(_CUDA_WORD.fullmatch, words)) or image.is_called("vllm/vllm-openai")
    is_nvidia = "nvidia" in image.path.lower().split("/")[:-1]
    if is_cuda or is_nvidia or image.engine in ("tensorrt-llm", "nim"):
        return "nvidia"
    return "nvidia" if image.engine == "ollama" and vendor == "amd" else None


VENDOR_MISMATCH = Rule(
    id="vendor-mismatch",
    title="An image is built for the accelerators that its container asks for.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="images, and the accelerators under resources",
    why="the libraries of the other maker find no device and the server ends",
    source="https://docs.vllm.ai/en/latest/getting_started/installation/gpu.html",
    subjects=StackView.containers,
    judge=_find_other_vendor,
    options={
        "multiVendorImages": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Repositories of images that are built for several makers.",
        }
    },
)


def _find_other_processor(container: Container, context: Context) -> Iterator[Breach]:
    image = container.image
    if image is None or not _is_x86_only(image):
        return
    place = _arm_place(container.pod, context.view)
    if place:
        yield Breach(
            where=container.resource.name,
            what=f"{image.reference} holds programs for x86 and {place}",
            change="use an image for Arm",
            fix=f"set {container.body.at('image').path} to an arm64 or multi-arch build",
        )


def _is_x86_only(image: Image) -> bool:
    if _X86.search(f"{image.path} {image.tag or ''}".lower()):
        return True
    known = load_gpu_software().vllm_images
    is_listed = image.is_called(known.repository) and image.tag in known.x86_only_tags
    return is_listed and not image.digest


def _arm_place(pod: Pod, view: StackView) -> str | None:
    """What puts the pod on Arm nodes; None where nothing is sure to."""
    terms = read_terms(pod.spec)
    for demand in (demand for term in terms for demand in term):
        values = [value.value for value in demand.values]
        if demand.key.value == "kubernetes.io/arch" and demand.operator == "In":
            return "its pod asks for arm64 nodes" if values == ["arm64"] else None
    types = named_instance_types(pod.spec)
    if types:
        on_arm = all(name.partition(".")[0] in _ARM_FAMILIES for name in types)
        return f"{types[0]} has an Arm processor" if on_arm else None
    pools = view.pools_for(pod) if pod.is_gpu_workload else ()
    if pools and all(pool.label("kubernetes.io/arch") == "arm64" for pool in pools):
        return f"pool {pools[0].name} has Arm processors"
    return None


CPU_ARCH_MISMATCH = Rule(
    id="cpu-arch-mismatch",
    title="An image holds programs for the processor of its nodes.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="tags of images; node selector and affinity, instance types of pools",
    why="the container ends at once with exec format error",
    source="https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html",
    subjects=StackView.all_containers,
    judge=_find_other_processor,
)

RULES = (VENDOR_MISMATCH, CPU_ARCH_MISMATCH)
