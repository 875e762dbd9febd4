"""What share of a GPU's peaks the kernel for one number format reaches."""

from dataclasses import dataclass

from berth.catalog.gpu import Gpu
from berth.catalog.speed import SpeedConstants
from berth.planner.speed.fabric import BLACKWELL

AMPERE = 8
HOPPER = 9
COMPUTED_AS = {
    "fp8": ("fp8", "fp8_fnuz"),
    "fp8_block": ("fp8", "fp8_fnuz"),
    "int8": ("int8",),
    "nvfp4": ("nvfp4",),
    "mxfp4": ("mxfp4",),
}
"""Formats that a GPU may multiply in; the others are multiplied in 16 bits."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One matrix kernel on one GPU."""

    read_share: float
    """Of the memory bandwidth."""
    tflops: float
    """Peak of the format it multiplies in."""
    compute_share: float
    """Of that peak."""


def peak_tflops(kernel: str, gpu: Gpu) -> float:
    """Dense peak in the format that `kernel` multiplies in on this GPU."""
    native = native_format(kernel, gpu)
    if native is not None:
        return gpu.dense_tflops[native]
    return gpu.dense_tflops.get("bf16") or gpu.dense_tflops["fp16"]


def readable_gb_per_s(peak_gb_per_s: float, constants: SpeedConstants) -> float:
    """The bandwidth that read shares refer to: of very fast memory, not all can be asked for."""
    faster = max(1.0, peak_gb_per_s / constants.full_read_gb_per_s)
    return float(peak_gb_per_s / faster**constants.read_share_exponent)


def native_format(kernel: str, gpu: Gpu) -> str | None:
    """The format of `kernel` that the GPU has matrix units for; None: 16 bits."""
    for name in COMPUTED_AS.get(kernel, ()):
        if name in gpu.computes and name in gpu.dense_tflops:
            return name
    return None


def matrix_kernel(kernel: str, gpu_key: str, gpu: Gpu, constants: SpeedConstants) -> Kernel:
    """The kernel for matrices that every token passes."""
    read, compute = constants.read_share, constants.compute_share
    peak = peak_tflops(kernel, gpu)
    if kernel == "16bit":
        return Kernel(read["16bit"], peak, compute["16bit"])
    if native_format(kernel, gpu) is None:
        if kernel in ("fp8", "fp8_block", "int8"):
            return Kernel(read["w8a16"], peak, compute["dequantized"])
        share = read["int4_gddr" if gpu_key in constants.gddr else "int4"]
        return Kernel(share, peak, compute["dequantized"])
    if kernel in ("nvfp4", "mxfp4"):
        return Kernel(read["nvfp4"], peak, compute["nvfp4"])
    if kernel == "int8":
        return Kernel(read["int8"], peak, compute["int8"])
    blackwell = gpu.capability[0] == BLACKWELL
    return Kernel(read[kernel], peak, compute["fp8_blackwell" if blackwell else "fp8"])


def expert_kernel(kernel: str, gpu: Gpu, constants: SpeedConstants) -> Kernel:
    """The kernel for experts, of which each step reads those that its tokens are sent to."""
    read, compute = constants.read_share, constants.compute_share
    share, peak = compute["experts"], peak_tflops(kernel, gpu)
    if gpu.capability[0] == BLACKWELL:
        if kernel == "fp8_block":
            share = compute["experts_fp8_block_blackwell"]
        if kernel == "mxfp4":
            peak = 2 * peak_tflops("16bit", gpu)  # activations are in 16 or 8 bits
        return Kernel(read["experts_blackwell"], peak, share)
    if kernel == "mxfp4":
        hopper = gpu.capability[0] == HOPPER
        read_share = read["experts_mxfp4_hopper" if hopper else "experts"]
        if gpu.capability[0] == AMPERE:
            share = compute["experts_mxfp4_ampere"]
        return Kernel(read_share, peak_tflops("16bit", gpu), share)
    return Kernel(read["experts_16bit" if kernel == "16bit" else "experts"], peak, share)
