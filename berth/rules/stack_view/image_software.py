"""Which CUDA and which vLLM an image holds, as far as its name says."""

import re
from dataclasses import dataclass
from typing import Final

from berth.catalog.gpu_software import is_older, load_gpu_software, version_parts
from berth.rules.stack_view.image import Image

_CUDA: Final = re.compile(r"(?<![a-z0-9])cu(?:da)?-?(\d\d)[.]?(\d{1,2})(?![0-9])")
_VERSION: Final = re.compile(
    r"(?:^|[-_])v?(\d+\.\d+(?:\.\d+){0,2})(?:(?=[-_+])|(?=\.?(?:rc|post|dev)\d)|$)"
)
_VERSION_AFTER_NAME: Final = re.compile(r"vllm[-_:]?v?(\d+\.\d+\.\d+)")
_MONTH: Final = re.compile(r"^(\d\d\.\d\d)(?:[-.]|$)")
_NGC: Final = ("nvidia/pytorch", "nvidia/tritonserver")
_OWN_VERSIONS: Final = frozenset({"lmcache", "llm-d"})
"""Owners that count versions of their own in the tags of their vLLM images."""


@dataclass(frozen=True, slots=True)
class ImageCuda:
    """CUDA of an image."""

    version: str
    is_exact: bool
    """The minor version is sure too."""


def vllm_version(image: Image | None) -> str | None:
    """The vLLM in an image; None where its name does not say."""
    if image is None or image.tag is None or "vllm" not in f"{image.path}:{image.tag}".lower():
        return None
    tag = image.tag.lower()
    after_name = _VERSION_AFTER_NAME.search(tag)
    if after_name:
        return after_name[1]
    owners = image.path.lower().split("/")[:-1]
    if not _OWN_VERSIONS.isdisjoint(owners) or "vllm" not in image.name:
        return None
    found = _VERSION.search(tag)
    return found[1] if found and not image.is_called("nvidia/tritonserver") else None


def cuda_of(image: Image | None) -> ImageCuda | None:
    """The CUDA in an image; None where its name does not say."""
    if image is None or image.vendor != "nvidia" or image.is_for_cpu:
        return None
    tag = (image.tag or "").lower()
    if image.is_called("nvidia/cuda") and version_parts(tag)[1:]:
        return ImageCuda(".".join(map(str, version_parts(tag)[:2])), True)
    named = _CUDA.search(tag) or _CUDA.search(image.name)
    if named:
        return ImageCuda(f"{named[1]}.{named[2][:1]}", True)
    return _of_ngc(image, tag) or _of_vllm(image)


def _of_ngc(image: Image, tag: str) -> ImageCuda | None:
    month = _MONTH.match(tag)
    if not month or not any(map(image.is_called, _NGC)):
        return None
    found = None
    for entry in load_gpu_software().ngc_images.cuda_from:
        if not is_older(month[1], entry.month):
            found = ImageCuda(entry.cuda, entry.confirmed and entry.month == month[1])
    return found


def _of_vllm(image: Image) -> ImageCuda | None:
    known = load_gpu_software().vllm_images
    version = vllm_version(image) if image.is_called(known.repository) else None
    found = None
    for entry in known.cuda_from if version else ():
        if not is_older(version or "", entry.version):
            found = ImageCuda(entry.cuda, True)
    return found
