"""A plan of one model as a page of text: the choice, the memory bar, the reasons, the ways out."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from berth.catalog.model_shape import Model
from berth.catalog.modelopt_file import MODELOPT_FILE, format_in_name
from berth.planner.activation import GIB
from berth.planner.host_fit import HostFit
from berth.planner.plan import MemoryPlan
from berth.planner.search import Candidate, Search
from berth.planner.search_document import server_arguments, shown_quantization

BAR_CELLS = 60
STATES = {
    "fits": ("fits", "green"),
    "preempts": ("fits, but preempts under this load", "yellow"),
    "too_little_kv": ("does not fit: starts with too little KV cache", "red"),
    "fails_at_start": ("does not fit: fails at start", "red"),
}
"""The verdicts in words."""
MOST_OTHERS = 8


def print_page(model: Model, name: str, found: Search, ways: Sequence[str]) -> None:
    """Write the page to standard output."""
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    console.print(Text(_heading(model, name), style="bold"))
    for line in _candidate(model, name, found.chosen):
        console.print(Text("  ").append_text(line))
    if ways:
        console.print(Text("Nearest ways to make it fit, each planned", style="bold"))
        for way in ways:
            console.print(Text(f"  {way}"))
    for title, others in (("Would do too", found.alternatives), ("Would not", found.rejected)):
        if others:
            console.print(Text(title, style="bold"))
        for other in others[:MOST_OTHERS]:
            console.print(Text(f"  {_other(other)}"))
        if len(others) > MOST_OTHERS:
            console.print(Text(f"  and {len(others) - MOST_OTHERS} more, see --json"))


def print_why(found: Search, gpu: str) -> None:
    """Say why `gpu` was not chosen."""
    chosen = found.chosen
    for candidate in (chosen, *found.alternatives, *found.rejected):
        if candidate.gpu != gpu:
            continue
        if candidate is chosen:
            print(f"{gpu} is chosen")
        elif candidate.verdict.fits:
            print(
                f"{gpu} fits with {candidate.gpus} GPUs, {candidate.nameplate_gib:g} GiB in all; "
                f"{chosen.gpu} takes {chosen.nameplate_gib:g}"
            )
        else:
            print(f"{gpu} does not fit: {'; '.join(candidate.verdict.reasons)}")
        return
    print(f"{gpu} was not tried: another GPU was fixed, or it is no tier")


def memory_parts(memory: MemoryPlan) -> list[tuple[str, float, str]]:
    """Name, GiB and sign of each part of one GPU, in the order in which they are taken."""
    budget = memory.weights_gib + memory.activation_peak_gib + memory.non_torch_gib
    inside = memory.requested_gib - budget - memory.kv_cache_gib
    graphs = max(0.0, min(memory.cuda_graphs_gib, inside))
    return [
        ("weights", memory.weights_gib, "#"),
        ("activations", memory.activation_peak_gib, "+"),
        ("CUDA graphs", graphs, "g"),
        ("other", memory.non_torch_gib, "o"),
        ("KV cache", memory.kv_cache_gib, "k"),
        ("left free", max(0.0, memory.visible_gib - memory.requested_gib), "."),
    ]


def memory_lines(memory: MemoryPlan) -> Iterator[str]:
    """The memory of one GPU in words and as a bar."""
    shown = [part for part in memory_parts(memory) if part[1] >= 0.005]
    yield f"{memory.visible_gib:.2f} GiB per GPU: " + ", ".join(
        f"{part} {gib:.2f} [{sign}]" for part, gib, sign in shown
    )
    total = max(memory.visible_gib, sum(gib for _, gib, _ in shown))
    cells = (sign * max(1, round(gib / total * BAR_CELLS)) for _, gib, sign in shown)
    yield f"[{''.join(cells)}]"
    yield (
        f"cache for {memory.kv_cache_tokens:,} tokens, {memory.max_concurrency:.1f} full requests; "
        f"one needs {memory.needed_kv_gib:.2f} GiB; uncertain by {memory.error_gib:.2f} GiB, a "
        f"first start takes {memory.cold_start_extra_gib:.2f} more"
    )


def _heading(model: Model, name: str) -> str:
    return (
        f"{name}: {model.parameters / 1e9:.2f} billion parameters, {len(model.layers)} layers, "
        f"attention {', '.join(model.attention) or 'without a cache'}"
    )


def _candidate(model: Model, name: str, candidate: Candidate) -> Iterator[Text]:
    verdict = candidate.verdict
    state = STATES[verdict.verdict]
    where = f"{candidate.gpu} on {candidate.instance_type or 'nodes of your own'}"
    yield Text(*state).append(
        f": {candidate.gpus} x {where}, "
        f"{_weights(model, candidate)} weights, vLLM {candidate.options.vllm_version}",
        "default",
    )
    yield from (Text(reason, "yellow") for reason in verdict.reasons)
    if verdict.other_repository and format_in_name(name) != candidate.options.quantization:
        yield Text("for another repository than this, with weights in that format", "yellow")
    elif verdict.other_repository:
        said = f"config.json is silent of that format: put {MODELOPT_FILE} beside it"
        yield Text(said, "yellow")
    yield from (Text(line) for line in _memory(candidate))
    if verdict.terms.lora_bytes:
        yield Text(_adapters(candidate))
    yield Text(" ".join(server_arguments(candidate, name)), "dim")


def _adapters(candidate: Candidate) -> str:
    options = candidate.options
    gib = candidate.verdict.terms.lora_bytes / GIB
    many = "adapter" if options.max_loras == 1 else "adapters"
    return f"{gib:.2f} of the weights is room for {options.max_loras} LoRA {many} of rank " + str(
        options.max_lora_rank
    )


def _weights(model: Model, candidate: Candidate) -> str:
    name = shown_quantization(model, candidate)
    return "16-bit" if name == "none" else name


def _memory(candidate: Candidate) -> Iterator[str]:
    verdict = candidate.verdict
    yield from memory_lines(verdict.memory)
    yield (
        f"requests of up to {verdict.max_model_len:,} tokens, {verdict.max_num_seqs} at once; "
        f"while loading {verdict.load_peak_gib:.1f} GiB per GPU; download "
        f"{verdict.weights_bytes / 1024**3:.1f} GiB"
    )
    if candidate.host is not None:
        yield _host(candidate.host)


def _host(host: HostFit) -> str:
    """Memory, shared memory and disk of the node."""
    has = "" if host.has_memory_gib is None else f" of {host.has_memory_gib} on the node"
    disk = "" if host.has_disk_gib is None else f" of {host.has_disk_gib} on local disks"
    return (
        f"host: {host.needs.host_memory_request_gib} GiB of memory{has}, at least "
        f"{host.least_memory_gib:g}; /dev/shm {host.needs.shm_gib} GiB; disk "
        f"{host.needs.model_cache_gib} GiB for weights{disk}, {host.image_disk_gib} GiB for system "
        "and image"
    )


def _other(candidate: Candidate) -> str:
    if candidate.verdict.fits:
        memory = candidate.verdict.memory
        return (
            f"{candidate.gpus} x {candidate.gpu}: {memory.kv_cache_gib:.1f} GiB of cache per GPU, "
            f"{memory.max_concurrency:.1f} full requests"
        )
    return f"{candidate.gpus} x {candidate.gpu}: {candidate.verdict.reasons[0]}"
