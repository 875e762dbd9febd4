"""Container images by name: parts, tag, and which software the words of a name stand for."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from berth.rules.stack_view.accelerators import Vendor
from berth.rules.stack_view.engine_arguments import Engine

_WORDS: Final = re.compile(r"[^a-z0-9]+")
FLOATING: Final = frozenset({"latest", "nightly", "main", "stable", "edge"})

NOT_AN_ENGINE: Final = frozenset(
    {
        "controller",
        "exporter",
        "gateway",
        "operator",
        "proxy",
        "router",
        "routing",
        "scheduler",
        "sidecar",
        "simulator",
        "webui",
    }
)
"""Words that say what an image is about an engine: they win over the engine's own name.

In the last part of a path; before it, where the engine's name stands before it too, as in
`vllm-project/semantic-router/extproc`.
"""

ENGINE_WORDS: Final[Mapping[str, Engine]] = {
    "tritonserver": "triton",
    "triton-inference-server": "triton",
    "tensorrt-llm": "tensorrt-llm",
    "tensorrtllm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "trt-llm": "tensorrt-llm",
    "sglang": "sglang",
    "lmdeploy": "lmdeploy",
    "ollama": "ollama",
    "tgi": "tgi",
    "text-generation-inference": "tgi",
    "tei": "tei",
    "text-embeddings-inference": "tei",
    "vllm": "vllm",
    "nim": "nim",
}
"""The first of these words that an image has says which engine it is."""
CLIENT_TAG: Final = "sdk"
"""Word in a tag of an image that has an engine's clients, and no engine: Triton's `-sdk`."""
LLM_D: Final = re.compile(r"llm-d(-(cuda|aws|dev|rocm|gke))*")
"""llm-d publishes many parts under its name; these are its engine."""

BASES: Final = (
    "nvidia/cuda",
    "nvidia/cuda-dl-base",
    "nvidia/pytorch",
    "pytorch/pytorch",
    "rocm/pytorch",
)
AGENT_NAMES: Final = (
    "k8s-device-plugin",
    "dcgm",
    "mig-manager",
    "gpu-feature-discovery",
    "node-feature-discovery",
    "container-toolkit",
    "driver-manager",
    "dra-driver-gpu",
    "device-metrics-exporter",
    "k8s-node-labeller",
)
VENDOR_AGENT_NAMES: Final = ("device-plugin", "driver", "dra-driver")
"""Names that others use too: they count next to a vendor's word."""
VENDOR_WORDS: Final = frozenset({"nvidia", "gpu", "amd", "amdgpu", "rocm", "neuron"})
NOT_GPU_WORDS: Final = frozenset({"csi", "efa"})
"""Drivers and device plugins of something else."""


@dataclass(frozen=True, slots=True)
class Image:
    """A reference such as `registry.example.com:5000/team/vllm:v1@sha256:...`."""

    reference: str
    path: str
    """Repository without the registry."""
    tag: str | None
    digest: str | None

    @property
    def repository(self) -> str:
        """The reference without tag and digest."""
        bare = self.reference.partition("@")[0]
        return bare.removesuffix(f":{self.tag}") if self.tag is not None else bare

    @property
    def is_pinned(self) -> bool:
        """The same bits come tomorrow: a digest, or a tag that is not moved by habit."""
        if self.digest:
            return True
        tag = (self.tag or "latest").lower()
        return tag not in FLOATING and not tag.startswith("latest-") and not tag.endswith("-latest")

    @property
    def is_engine(self) -> bool:
        """The name is that of an inference engine, and of no part around one."""
        return self.engine is not None

    @property
    def engine(self) -> Engine | None:
        """Which engine the name stands for."""
        if self._is_beside_an_engine:
            return None
        if LLM_D.fullmatch(self.path.rpartition("/")[2].lower()):
            return "vllm"
        text = f"{self.path} {self.tag or ''}"
        return next((engine for w, engine in ENGINE_WORDS.items() if _has_names(text, (w,))), None)

    @property
    def words(self) -> list[str]:
        """Words of path and tag, in lower case."""
        return _words(f"{self.path} {self.tag or ''}")

    @property
    def name(self) -> str:
        """Last part of the path, in lower case."""
        return self.path.rpartition("/")[2].lower()

    def is_called(self, repository: str) -> bool:
        """Whether it is this repository, or a copy of it below another path."""
        path = self.path.lower()
        return path == repository or path.endswith(f"/{repository}")

    @property
    def is_gpu_base(self) -> bool:
        """A CUDA or PyTorch base image."""
        return any(map(self.is_called, BASES))

    @property
    def is_for_cpu(self) -> bool:
        """The name or tag says that it is a build for CPUs."""
        return "cpu" in self.words

    @property
    def is_gpu_agent(self) -> bool:
        """Part of what makes GPUs usable on a node."""
        name = self.path.rpartition("/")[2]
        if not NOT_GPU_WORDS.isdisjoint(_words(name)):
            return False
        by_vendor = not VENDOR_WORDS.isdisjoint(_words(self.path))
        return _has_names(name, AGENT_NAMES) or (by_vendor and _has_names(name, VENDOR_AGENT_NAMES))

    @property
    def vendor(self) -> Vendor:
        """Whose accelerators it is built for."""
        words = self.words
        if any(word.startswith("rocm") for word in words):
            return "amd"
        return "neuron" if any(word.startswith("neuron") for word in words) else "nvidia"

    @property
    def _is_beside_an_engine(self) -> bool:
        name, tag = self.path.rpartition("/")[2], self.tag or ""
        if CLIENT_TAG in _words(tag) or not NOT_AN_ENGINE.isdisjoint(_words(name)):
            return True
        is_named_here = _has_names(f"{name} {tag}", ENGINE_WORDS)
        return not is_named_here and not NOT_AN_ENGINE.isdisjoint(_words(self.path))


def parse_image(reference: str) -> Image:
    """Take a reference apart; the registry is left out of the path."""
    bare, _, digest = reference.strip().partition("@")
    head, colon, tag = bare.rpartition(":")
    if not colon or "/" in tag:
        head, tag = bare, ""
    registry, slash, path = head.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        path = head
    return Image(reference.strip(), path, tag or None, digest or None)


def _has_names(text: str, names: Iterable[str]) -> bool:
    words = f"-{'-'.join(_words(text))}-"
    return any(f"-{name}-" in words for name in names)


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.split(text.lower()) if word]
