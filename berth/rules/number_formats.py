"""Rules about number formats and the GPUs that have to compute or store them."""

from collections.abc import Iterator
from dataclasses import dataclass

from berth.catalog.gpu import Gpu
from berth.catalog.gpu_software import is_older
from berth.rules.finding import Level
from berth.rules.model_facts import known_model
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.accelerators import vendor_of_key
from berth.rules.stack_view.image_software import vllm_version
from berth.rules.stack_view.nodes import INSTANCE_TYPE_OPTION
from berth.rules.stack_view.pod import Container

QUANTIZATION_OPTIONS = ("--quantization", "-q", "--quantize")
_FP8_CACHE_ON_AMPERE = "0.30"
"""First vLLM that was seen to hold an FP8 cache below 8.9."""

_FORMAT_OF = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "ptpc_fp8": "fp8",
    "modelopt": "fp8",
    "mxfp4": "mxfp4",
    "gpt_oss_mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "modelopt_fp4": "nvfp4",
    "awq": "awq",
    "awq_marlin": "awq",
    "gptq": "gptq",
    "gptq_marlin": "gptq",
}


@dataclass(frozen=True, slots=True)
class _Ask:
    """One format that a server wants: what for, the option that says so, what to use instead."""

    text: str
    format: str
    instead: str


def _find_unsupported(container: Container, context: Context) -> Iterator[Breach]:
    asks = _asks(container)
    if not asks:
        return
    alternatives = context.view.nodes_of(container.pod, context.options)
    by_key = {vendor_of_key(key) for key in container.asked_keys}
    for ask in asks:
        problems = [
            next(filter(None, (_problem(ask, gpu, container, t) for t, gpu in n.gpus)), None)
            for n in alternatives
        ]
        found = problems[0] if problems and all(problems) else None
        if found is None and by_key == {"amd"} and ask.format in ("awq", "gptq"):
            found = _on_amd(ask, container)
        if found:
            text, level = found
            yield Breach(
                where=container.resource.name,
                what=f"{container.name} asks for {ask.text}, {text}",
                change="use a format that the GPU computes" if level else "change one of them",
                fix=ask.instead,
                level=level,
            )


def refuses_format(container: Container, context: Context) -> bool:
    """Whether the engine does not start for a format's sake."""
    return any(breach.level is None for breach in _find_unsupported(container, context))


def _asks(container: Container) -> list[_Ask]:
    arguments = container.engine_arguments
    if arguments is None or not container.is_model_server:
        return []
    asks = []
    dtype = (arguments.text("--dtype") or "").lower()
    if dtype in ("bfloat16", "bf16"):
        asks.append(_Ask("--dtype bfloat16", "bf16", "set --dtype to half"))
    cache = (arguments.text("--kv-cache-dtype") or "").lower()
    if cache in ("fp8", "fp8_e4m3"):
        asks.append(_Ask(f"--kv-cache-dtype {cache}", "kv", "set --kv-cache-dtype to auto"))
    stated = (arguments.text(*QUANTIZATION_OPTIONS) or "").lower().replace("-", "_")
    option = arguments.spelling(*QUANTIZATION_OPTIONS)
    if stated in _FORMAT_OF:
        ask = _Ask(f"{option} {stated}", _FORMAT_OF[stated], f"remove {option}, or move it to")
        asks.append(_with_place(ask))
        return asks
    model = known_model(container)
    if model and model.quantization in ("fp8", "mxfp4", "nvfp4", "awq", "gptq"):
        ask = _Ask(
            f"the {model.quantization} weights of {model.name}",
            model.quantization,
            f"serve a build of {model.name} in 16 bits or int4, or move it to",
        )
        asks.append(_with_place(ask))
    return asks


_PLACES = {
    "fp8": "GPUs of compute capability 8.9 or above, such as an L40S",
    "mxfp4": "GPUs of compute capability 8.0 or above, such as an A10G",
    "nvfp4": "GPUs of compute capability 10.0 or above, such as a B200",
    "awq": "NVIDIA GPUs",
    "gptq": "NVIDIA GPUs",
}


def _with_place(ask: _Ask) -> _Ask:
    return _Ask(ask.text, ask.format, f"{ask.instead} {_PLACES[ask.format]}")


def _problem(
    ask: _Ask, gpu: Gpu, container: Container, instance_type: str
) -> tuple[str, Level | None] | None:
    """What one GPU cannot do, and the level where it is milder than the rule's."""
    if gpu.vendor == "amd":
        return _amd_problem(ask, gpu, container)
    where = f"of {instance_type} (compute capability {gpu.compute_capability})"
    capability = gpu.capability
    if ask.format == "bf16" and capability < (8, 0):
        return f"which the GPU {where} cannot compute", None
    if ask.format == "kv" and _lacks_fp8_cache(capability, container):
        return f"which the GPU {where} cannot hold", None
    if ask.format == "mxfp4":
        least = (9, 0) if container.engine == "tensorrt-llm" else (8, 0)
        return (f"which the GPU {where} cannot store", None) if capability < least else None
    if ask.format == "fp8" and capability < (7, 5):
        return f"which the GPU {where} cannot store", None
    if ask.format == "fp8" and capability < (8, 9):
        return f"which the GPU {where} only stores: a slow path", "advisory"
    if ask.format == "nvfp4" and capability < (8, 0):
        return f"which the GPU {where} cannot store", None
    if ask.format == "nvfp4" and capability < (10, 0):
        return f"which the GPU {where} only stores: a slow path", "advisory"
    return None


def _lacks_fp8_cache(capability: tuple[int, int], container: Container) -> bool:
    if capability < (8, 0):
        return True
    version = vllm_version(container.image) if container.engine == "vllm" else None
    too_old = version is not None and is_older(version, _FP8_CACHE_ON_AMPERE)
    return capability < (8, 9) and too_old


def _amd_problem(ask: _Ask, gpu: Gpu, container: Container) -> tuple[str, Level | None] | None:
    if ask.format == "nvfp4":
        return f"which {gpu.gfx} cannot store", None
    return _on_amd(ask, container) if ask.format in ("awq", "gptq") else None


def _on_amd(ask: _Ask, container: Container) -> tuple[str, Level | None] | None:
    """AWQ and GPTQ run on AMD where the engine's list for ROCm has them."""
    if container.engine != "vllm":
        return None
    version = vllm_version(container.image)
    if version is not None and not is_older(version, _LISTED_FOR_ROCM[ask.format]):
        return None
    return "which this engine does not list for AMD GPUs", None


_LISTED_FOR_ROCM = {"awq": "0.6.0", "gptq": "0.5.0"}
"""vLLM releases whose `rocm_supported_quantization` was read and has the format.

v0.6.0 lists awq, gptq, squeezellm and fp8 (`vllm/config.py`). A file of about 0.5, whose exact
release is not stated, lists gptq and squeezellm: low evidence. SGLang took over the list of
v0.6.4.post1, so only vLLM is judged.
"""

DTYPE_UNSUPPORTED = Rule(
    id="dtype-unsupported",
    title="The GPU can compute, or at least store, every number format that the engine is given.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="dtype, quantization and KV cache format in the engine's arguments, the model's own "
    "format, the GPUs that the pod may get",
    why="the engine refuses to start, or falls back to a slow path",
    source="https://docs.vllm.ai/en/latest/features/quantization/",
    subjects=StackView.containers,
    judge=_find_unsupported,
    options=INSTANCE_TYPE_OPTION,
)

RULES = (DTYPE_UNSUPPORTED,)
