"""`berth plan` with a load: the cheapest that holds it, its speed, start-up and price."""

import argparse
import json
import sys
import time
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from berth.catalog.gpu import find_gpu
from berth.catalog.load import Catalog
from berth.catalog.model_shape import Model
from berth.catalog.speed import load_speed_constants
from berth.config.problems import one_line
from berth.planner.calibration import read_calibration
from berth.planner.cheapest import Comparison, compare_options
from berth.planner.explain import explain
from berth.planner.load_document import comparison_document
from berth.planner.node_choice import NodeOffer, catalog_offers, own_offer
from berth.planner.search import Request
from berth.planner.search_space import Fixed
from berth.planner.sizing import Goals
from berth.planner.speed.serving import Traffic

MOST = 1e6
"""Requests per second, as in a stack, and milliseconds."""
DEFAULT_REGION = "us-east-1"


def add_load_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is said of requests, goals and prices."""
    number: dict[str, Any] = {"type": float, "metavar": "N"}
    parser.add_argument("--requests-per-second", **number, help="load of all replicas")
    parser.add_argument("--concurrency", **number, help="clients that ask again when answered")
    parser.add_argument("--input-tokens", **number, help="of one request")
    parser.add_argument("--output-tokens", **number, help="of one request")
    parser.add_argument("--ttft-ms", **number, help="goal: time to first token")
    parser.add_argument("--itl-ms", **number, help="goal: time per token")
    parser.add_argument(
        "--prefix-cache-share", type=float, default=0.0, metavar="SHARE", help="of each prompt"
    )
    parser.add_argument(
        "--accepted-tokens", type=float, default=0.0, metavar="N", help="speculated, per step"
    )
    parser.add_argument("--region", help=f"for offers and prices; {DEFAULT_REGION} if left out")
    parser.add_argument(
        "--usd-per-gpu-hour",
        action="append",
        default=[],
        metavar="GPU=USD",
        help="a price of your own, for GPUs without or with another list price",
    )
    parser.add_argument("--calibration", type=Path, metavar="FILE", help="of `berth calibrate`")


def has_load(args: argparse.Namespace) -> bool:
    """Whether a whole load is given."""
    return args.requests_per_second is not None or (
        args.concurrency is not None and args.input_tokens is not None
    )


def load_problems(args: argparse.Namespace) -> list[str]:
    """Everything that is wrong with the load and the goals as given."""
    found = []
    for name in (
        "requests_per_second",
        "ttft_ms",
        "itl_ms",
    ):
        value = getattr(args, name)
        if value is not None and not 0 < value <= MOST:
            fix = "lower it" if value > MOST else "raise it"
            wanted = f"not at most {MOST:g}" if value > MOST else "not above 0"
            found.append(f"--{name.replace('_', '-')}: {value:g} is {wanted}; {fix}")
    found += [
        f"--{name}-tokens: is 0; a request has at least one"
        for name in ("input", "output")
        if getattr(args, f"{name}_tokens") == 0 and has_load(args)
    ]
    if args.requests_per_second is not None and args.concurrency is not None:
        found.append("--concurrency: is given beside --requests-per-second; give one of them")
    if not 0 <= args.prefix_cache_share < 1:
        found.append(
            f"--prefix-cache-share: {args.prefix_cache_share:g} is not from 0 to below 1; lower it"
        )
    if not 0 <= args.accepted_tokens < float("inf"):
        found.append(f"--accepted-tokens: {args.accepted_tokens:g} is below 0; raise it")
    goals = args.ttft_ms is not None or args.itl_ms is not None
    if goals and args.requests_per_second is None and args.concurrency is None:
        found.append(
            "--ttft-ms, --itl-ms: need a load; give --requests-per-second or --concurrency"
        )
    if args.requests_per_second is not None or (goals and args.concurrency is not None):
        found += [
            f"--{name}: is needed to know what a request costs; give its tokens"
            for name, value in (
                ("input-tokens", args.input_tokens),
                ("output-tokens", args.output_tokens),
            )
            if value is None
        ]
    elif args.concurrency is not None and (args.input_tokens is None) != (
        args.output_tokens is None
    ):
        found.append("--input-tokens, --output-tokens: one is given without the other; give both")
    tokens = (args.input_tokens or 0) + (args.output_tokens or 0)
    if args.max_model_len is not None and tokens > args.max_model_len:
        found.append(
            f"--max-model-len: {args.max_model_len} is below the {tokens:g} tokens of a request; "
            "raise it or shorten the request"
        )
    return found


def plan_load(
    model: Model, name: str, request: Request, args: argparse.Namespace, catalog: Catalog
) -> int:
    """Search, print; 1 where nothing holds the load and its goals.

    Raises:
        LookupError: if a GPU, price, region or calibration cannot be used.
    """
    traffic = _traffic(args)
    tokens = traffic.input_tokens + traffic.output_tokens
    if tokens > model.max_positions and args.max_model_len is None:
        raise LookupError(
            f"--input-tokens: {tokens:g} tokens of a request are above the {model.max_positions} "
            f"of {name}; shorten it or name another model"
        )
    offers = _offers(args, request, catalog)
    explained = find_gpu(catalog.gpus, args.explain) if args.explain else None
    calibration = read_calibration(args.calibration, model.name) if args.calibration else None
    stages = args.pipeline_parallel_size
    if stages is None and args.tensor_parallel_size is not None:
        stages = 1
    fixed = Fixed(
        options=replace(request.options, load_requests=None, load_tokens=None),
        formats=_formats(args),
        tensor_parallel_size=args.tensor_parallel_size,
        pipeline_parallel_size=stages,
        replicas=args.replicas,
    )
    goals = Goals(ttft_ms=args.ttft_ms, itl_ms=args.itl_ms)
    started = time.perf_counter()
    found = compare_options(model, fixed, traffic, goals, offers, catalog, calibration)
    search_ms = (time.perf_counter() - started) * 1000
    if args.json:
        document = comparison_document(model, name, found, traffic)
        if explained is not None:
            document["explanation"] = _explanation(model, explained, found, traffic, catalog)
        print(json.dumps(document | {"search_ms": round(search_ms, 3)}, indent=2))
    else:
        from berth.cli.load_page import print_load_page

        print_load_page(model, name, found, traffic)
    if explained is not None and not args.json:
        print(_explanation(model, explained, found, traffic, catalog))
    if args.plot is not None and (code := _plot(args.plot, name, found, goals)):
        return code
    return _verdict(found, as_json=args.json)


def _explanation(
    model: Model, gpu: str, found: Comparison, traffic: Traffic, catalog: Catalog
) -> str:
    return explain(model, gpu, found, traffic, catalog, load_speed_constants())


def _formats(args: argparse.Namespace) -> tuple[str, ...] | None:
    """The format asked for; the checkpoint's where GPU and split are fixed; else searched."""
    if args.quantization:
        return (args.quantization,)
    whole = args.tensor_parallel_size is not None and (args.gpu or args.instance_type)
    return ("auto",) if whole else None


def _plot(path: Path, name: str, found: Comparison, goals: Goals) -> int:
    from berth.cli.load_plot import write_load_plot

    return write_load_plot(path, name, found, goals)


def _verdict(found: Comparison, *, as_json: bool) -> int:
    if found.chosen is not None:
        return 0
    if as_json:
        for line in unmet_lines(found):
            print(line, file=sys.stderr)
    return 1


def unmet_lines(found: Comparison) -> list[str]:
    """Why the nearest is not enough, worst first."""
    nearest = found.nearest
    if nearest.reason:
        return [nearest.reason]
    return [miss.words() for miss in nearest.sizing.misses] if nearest.sizing is not None else []


def _traffic(args: argparse.Namespace) -> Traffic:
    return Traffic(
        input_tokens=args.input_tokens,
        output_tokens=args.output_tokens,
        concurrency=args.concurrency,
        requests_per_s=args.requests_per_second,
        cached_share=args.prefix_cache_share,
        accepted_tokens=args.accepted_tokens,
    )


def _offers(
    args: argparse.Namespace, request: Request, catalog: Catalog
) -> dict[str, list[NodeOffer]]:
    region = args.region or DEFAULT_REGION
    if region not in catalog.regions:
        known = ", ".join(catalog.regions)
        raise LookupError(f"no region is called {one_line(region)}; known are {known}")
    own = _own_prices(args.usd_per_gpu_hour, catalog)
    offers = catalog_offers(catalog, region, date.today(), own, request.instance_type)
    if request.instance_type is not None and not offers:
        raise LookupError(
            _not_sold(request.instance_type, [request.instance_type], region, catalog)
        )
    if request.gpu is None:
        return offers
    if request.gpu in offers:
        return {request.gpu: offers[request.gpu]}
    sold = [name for name, each in catalog.instances.items() if each.gpu == request.gpu]
    if sold and args.region is not None:
        raise LookupError(_not_sold(request.gpu, sold, region, catalog))
    return {request.gpu: [own_offer(request.gpu, own.get(request.gpu))]}


def _not_sold(what: str, instance_types: list[str], region: str, catalog: Catalog) -> str:
    regions = sorted({r for name in instance_types for r in catalog.instances[name].regions})
    return f"--region: {what} is not sold in {region}; name one of {', '.join(regions)}"


def _own_prices(given: list[str], catalog: Catalog) -> dict[str, Decimal]:
    prices = {}
    for text in given:
        name, _, usd = text.partition("=")
        try:
            price = Decimal(usd)
        except InvalidOperation:
            price = Decimal(0)
        if not price.is_finite() or price <= 0:
            raise LookupError(
                f"--usd-per-gpu-hour: {one_line(text)} is no GPU with a price above 0; "
                "write MI300X=1.85"
            )
        prices[find_gpu(catalog.gpus, name)] = price
    return prices
