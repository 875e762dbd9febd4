"""A plan for a load as a page of text: the choice, its speed and price, and what lost."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from berth.catalog.model_shape import Model
from berth.cli.plan_page import memory_lines
from berth.planner.cheapest import Comparison
from berth.planner.load_document import candidate_of
from berth.planner.option import Option, split_words
from berth.planner.plan import SpeedPlan
from berth.planner.search_document import server_arguments
from berth.planner.speed.serving import Traffic
from berth.planner.startup import plan_startup

NARROW_BITS = {"fp8": 8, "int8": 8, "awq": 4, "gptq": 4, "int4": 4, "nvfp4": 4, "mxfp4": 4}


def print_load_page(model: Model, name: str, found: Comparison, load: Traffic) -> None:
    """Write the page to standard output."""
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    console.print(Text(f"{name}: {_load_words(load)}", style="bold"))
    nearest = found.nearest
    if found.chosen is None:
        console.print(Text("  nothing holds the load and its goals; the nearest is", "red"))
    for line in _option_lines(model, name, nearest):
        console.print(Text(f"  {line}"))
    if found.pareto:
        console.print(Text("Dearer and faster", style="bold"))
    for option in found.pareto:
        console.print(Text(f"  {_short(option)}"))
    if found.rejected:
        console.print(Text("Would not", style="bold"))
    for option, reason in found.rejected:
        console.print(Text(f"  {option.gpu}: {reason}"))


def speed_lines(speed: SpeedPlan) -> Iterator[str]:
    """The speed of all replicas in words."""
    if speed.ttft_ms is None:
        first = "more arrives than is answered, so the first token waits without end"
    else:
        first = (
            f"first token {speed.ttft_ms:,.0f} ms "
            f"({speed.ttft_ms_low:,.0f} to {speed.ttft_ms_high:,.0f})"
        )
    yield (
        f"{first}, per token {speed.itl_ms:.1f} ms ({speed.itl_ms_low:.1f} to "
        f"{speed.itl_ms_high:.1f}), {speed.output_tokens_per_s:,.0f} output tokens/s"
    )
    yield (
        f"{speed.requests_per_s:.3g} requests/s of {speed.capacity_requests_per_s:.3g} at "
        f"saturation, {speed.running_per_replica:.0f} running per replica; evidence "
        f"{speed.evidence}, constants {speed.constants}"
    )
    yield (
        f"one request alone {speed.single_stream_tokens_per_s:,.0f} tokens/s, by memory bandwidth "
        f"at most {speed.decode_ceiling_tokens_per_s:,.0f}"
    )
    if speed.tensor_parallel_tax_ms:
        yield f"tensor parallel tax: {speed.tensor_parallel_tax_ms:.2f} ms of each token's time"


def _option_lines(model: Model, name: str, option: Option) -> Iterator[str]:
    replicas = option.sizing.replicas if option.sizing is not None else 1
    yield f"{replicas} x {option.gpus} x {option.gpu} ({split_words(option)}){_nodes(option)}"
    if option.reason:
        yield option.reason
    if option.sizing is not None:
        for miss in option.sizing.misses:
            yield miss.words()
    yield _cost(option)
    speed = option.plan()
    if speed is not None:
        yield from speed_lines(speed)
    yield from _roof(model, option)
    startup = plan_startup(option.verdict.weights_bytes)
    yield (
        f"starts in {startup.total_s} s: image {startup.image_s}, weights {startup.weights_s}, "
        f"compiling and graphs {startup.compile_and_graphs_s}; probe budget {startup.budget_s} s"
    )
    yield from memory_lines(option.verdict.memory)
    yield " ".join(server_arguments(candidate_of(option), name))


def _roof(model: Model, option: Option) -> Iterator[str]:
    """The decode ceiling by the rule of thumb: every weight in the narrow format."""
    asked = option.options.quantization
    bits = NARROW_BITS.get(model.quantization if asked == "auto" else asked)
    if option.speed is not None and bits is not None:
        bytes_of_all = model.active_parameters * bits / 8
        options = option.options
        ranks = options.tensor_parallel_size
        if options.expert_parallel:
            ranks *= options.data_parallel_size
        bytes_per_s = 1000 * option.speed.steps.bytes_per_ms * ranks
        yield (
            f"by the rule of thumb of {bits / 8:g} GB per billion weights at most "
            f"{bytes_per_s / bytes_of_all:,.0f}"
        )


def _nodes(option: Option) -> str:
    if option.nodes is None:
        return ""
    offer = option.nodes.offer
    return f" on {option.nodes.nodes} x {offer.instance_type or f'own node of {offer.gpus} GPUs'}"


def _cost(option: Option) -> str:
    usd, per_tokens = option.usd_per_hour, option.usd_per_1m
    if usd is None:
        return option.nodes.offer.no_price if option.nodes is not None else "no price"
    tokens = "" if per_tokens is None else f", {per_tokens:.2f} USD per 1M output tokens"
    listed = option.nodes is not None and option.nodes.offer.instance_type is not None
    return f"{usd:.2f} USD/h {'on demand' if listed else 'at your own price'}{tokens}"


def _short(option: Option) -> str:
    usd, sizing = option.usd_per_hour, option.sizing
    if sizing is None:
        return option.gpu
    price = f"{usd:.2f} USD/h" if usd is not None else "no price"
    return (
        f"{option.gpu}, {split_words(option)}: {price}, first token "
        f"{sizing.answer.ttft_ms:,.0f} ms, per token {sizing.answer.itl_ms:.1f} ms"
    )


def _load_words(load: Traffic) -> str:
    tokens = f"{load.input_tokens:g} tokens in, {load.output_tokens:g} out"
    if load.requests_per_s is not None:
        return f"{load.requests_per_s:g} requests/s of {tokens}"
    return f"{load.concurrency:g} clients with {tokens}"
