"""What one layer keeps per block of tokens, on one rank: its pages.

Source: vLLM, `v1/kv_cache_interface.py`, `config/model.py` (`get_num_kv_heads`),
`platforms/interface.py` (block sizes of hybrids), model classes for states.
"""

from dataclasses import dataclass, replace
from typing import Literal

from berth.catalog.model_shape import (
    Cache,
    CompressedCache,
    HeadCache,
    LatentCache,
    Model,
    StateCache,
)

DEFAULT_BLOCK_TOKENS = 16
COMPRESSED_PAGE_MULTIPLE = 576
SPARSE_FP8_BYTES = 656
"""A token in `fp8_ds_mla`: 512 fp8 values, 4 fp32 scales, 64 values of 16 bits."""
INDEX_BYTES = 132
"""A token of its index: 128 fp8 values and a scale."""
HYBRID_LATENT_ALIGN = 128


@dataclass(frozen=True, slots=True)
class Page:
    """One layer's share of one block."""

    kind: Literal["full", "sliding", "chunked", "cross", "state"]
    block_tokens: int
    page_bytes: int
    window: int = 0
    """Tokens of a sliding window, a chunk or a source."""
    state_blocks: int = 0
    """Blocks that a sequence's state takes."""

    def blocks(self, max_model_len: int, in_flight_tokens: int) -> int:
        """Blocks that one request of `max_model_len` may hold."""
        if self.kind == "state":
            return self.state_blocks
        if self.kind == "cross":
            return -(-self.window // self.block_tokens)
        if self.kind == "sliding":
            tokens = min(self.window - 1 + in_flight_tokens, max_model_len)
            return -(-tokens // self.block_tokens) + 1
        if self.kind == "chunked":
            tokens = min(self.window + in_flight_tokens, max_model_len)
            return -(-tokens // self.block_tokens)
        return -(-max_model_len // self.block_tokens)


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What decides pages besides the model."""

    tensor_parallel_size: int
    value_bits: int
    """Of a key or value in the cache: 16, 8 with fp8, 4 with nvfp4."""
    scale_bits: int
    """Per value, of scales that are stored beside groups of values."""
    head_scale_bytes: int
    """Per token and head, for keys and for values each."""
    block_tokens: int
    mamba2_checkpoint: bool
    """A prefill of Mamba2 layers keeps one more state (0.29 and later)."""
    prefix_caching: bool
    speculative_tokens: int
    chunks_keep_all: bool = False
    """Layers that look at a chunk keep all tokens."""


def layer_pages(caches: list[Cache], options: PageOptions) -> list[Page]:
    """Pages of the layers that keep something, in order; a layer may have two (its index)."""
    options = replace(options, block_tokens=hybrid_block_tokens(caches, options))
    pages: list[Page] = []
    for cache in caches:
        pages += _pages(cache, options)
    states = [page for page in pages if page.kind == "state"]
    if states:
        widest = max(page.page_bytes for page in pages)
        pages = [replace(p, page_bytes=widest) if p.kind == "state" else p for p in pages]
    return pages


def hybrid_block_tokens(caches: list[Cache], options: PageOptions) -> int:
    """Tokens per block: where states share the pool, enough that a state fits in a block."""
    states = [cache for cache in caches if isinstance(cache, StateCache)]
    attention = [cache for cache in caches if isinstance(cache, HeadCache | LatentCache)]
    if not states or not attention:
        return options.block_tokens
    state_bytes = max(_state_bytes(cache, options) for cache in states)
    align = options.block_tokens
    if isinstance(attention[0], LatentCache):
        align = max(align, HYBRID_LATENT_ALIGN)
    per_token = max(_bytes_per_token(cache, options) for cache in attention)
    return align * -(-state_bytes // (align * per_token))


def _pages(cache: Cache, options: PageOptions) -> list[Page]:
    block = options.block_tokens
    match cache:
        case HeadCache(source_tokens=int(source)):
            return [Page("cross", block, block * _bytes_per_token(cache, options), source)]
        case HeadCache(window=int(window)):
            return [Page("sliding", block, block * _bytes_per_token(cache, options), window)]
        case HeadCache(chunk=int(chunk)) if not options.chunks_keep_all:
            return [Page("chunked", block, block * _bytes_per_token(cache, options), chunk)]
        case HeadCache():
            page = Page("full", block, block * _bytes_per_token(cache, options))
            if not cache.index_size:
                return [page]
            return [page, Page("full", block, block * cache.index_size * 2)]
        case LatentCache():
            latent = Page("full", block, block * _bytes_per_token(cache, options))
            if not cache.index_size:
                return [latent]
            return [latent, Page("full", block, block * INDEX_BYTES)]
        case StateCache():
            return [_state_page(cache, options)]
        case CompressedCache():
            return compressed_pages(cache)


def _bytes_per_token(cache: Cache, options: PageOptions) -> int:
    if isinstance(cache, HeadCache):
        heads = max(1, cache.kv_heads // options.tensor_parallel_size)
        values = heads * (cache.key_size + cache.value_size)
        return _packed_bytes(values, options) + 2 * heads * options.head_scale_bytes
    if isinstance(cache, LatentCache):
        if cache.sparse and options.value_bits == 8:
            return SPARSE_FP8_BYTES
        return _packed_bytes(cache.latent_size + cache.rope_size, options)
    return 0


def _packed_bytes(values: int, options: PageOptions) -> int:
    scales = values * options.scale_bits // 16
    return values * options.value_bits // 8 + scales // 8


def _state_bytes(cache: StateCache, options: PageOptions) -> int:
    state_value_bytes = 2 if cache.state_in_model_dtype else 4
    ranks = options.tensor_parallel_size
    copied = 0 if cache.groups % ranks == 0 else max(0, ranks - cache.groups)
    conv_values = (cache.conv_values + copied * cache.group_conv_values) // ranks
    return conv_values * 2 + cache.state_values // ranks * state_value_bytes


def _state_page(cache: StateCache, options: PageOptions) -> Page:
    blocks = 1 + options.speculative_tokens
    if options.prefix_caching:
        blocks += 1 + (1 if options.mamba2_checkpoint and cache.kind == "mamba2" else 0)
    return Page("state", 0, _state_bytes(cache, options), state_blocks=blocks)


def compressed_pages(cache: CompressedCache) -> list[Page]:
    """Pages of one DeepSeek V4 layer: compressed tokens and index, compressor state, window."""
    window = Page("sliding", 64, _multiple(64 * 584), cache.window)
    if cache.ratio == 0:
        return [window]
    if cache.ratio == 4:
        return [
            Page("full", 256, _multiple(64 * 584)),
            Page("full", 256, _multiple(64 * INDEX_BYTES)),
            Page("sliding", 4, _multiple(4 * 2048 * 4), 8),
            Page("sliding", 4, _multiple(4 * 512 * 4), 8),
            window,
        ]
    return [
        Page("full", 256, _multiple(256 // cache.ratio * 584)),
        Page("sliding", 8, _multiple(8 * 1024 * 4), 128),
        window,
    ]


def _multiple(size: int) -> int:
    return -(-size // COMPRESSED_PAGE_MULTIPLE) * COMPRESSED_PAGE_MULTIPLE


def is_compressed(model: Model) -> bool:
    """Whether the model packs pages of unlike size into one block."""
    return any(isinstance(c, CompressedCache) for c in model.caches)
