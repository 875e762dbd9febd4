"""`berth plan`: where one model fits, with which arguments, and why not elsewhere."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import get_args

from berth.catalog.config_values import ModelConfigError
from berth.catalog.gpu import find_gpu
from berth.catalog.load import Catalog, load_catalog
from berth.catalog.model_shape import Model
from berth.cli.plan_load import add_load_arguments, has_load, load_problems, plan_load
from berth.cli.plan_page import print_page, print_why
from berth.cli.plan_plot import write_plot
from berth.config.problems import one_line
from berth.planner.engine_options import EngineOptions, KvCacheDtype
from berth.planner.search import Request, Search, search, ways_to_fit
from berth.planner.search_document import search_document

QUANTIZATIONS = ("none", "fp8", "awq", "gptq", "int4", "nvfp4", "mxfp4", "bitsandbytes")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "plan",
        help="where one model fits",
        description="Plans one server: what is fixed stays fixed, what is left out is searched.",
    )
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="a model of the catalog or the hub"
    )
    parser.add_argument("--stack", metavar="NAME|FILE", help="every server of a stack instead")
    parser.add_argument("--model-config", type=Path, metavar="FILE", help="its config.json")
    parser.add_argument("--fetch", action="store_true", help="read config.json from the hub")
    parser.add_argument("--gpu", help="a GPU, such as H100 or L4")
    parser.add_argument("--instance-type", help="an EC2 instance type")
    parser.add_argument("--quantization", choices=QUANTIZATIONS)
    parser.add_argument("--kv-cache-dtype", choices=get_args(KvCacheDtype), default="auto")
    parser.add_argument("--dtype", choices=("auto", "bf16", "fp16", "fp32"), default="auto")
    for name in ("tensor-parallel-size", "max-model-len", "max-num-seqs", "max-num-batched-tokens"):
        parser.add_argument(f"--{name}", type=int, metavar="N")
    for name in ("kv-cache-memory-bytes", "block-size", "pipeline-parallel-size", "replicas"):
        parser.add_argument(f"--{name}", type=int, metavar="N")
    add_load_arguments(parser)
    parser.add_argument("--gpu-memory-utilization", type=float, metavar="SHARE")
    parser.add_argument("--enforce-eager", action="store_true")
    parser.add_argument("--vllm-version", default="", metavar="VERSION")
    parser.add_argument("--explain", metavar="GPU", help="why this GPU was not chosen")
    parser.add_argument("--json", action="store_true", help="the plan as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the memory bar (svg, png)")


def run(args: argparse.Namespace) -> int:
    """Plan and print; 1 if it does not fit, 2 if the question cannot be read."""
    if args.stack is not None:
        return _stack(args)
    catalog = load_catalog()
    if problems := load_problems(args):
        return _refuse(*problems)
    try:
        model, name = _model(args, catalog)
        if has_load(args):
            return plan_load(args, model, name, _request(args, catalog), catalog)
        request = _request(args, catalog)
        explained = find_gpu(catalog.gpus, args.explain) if args.explain else None
    except ModelConfigError as error:
        return _refuse(*error.lines)
    except LookupError as error:
        return _refuse(f"berth plan: {error.args[0]}")
    started = time.perf_counter()
    found = search(model, request, catalog)
    search_ms = (time.perf_counter() - started) * 1000
    if args.json:
        document = search_document(
            model,
            found,
            model_name=name,
            replicas=request.replicas,
            gpus_per_node=_gpus_per_node(found, catalog),
        )
        print(json.dumps(document | {"search_ms": round(search_ms, 3)}, indent=2))
    else:
        ways = [] if found.chosen.verdict.fits else ways_to_fit(model, found.chosen, catalog)
        print_page(model, name, found, ways)
    if explained is not None and not args.json:
        print_why(found, explained)
    if args.plot is not None and (code := write_plot(args.plot, name, found.chosen)):
        return code
    if args.json and not found.chosen.verdict.fits:
        print("\n".join(found.chosen.verdict.reasons), file=sys.stderr)
    return 0 if found.chosen.verdict.fits else 1


def _stack(args: argparse.Namespace) -> int:
    from berth.cli.plan_stack import plan_stack
    from berth.engine.project import ProjectMissingError

    if args.model is not None or args.model_config is not None:
        return _refuse("berth plan: names a stack and a model; give one of them")
    try:
        return plan_stack(args.stack, as_json=args.json)
    except ProjectMissingError as error:
        return _refuse(str(error))


def _model(args: argparse.Namespace, catalog: Catalog) -> tuple[Model, str]:
    """The model asked for and the name that its arguments carry."""
    from berth.catalog.config_values import read_config_file
    from berth.catalog.hub import fetch_config
    from berth.catalog.model import find_model
    from berth.catalog.model_config import model_from_config

    if args.model_config is not None:
        name = args.model or str(args.model_config)
        return model_from_config(read_config_file(args.model_config), one_line(name)), one_line(
            name
        )
    if args.model is None:
        raise LookupError("names neither MODEL nor --model-config; give one of them")
    if args.fetch:
        return model_from_config(fetch_config(args.model), args.model), args.model
    name = find_model(catalog.models, one_line(args.model))
    return catalog.models[name], name


def _request(args: argparse.Namespace, catalog: Catalog) -> Request:
    if args.instance_type is not None and args.instance_type not in catalog.instances:
        raise LookupError(_unknown_instance(args.instance_type, catalog))
    gpu = find_gpu(catalog.gpus, args.gpu) if args.gpu is not None else None
    if args.instance_type is not None:
        has = catalog.instances[args.instance_type].gpu
        if has is None or gpu not in (None, has):
            wanted = gpu or "any GPU of the catalog"
            raise LookupError(f"{args.instance_type} has {has or 'no GPU'}, not {wanted}")
    tokens = round((args.input_tokens or 0) + (args.output_tokens or 0))
    options = EngineOptions(
        vllm_version=args.vllm_version,
        quantization=args.quantization or "auto",
        dtype=args.dtype,
        kv_cache_dtype=args.kv_cache_dtype,
        pipeline_parallel_size=args.pipeline_parallel_size or 1,
        max_model_len=args.max_model_len,
        max_num_seqs=args.max_num_seqs,
        max_num_batched_tokens=args.max_num_batched_tokens,
        gpu_memory_utilization=args.gpu_memory_utilization,
        kv_cache_memory_bytes=args.kv_cache_memory_bytes,
        block_size=args.block_size,
        enforce_eager=args.enforce_eager,
        load_requests=round(args.concurrency) if args.concurrency else None,
        load_tokens=tokens or None,
    )
    return Request(
        options=options,
        gpu=gpu,
        instance_type=args.instance_type,
        tensor_parallel_size=args.tensor_parallel_size,
        replicas=max(1, args.replicas or 1),
    )


def _unknown_instance(name: str, catalog: Catalog) -> str:
    from berth.config.nearest import did_you_mean

    hint = did_you_mean(name, catalog.instances, "see `berth catalog instances`")
    return f"no instance type is called {one_line(name)}; {hint}"


def _gpus_per_node(found: Search, catalog: Catalog) -> int:
    instance_type = found.chosen.instance_type
    return catalog.instances[instance_type].gpu_count if instance_type else 8


def _refuse(*lines: str) -> int:
    for line in lines:
        print(line, file=sys.stderr)
    return 2
