"""How layers share one pool of blocks: groups, the bytes of a block, the blocks of a request.

Source: vLLM, `v1/core/kv_cache_utils.py` (`get_kv_cache_groups`, `_get_packed_kv_cache_groups`).
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from berth.planner.kv_pages import Page


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that take a block together."""

    layers: int
    pages: tuple[Page, ...]
    """Distinct pages of the group."""

    def blocks(self, max_model_len: int, in_flight_tokens: int) -> int:
        """Blocks that one request of `max_model_len` may hold in this group."""
        return max(page.blocks(max_model_len, in_flight_tokens) for page in self.pages)


@dataclass(frozen=True, slots=True)
class CacheLayout:
    """The pool of one rank."""

    groups: tuple[Group, ...]
    block_bytes: int
    block_tokens: int
    """Tokens per block, of the group with the fewest."""

    def request_blocks(self, max_model_len: int, in_flight_tokens: int) -> int:
        """Blocks that one request of `max_model_len` may hold in all groups."""
        return sum(group.blocks(max_model_len, in_flight_tokens) for group in self.groups)


def group_pages(pages: Sequence[Page], *, packed: bool) -> CacheLayout:
    """The groups of `pages`; `packed`: blocks hold pages of unlike size side by side."""
    if not pages:
        return CacheLayout((), 0, 0)
    tokens = _fewest_tokens(pages)
    if len({_type(page) for page in pages}) == 1:
        group = Group(len(pages), tuple(dict.fromkeys(pages)))
        return CacheLayout((group,), sum(page.page_bytes for page in pages), tokens)
    if packed:
        return _packed(pages, tokens)
    return _equal_pages(pages)


def _fewest_tokens(pages: Sequence[Page]) -> int:
    return min((page.block_tokens for page in pages if page.kind != "state"), default=0)


def _type(page: Page) -> tuple[str, int, int]:
    """Pages of one type need equally many slots."""
    return page.kind, page.block_tokens, page.window


def _equal_pages(pages: Sequence[Page]) -> CacheLayout:
    """All pages made as large as the widest, in groups of equally many layers."""
    widest = max(page.page_bytes for page in pages)
    counts = Counter(_as_wide(page, widest) for page in pages)
    size = min(counts.values())
    if max(counts.values()) < size * 1.5:
        size = max(counts.values())
    groups: list[Group] = []
    for page, layers in counts.items():
        groups += [Group(size, (page,))] * -(-layers // size)
    tokens = _fewest_tokens(list(counts))
    return CacheLayout(tuple(groups), widest * size, tokens)


def _as_wide(page: Page, widest: int) -> Page:
    if page.kind != "state" and widest % page.page_bytes == 0:
        ratio = widest // page.page_bytes
        return replace(page, block_tokens=page.block_tokens * ratio, page_bytes=widest)
    return replace(page, page_bytes=widest)


def _packed(pages: Sequence[Page], tokens: int) -> CacheLayout:
    """Pages of unlike size packed block by block; a block is as large as its widest group."""
    buckets: dict[tuple[str, int, int], list[Page]] = defaultdict(list)
    for page in pages:
        buckets[_type(page)].append(page)
    sizes = {key: Counter(p.page_bytes for p in bucket) for key, bucket in buckets.items()}
    balanced = {key: len(set(counts.values())) == 1 for key, counts in sizes.items()}
    repeats = {key: max(counts.values()) for key, counts in sizes.items()}
    floor = max((repeats[k] for k in sizes if balanced[k] and len(sizes[k]) > 1), default=0)
    even = [repeats[k] for k in sizes if balanced[k]]
    per_group = _least_padding(even, floor) if floor else 0
    groups: list[Group] = []
    block_bytes = 0
    for key, bucket in buckets.items():
        count = -(-repeats[key] // per_group) if per_group and balanced[key] else 1
        distinct = tuple(dict.fromkeys(bucket))
        groups += [Group(-(-len(bucket) // count), distinct)] * count
        block_bytes = max(block_bytes, sum(-(-n // count) * size for size, n in sizes[key].items()))
    return CacheLayout(tuple(groups), block_bytes, tokens)


def _least_padding(counts: Sequence[int], lowest: int) -> int:
    """The group size from `lowest` up that pads least; of equals the larger one."""
    sizes = range(max(1, lowest), max(counts) + 1)
    return min(sizes, key=lambda d: (sum(-count % d for count in counts), -d))
