"""What encoders of images are made of."""

from collections.abc import Callable
from dataclasses import dataclass

from berth.catalog.architectures.parts import kept
from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import Split, Tensor, Tower


@dataclass(frozen=True, slots=True)
class EncoderSizes:
    """The sizes that most encoders write under the same keys."""

    hidden: int
    inner: int
    layers: int
    patch: int
    """Side of a patch in pixels."""

    @classmethod
    def of(
        cls,
        values: ConfigValues,
        *,
        hidden: int | None = None,
        inner: int | None = None,
        layers: int | None = None,
        patch: int | None = 14,
    ) -> "EncoderSizes":
        """Read from a section; what is given here counts where the section says nothing."""
        return cls(
            values.integer("hidden_size", default=hidden),
            values.integer("intermediate_size", default=inner),
            values.integer("num_hidden_layers", default=layers, high=1000),
            side(values, "patch_size", patch, high=256),
        )

    @property
    def patch_values(self) -> int:
        """Values of one patch in three colours."""
        return 3 * self.patch**2


def side(values: ConfigValues, key: str, default: int | None, *, high: int = 1 << 16) -> int:
    """A side in pixels, written as one number or as height and width."""
    if isinstance(values.data.get(key), list):
        sides = values.integers(key, low=1, high=high)
        return max(sides) if sides else 1
    return values.integer(key, default=default, high=high)


class TowerParts:
    """Collects the weights and vectors of one tower."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.vectors = 0

    def add(
        self,
        module: str,
        rows: int,
        columns: int,
        split: Split = "none",
        copies: int = 1,
        *,
        bias: bool = True,
    ) -> None:
        """One weight, `copies` times, with its bias."""
        self.tensors.append(kept(module, rows, columns, split, copies))
        self.vectors += rows * copies if bias else 0

    def encoder(
        self,
        layers: int,
        size: int,
        inner: int,
        *,
        bias: bool,
        gated: bool,
        norm_values: int,
        qkv_bias: bool | None = None,
    ) -> None:
        """Attention and feed-forward part of every layer."""
        self.add(
            "qkv", 3 * size, size, "column", layers, bias=bias if qkv_bias is None else qkv_bias
        )
        self.add("proj", size, size, "row", layers, bias=bias)
        self.add("fc1", (2 if gated else 1) * inner, size, "column", layers, bias=bias)
        self.add("fc2", size, inner, "row", layers, bias=bias)
        self.vectors += layers * norm_values

    def tower(
        self,
        sizes: EncoderSizes,
        patches_per_token: int,
        largest_item_tokens: int,
        *,
        split_by_tensor_parallel: bool = True,
        gated: bool = False,
    ) -> Tower:
        """The encoder with all that was added."""
        return Tower(
            tuple(self.tensors),
            self.vectors,
            sizes.hidden,
            sizes.inner,
            sizes.patch_values,
            patches_per_token,
            largest_item_tokens,
            split_by_tensor_parallel=split_by_tensor_parallel,
            gated=gated,
        )


TowerBuilder = Callable[[ConfigValues, ConfigValues], Tower | None]
"""Makes an encoder of the whole configuration and its language section; None: there is none."""
