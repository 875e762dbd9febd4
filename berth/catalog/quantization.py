"""Which weights a checkpoint stores in which format, from its `quantization_config`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Tensor
from berth.catalog.module_names import ModuleNames
from berth.catalog.weight_format import (
    BITS16,
    FP8_BLOCK,
    FP8_CHANNEL,
    FP8_TENSOR,
    INT8_CHANNEL,
    MXFP4,
    NF4,
    NF4_DOUBLE,
    NVFP4,
    WeightFormat,
    int4,
)

EXPERTS = ("expert", "expert_none")
FormatOf = Callable[[str, Tensor], WeightFormat]


@dataclass(frozen=True, slots=True)
class Quantization:
    """The checkpoint's own quantization."""

    name: str
    """As `--quantization` of `berth plan` spells it; `none` where there is none."""
    format_of: FormatOf
    """Format of a weight, given the path of its module and the weight."""
    kv_cache_fp8: bool = False


def read_quantization(root: ConfigValues, text: ConfigValues) -> Quantization:
    """What the configuration says about formats; `root` and `text` may be the same level."""
    holder = root if root.has("quantization_config") else text
    values = holder.section("quantization_config")
    if not values.data:
        return Quantization("none", lambda _module, _tensor: BITS16)
    method = values.text("quant_method")
    reader = _READERS.get(method) or (_modelopt if values.has("quant_algo") else None)
    if reader is None:
        known = ", ".join(sorted(_READERS))
        values.refuse(
            "quant_method", f"{method[:40] or 'nothing'} is not known", f"known are {known}"
        )
        return Quantization("none", lambda _module, _tensor: BITS16)
    return reader(values, text)


def only_linear(
    name: str, chosen: WeightFormat, ignored: ModuleNames, *, kv_cache_fp8: bool = False
) -> Quantization:
    """One format for every weight that may be quantized and is not in `ignored`."""

    def format_of(module: str, tensor: Tensor) -> WeightFormat:
        return chosen if tensor.linear and module not in ignored else BITS16

    return Quantization(name, format_of, kv_cache_fp8)


def _fp8(values: ConfigValues, text: ConfigValues) -> Quantization:
    if values.has("quant_algo"):
        return _modelopt(values, text)
    dense = only_linear("fp8", _fp8_format(values), _ignored(values))
    if text.text("expert_dtype") != "fp4":
        return dense

    def format_of(module: str, tensor: Tensor) -> WeightFormat:
        return MXFP4 if tensor.split in EXPERTS else dense.format_of(module, tensor)

    return Quantization("fp8", format_of)


def _fp8_format(values: ConfigValues) -> WeightFormat:
    block = values.integers("weight_block_size", low=1)
    return WeightFormat("fp8", 8, block[0], block[-1], 32) if block else FP8_TENSOR


def _fbgemm(values: ConfigValues, _text: ConfigValues) -> Quantization:
    return only_linear("fp8", FP8_CHANNEL, _ignored(values))


def _quark(values: ConfigValues, _text: ConfigValues) -> Quantization:
    weight = values.section("global_quant_config").section("weight")
    if weight.text("dtype", "fp8_e4m3") == "fp4":
        return only_linear("mxfp4", MXFP4, _ignored(values))
    return only_linear(
        "fp8", FP8_TENSOR, _ignored(values), kv_cache_fp8=values.has("kv_cache_group")
    )


def _awq(values: ConfigValues, _text: ConfigValues) -> Quantization:
    chosen = _integers(values, zero_point=values.flag("zero_point", default=True))
    return only_linear("awq", chosen, _ignored(values))


def _gptq(values: ConfigValues, _text: ConfigValues) -> Quantization:
    """GPTQ and AutoRound; the zero points of symmetric ones are dropped when they are loaded.

    Source: vLLM, `quantization/gptq_marlin.py`.
    """
    zero_point = not values.flag("sym")
    return only_linear("gptq", _integers(values, zero_point=zero_point), _ignored(values))


def _bitsandbytes(values: ConfigValues, _text: ConfigValues) -> Quantization:
    if values.flag("load_in_8bit") or values.flag("_load_in_8bit"):
        return only_linear("bitsandbytes", INT8_CHANNEL, _ignored(values))
    chosen = NF4_DOUBLE if values.flag("bnb_4bit_use_double_quant") else NF4
    return only_linear("bitsandbytes", chosen, _ignored(values))


def _mxfp4(values: ConfigValues, _text: ConfigValues) -> Quantization:
    ignored = _ignored(values)

    def format_of(module: str, tensor: Tensor) -> WeightFormat:
        return MXFP4 if tensor.split in EXPERTS and module not in ignored else BITS16

    return Quantization("mxfp4", format_of)


def _compressed_tensors(values: ConfigValues, _text: ConfigValues) -> Quantization:
    ignored = _ignored(values)
    groups = values.section("config_groups")
    by_target: list[tuple[ModuleNames, WeightFormat]] = []
    default: WeightFormat | None = None
    for name in groups.data:
        group = groups.section(name)
        chosen = _group_format(group.section("weights"))
        targets = group.texts("targets")
        if "Linear" in targets:
            default = chosen
        elif targets:
            by_target.append((ModuleNames(targets, group, "targets"), chosen))

    def format_of(module: str, tensor: Tensor) -> WeightFormat:
        if not tensor.linear or module in ignored:
            return BITS16
        for names, chosen in by_target:
            if module in names:
                return chosen
        return default or BITS16

    family = default or (by_target[0][1] if by_target else BITS16)
    kv_fp8 = values.has("kv_cache_scheme")
    return Quantization(_NAMES[family.family], format_of, kv_fp8)


def _modelopt(values: ConfigValues, _text: ConfigValues) -> Quantization:
    ignored = _ignored(values)
    algorithm = values.text("quant_algo")
    kv_fp8 = values.has("kv_cache_scheme") or values.text("kv_cache_quant_algo") == "FP8"
    if algorithm != "MIXED_PRECISION":
        chosen = _ALGORITHMS.get(algorithm)
        if chosen is None:
            values.refuse(
                "quant_algo",
                f"{algorithm[:40]} is not known",
                f"known are {', '.join(_ALGORITHMS)}",
            )
        return only_linear(
            _NAMES[(chosen or BITS16).family], chosen or BITS16, ignored, kv_cache_fp8=kv_fp8
        )
    by_algorithm: dict[str, list[str]] = {}
    layers = values.section("quantized_layers")
    for module in layers.data:
        by_algorithm.setdefault(layers.section(module).text("quant_algo"), []).append(module)
    named = [
        (ModuleNames(modules, values, "quantized_layers"), _ALGORITHMS.get(algorithm, BITS16))
        for algorithm, modules in by_algorithm.items()
    ]

    rest = _fp8_format(values) if values.text("quant_method") == "fp8" else BITS16

    def format_of(module: str, tensor: Tensor) -> WeightFormat:
        otherwise = rest if tensor.linear and module != "lm_head" else BITS16
        return next((chosen for names, chosen in named if module in names), otherwise)

    return Quantization("nvfp4", format_of, kv_fp8)


def _ignored(values: ConfigValues) -> ModuleNames:
    keys = (
        "modules_to_not_convert",
        "ignored_layers",
        "ignore",
        "exclude_modules",
        "exclude",
        "llm_int8_skip_modules",
    )
    names = [(key, name) for key in keys for name in values.texts(key)]
    return ModuleNames([name for _, name in names], values, names[0][0] if names else "ignore")


def _integers(values: ConfigValues, *, zero_point: bool) -> WeightFormat:
    bits = values.integer("bits", "w_bit", default=4, high=8)
    group = values.integer("group_size", "q_group_size", default=128, low=-1, high=1 << 16)
    if bits == 8:
        return WeightFormat("int8", 8, 1, max(group, 0), 24 if zero_point else 16)
    chosen = int4(max(group, 0), zero_point=zero_point)
    return WeightFormat("int4", bits, 1, chosen.group_columns, chosen.group_bits)


def _group_format(weights: ConfigValues) -> WeightFormat:
    bits = weights.integer("num_bits", default=8, high=16)
    strategy = weights.text("strategy", "tensor")
    group = weights.integer("group_size", default=0, low=-1, high=1 << 16)
    if bits == 8 and weights.text("type", "float") == "float":
        return {"channel": FP8_CHANNEL, "block": FP8_BLOCK}.get(strategy, FP8_TENSOR)
    if bits == 8:
        return INT8_CHANNEL
    if bits == 4 and weights.text("type", "int") == "float":
        return NVFP4 if group == 16 else MXFP4
    if bits > 8:
        return BITS16
    chosen = int4(max(group, 0), zero_point=not weights.flag("symmetric", default=True))
    return WeightFormat("int4", bits, 1, chosen.group_columns, chosen.group_bits)


_ALGORITHMS: Mapping[str, WeightFormat] = {
    "FP8": FP8_TENSOR,
    "FP8_PER_CHANNEL_PER_TOKEN": FP8_CHANNEL,
    "FP8_PB_WO": FP8_BLOCK,
    "NVFP4": NVFP4,
    "NVFP4_AWQ": NVFP4,
    "W4A16_NVFP4": NVFP4,
    "MXFP4": MXFP4,
    "W4A16_AWQ": int4(128, zero_point=False),
    "INT4_AWQ": int4(128, zero_point=False),
}
_NAMES: Mapping[str, str] = {
    "16bit": "none",
    "fp32": "none",
    "fp8": "fp8",
    "int8": "int8",
    "int4": "int4",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "nf4": "bitsandbytes",
}
_READERS: Mapping[str, Callable[[ConfigValues, ConfigValues], Quantization]] = {
    "auto-round": _gptq,
    "awq": _awq,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed_tensors,
    "fbgemm_fp8": _fbgemm,
    "fp8": _fp8,
    "gptq": _gptq,
    "modelopt": _modelopt,
    "mxfp4": _mxfp4,
    "quark": _quark,
}
