"""What the kernels of one GPU and version make of weights: padded sizes, second copies.

Source: vLLM, `fused_moe/oracle/mxfp4.py` (rounding per back end), `quantization/utils/fp8_utils.py`
(`_maybe_pad_fp8_weight`), `attention/mla_attention.py` (absorbed projections).
"""

from dataclasses import dataclass

from berth.catalog.gpu import Gpu
from berth.catalog.model_shape import LatentCache, Layer, Model
from berth.planner.vllm_rules import Version

TRITON_ON_HOPPER: Version = (0, 11, 0)
"""From about here gpt-oss on Hopper runs on Triton kernels; start-up logs of 0.10 show Marlin."""
TRITON_INNER_MULTIPLE = 64
"""Of those kernels, which pad values alone and no scales."""
LATENT_ATTENTION_FROM: Version = (0, 7, 1)
"""https://github.com/vllm-project/vllm/pull/10927"""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Paddings of one GPU and version."""

    mxfp4_hidden_multiple: int = 1
    """Experts in MXFP4: the hidden size is padded to a multiple of this."""
    mxfp4_inner_multiple: int = 1
    """Experts in MXFP4: the inner size per rank is padded to a multiple of this."""
    mxfp4_scales_padded: bool = True
    """Experts in MXFP4: scales are as large as the padded values need; False: as the weights."""
    fp8_row_padding_bytes: int = 0
    """Behind every row of an FP8 weight whose row is a multiple of 512 bytes."""
    absorbs_latent: bool = False
    """Keeps copies of the latent up-projection; before, latent attention ran on unpacked heads."""


NO_PADDING = Kernels()


def kernels_of(gpu: Gpu, version: Version, model: Model) -> Kernels:
    """The paddings that apply to `model` on `gpu`."""
    hidden, inner = _mxfp4_multiples(gpu, version, gpt_oss=model.architecture.startswith("GptOss"))
    return Kernels(
        hidden,
        inner,
        mxfp4_scales_padded=inner != TRITON_INNER_MULTIPLE,
        fp8_row_padding_bytes=256 if gpu.vendor == "amd" else 0,
        absorbs_latent=version >= LATENT_ATTENTION_FROM,
    )


def absorbed_bytes(model: Model, layer: Layer, tensor_parallel_size: int) -> float:
    """Copies in 16 bits that decoding keeps of a quantized latent up-projection, per rank.

    Of one in 16 bits it takes views.
    """
    up = next((t for t in layer.tensors if t.module.endswith("kv_b_proj")), None)
    if not isinstance(layer.cache, LatentCache) or up is None or up.format.family == "16bit":
        return 0.0
    heads = model.attention_heads / tensor_parallel_size
    return heads * model.latent_query_size * layer.cache.latent_size * 2


def _mxfp4_multiples(gpu: Gpu, version: Version, *, gpt_oss: bool) -> tuple[int, int]:
    """Multiples of hidden and inner size.

    Marlin (Ampere, Ada, consumer Blackwell, Hopper where not gpt-oss) and TRTLLM (Blackwell) pad to
    256 and 128; ROCm to 256 and 256, or 128 with plain SiLU; Triton on Hopper to 256 and 64, fitted
    on one start-up log of gpt-oss-120b.
    """
    if gpu.vendor == "amd":
        return (256, 256) if gpt_oss else (128, 128)
    if gpt_oss and gpu.capability[0] == 9 and version >= TRITON_ON_HOPPER:
        return 256, TRITON_INNER_MULTIPLE
    return 256, 128
