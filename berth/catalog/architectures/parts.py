"""Parts that many architectures share: attention with heads, gated feed-forward, experts."""

from dataclasses import dataclass

from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import HeadCache, Layer, Split, Tensor, Tower


@dataclass(frozen=True, slots=True)
class Body:
    """What an architecture makes of a configuration, before formats are put in."""

    layers: tuple[Layer, ...]
    tied: bool
    max_positions: int
    hidden_size: int
    vocabulary: int
    attention_heads: int
    kv_heads: int
    head_size: int
    embedding_rows: int | None = None
    """Rows of the embedding, where they are not the vocabulary."""
    final_tensors: tuple[Tensor, ...] = ()
    final_vector_parameters: int = 0
    towers: tuple[Tower, ...] = ()
    mtp_layers: tuple[Layer, ...] = ()
    pooling: bool = False
    latent_query_size: int = 0


@dataclass(frozen=True, slots=True)
class Heads:
    """The sizes of attention with heads."""

    query_heads: int
    kv_heads: int
    key_size: int
    value_size: int

    @classmethod
    def of(cls, values: ConfigValues, hidden_size: int) -> "Heads":
        """The usual keys; the head size defaults to an equal share of the hidden size."""
        query_heads = values.integer("num_attention_heads", "n_head")
        head_size = values.integer("head_dim", default=max(1, hidden_size // query_heads))
        kv_heads = values.integer("num_key_value_heads", default=query_heads)
        return cls(query_heads, kv_heads, head_size, head_size)

    def cache(self, window: int | None = None, chunk: int | None = None) -> HeadCache:
        """What such a layer keeps."""
        return HeadCache(self.kv_heads, self.key_size, self.value_size, window, chunk)


def linear(
    module: str, rows: int, columns: int, split: Split, copies: int = 1, *, heads: int = 1
) -> Tensor:
    """A weight that may be quantized."""
    return Tensor(module, rows, columns, split, copies, heads)


def kept(module: str, rows: int, columns: int, split: Split = "none", copies: int = 1) -> Tensor:
    """A weight that stays in the model's own format: router, convolution, embedding."""
    return Tensor(module, rows, columns, split, copies, linear=False)


def attention(
    heads: Heads,
    hidden_size: int,
    *,
    module: str = "self_attn",
    gate: bool = False,
    values: bool = True,
) -> tuple[Tensor, ...]:
    """Query, key, value and output; `gate` doubles the query; no `values`: keys serve as such."""
    query_rows = heads.query_heads * heads.key_size * (2 if gate else 1)
    kv = heads.kv_heads
    tensors = [
        linear(f"{module}.q_proj", query_rows, hidden_size, "column"),
        linear(f"{module}.k_proj", kv * heads.key_size, hidden_size, "kv", heads=kv),
    ]
    if values:
        tensors.append(
            linear(f"{module}.v_proj", kv * heads.value_size, hidden_size, "kv", heads=kv)
        )
    output_columns = heads.query_heads * heads.value_size
    return (*tensors, linear(f"{module}.o_proj", hidden_size, output_columns, "row"))


def gated_mlp(
    hidden_size: int, inner_size: int, *, module: str = "mlp", gated: bool = True
) -> tuple[Tensor, ...]:
    """Gate, up and down projections, or up and down alone."""
    up = linear(f"{module}.up_proj", inner_size, hidden_size, "column")
    down = linear(f"{module}.down_proj", hidden_size, inner_size, "row")
    gate = linear(f"{module}.gate_proj", inner_size, hidden_size, "column")
    return (gate, up, down) if gated else (up, down)


def experts(
    count: int,
    hidden_size: int,
    inner_size: int,
    *,
    module: str = "mlp.experts",
    gated: bool = True,
) -> tuple[Tensor, ...]:
    """The routed experts of one layer, without router."""
    rows = 2 * inner_size if gated else inner_size
    return (
        linear(
            f"{module}.gate_up_proj" if gated else f"{module}.up_proj",
            rows,
            hidden_size,
            "expert",
            count,
        ),
        linear(f"{module}.down_proj", hidden_size, inner_size, "expert", count),
    )
