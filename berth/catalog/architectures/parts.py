"""Parts that many architectures share: attention with heads, feed-forward parts, experts."""

from dataclasses import dataclass, replace

from berth.catalog.config_values import ConfigValues
from berth.catalog.model_shape import HeadCache, Layer, Split, Tensor, Tower

MAX_LAYERS = 1000


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
    final_tensors: tuple[Tensor, ...] = ()
    final_vector_parameters: int = 0
    towers: tuple[Tower, ...] = ()
    mtp_layers: tuple[Layer, ...] = ()
    pooling: bool = False
    generates: bool = True
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
        query_heads = values.integer("num_attention_heads", "n_head", "n_heads", high=4096)
        head_size = values.integer(
            "head_dim", default=max(1, hidden_size // query_heads), high=8192
        )
        if not values.has("head_dim") and hidden_size > 1 and hidden_size % query_heads:
            problem = f"{query_heads} does not divide the hidden size {hidden_size}"
            values.refuse("num_attention_heads", problem, "give head_dim, or a divisor")
        kv_heads = values.integer(
            "num_key_value_heads", "num_attention_groups", default=query_heads, high=4096
        )
        if query_heads > 1 and query_heads % kv_heads:
            problem = f"{kv_heads} does not divide the {query_heads} attention heads"
            values.refuse("num_key_value_heads", problem, "give a divisor of them")
        return cls(query_heads, kv_heads, head_size, head_size)

    @property
    def qkv_rows(self) -> int:
        """Output features of query, key and value together."""
        return (self.query_heads + self.kv_heads) * self.key_size + self.kv_heads * self.value_size

    def cache(self, window: int | None = None, chunk: int | None = None) -> HeadCache:
        """What such a layer keeps."""
        return HeadCache(self.kv_heads, self.key_size, self.value_size, window, chunk)


def standard_body(
    values: ConfigValues,
    layers: tuple[Layer, ...],
    heads: Heads,
    *,
    tied: bool = False,
    positions: int | None = None,
) -> Body:
    """A body with the usual keys and one norm after the layers.

    `positions` is the length that counts where the configuration names none.
    """
    hidden_size = values.integer("hidden_size", "d_model", "n_embd", "n_embed")
    return Body(
        layers=layers,
        tied=values.flag("tie_word_embeddings", default=tied),
        max_positions=values.integer(
            "max_position_embeddings",
            "n_positions",
            "max_seq_len",
            "seq_length",
            "model_max_length",
            default=positions,
            high=1 << 28,
        ),
        hidden_size=hidden_size,
        vocabulary=values.integer("vocab_size", "padded_vocab_size"),
        attention_heads=heads.query_heads,
        kv_heads=heads.kv_heads,
        head_size=heads.key_size,
        final_vector_parameters=hidden_size,
    )


def layer_count(values: ConfigValues) -> int:
    """Layers of the language model."""
    return values.integer("num_hidden_layers", "n_layer", "n_layers", "num_layers", high=MAX_LAYERS)


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


def mlp(
    hidden_size: int, inner_size: int, *, module: str = "mlp", gated: bool = True
) -> tuple[Tensor, ...]:
    """Gate, up and down projections, or up and down alone."""
    gate = linear(f"{module}.gate_proj", inner_size, hidden_size, "column")
    up = linear(f"{module}.up_proj", inner_size, hidden_size, "column")
    down = linear(f"{module}.down_proj", hidden_size, inner_size, "row")
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
    up = "gate_up_proj" if gated else "up_proj"
    return (
        linear(f"{module}.{up}", rows, hidden_size, "expert", count),
        linear(f"{module}.down_proj", hidden_size, inner_size, "expert", count),
    )


def routed(
    count: int,
    hidden_size: int,
    inner_size: int,
    *,
    module: str = "mlp",
    router: str = "gate",
    shared_inner_size: int = 0,
    shared: str = "shared_experts",
    shared_gate: bool = False,
) -> tuple[Tensor, ...]:
    """A router with its experts and, if any, the part that every token passes."""
    tensors = [
        kept(f"{module}.{router}", count, hidden_size),
        *experts(count, hidden_size, inner_size, module=f"{module}.experts"),
    ]
    if shared_inner_size:
        tensors += mlp(hidden_size, shared_inner_size, module=f"{module}.{shared}")
    if shared_gate:
        tensors.append(kept(f"{module}.shared_expert_gate", 1, hidden_size))
    return tuple(tensors)


def layer_windows(values: ConfigValues, count: int, *, used: bool = True) -> list[int | None]:
    """Sliding window of each layer, None where a layer keeps all tokens.

    Reads `layer_types`, else `sliding_window_pattern` (every n-th layer keeps all), else
    `max_window_layers` (the layers before it keep all), else one window for all layers.
    """
    if not values.has("sliding_window") or not values.flag("use_sliding_window", default=used):
        return [None] * count
    window = values.integer("sliding_window")
    types = values.texts("layer_types")
    if types:
        if len(types) < count:
            values.refuse(
                "layer_types", f"has {len(types)} entries", f"give one per {count} layers"
            )
        return [window if kind.startswith("sliding") else None for kind in types[:count]]
    pattern = values.data.get("sliding_window_pattern")
    if isinstance(pattern, str) and 0 < len(pattern) <= MAX_LAYERS:
        return [window if pattern[i % len(pattern)] == "L" else None for i in range(count)]
    if values.has("sliding_window_pattern"):
        every = values.integer("sliding_window_pattern", high=MAX_LAYERS)
        return [None if (index + 1) % every == 0 else window for index in range(count)]
    if values.has("max_window_layers"):
        first = values.integer("max_window_layers", low=0, high=1 << 20)
        return [None if index < first else window for index in range(count)]
    return [window] * count


def with_windows(layer: Layer, windows: list[int | None]) -> tuple[Layer, ...]:
    """`layer` once per window; equal layers are one object."""
    assert isinstance(layer.cache, HeadCache)
    made = {w: replace(layer, cache=replace(layer.cache, window=w)) for w in set(windows)}
    return tuple(made[window] for window in windows)
