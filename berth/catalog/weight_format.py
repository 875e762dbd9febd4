"""Number formats of weights, with the scales that are stored beside the numbers."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["16bit", "fp32", "fp8", "int8", "int4", "mxfp4", "nvfp4", "nf4"]


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """How one weight matrix is stored."""

    family: Family
    bits: int
    """Per weight."""
    group_rows: int = 0
    """Output features that share one scale; 0: all of them."""
    group_columns: int = 0
    """Input features that share one scale; 0: all of them."""
    group_bits: int = 0
    """Scale, and zero point if there is one, per group."""

    def stored_bytes(self, rows: float, columns: float) -> float:
        """Bytes of a matrix of `rows` output and `columns` input features."""
        groups_down = -(-rows // self.group_rows) if self.group_rows else 1
        groups_across = -(-columns // self.group_columns) if self.group_columns else 1
        return (rows * columns * self.bits + groups_down * groups_across * self.group_bits) / 8


BITS16 = WeightFormat("16bit", 16)
FP32 = WeightFormat("fp32", 32)
FP8_TENSOR = WeightFormat("fp8", 8, 0, 0, 32)
FP8_CHANNEL = WeightFormat("fp8", 8, 1, 0, 32)
FP8_BLOCK = WeightFormat("fp8", 8, 128, 128, 32)
INT8_CHANNEL = WeightFormat("int8", 8, 1, 0, 32)
MXFP4 = WeightFormat("mxfp4", 4, 1, 32, 8)
NVFP4 = WeightFormat("nvfp4", 4, 1, 16, 8)
NF4 = WeightFormat("nf4", 4, 1, 64, 32)
"""bitsandbytes: one fp32 maximum for 64 weights."""
NF4_DOUBLE = WeightFormat("nf4", 4, 1, 64, 8)
"""bitsandbytes with the maxima quantized again to 8 bits (`bnb_4bit_use_double_quant`)."""


def int4(group_columns: int, *, zero_point: bool) -> WeightFormat:
    """4-bit integers as AWQ and GPTQ store them: a 16-bit scale and, if any, a 4-bit zero point."""
    return WeightFormat("int4", 4, 1, group_columns, 20 if zero_point else 16)
