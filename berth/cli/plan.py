"""`berth plan`: where one model fits, with which arguments, and why not elsewhere."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar, get_args

from berth.catalog.config_values import ModelConfigError
from berth.catalog.gpu import find_gpu, find_unusable_instance
from berth.catalog.load import Catalog, load_catalog
from berth.catalog.model_shape import Model
from berth.catalog.modelopt_file import MODELOPT_FILE, format_in_name
from berth.cli.plan_load import add_load_arguments, has_load, load_problems, plan_load
from berth.cli.plan_options import engine_options, server_problems
from berth.config.problems import ConfigError, one_line, plain
from berth.planner.engine_options import KvCacheDtype
from berth.planner.load_document import unloaded_document
from berth.planner.search import Candidate, Request, Search, search
from berth.planner.search_document import search_document
from berth.planner.ways import ways_to_fit

Answer = TypeVar("Answer")
MOST_ASKED = 10**9
"""Of replicas, requests and tokens; more is a slip of the keyboard."""
SHORT_NAMES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
}
QUANTIZATIONS = ("none", "fp8", "awq", "gptq", "int4", "int8", "nvfp4", "mxfp4", "bitsandbytes")


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
    parser.add_argument(
        "--kv-cache-dtype", type=_short_name, choices=get_args(KvCacheDtype), default="auto"
    )
    parser.add_argument(
        "--dtype", type=_short_name, choices=("auto", "bf16", "fp16", "fp32"), default="auto"
    )
    for name in ("tensor-parallel-size", "max-model-len", "max-num-seqs", "max-num-batched-tokens"):
        parser.add_argument(f"--{name}", type=whole_number, metavar="N")
    for name in ("kv-cache-memory-bytes", "block-size", "pipeline-parallel-size", "replicas"):
        parser.add_argument(f"--{name}", type=whole_number, metavar="N")
    for name in ("data", "decode-context"):
        parser.add_argument(f"--{name}-parallel-size", type=whole_number, default=1, metavar="N")
    parser.add_argument("--enable-expert-parallel", action="store_true")
    parser.add_argument("--cpu-offload-gb", type=float, default=0.0, metavar="GIB")
    parser.add_argument("--no-enable-prefix-caching", action="store_true")
    parser.add_argument("--language-model-only", action="store_true", help="without vision")
    parser.add_argument("--enable-lora", action="store_true", help="room for LoRA adapters")
    for name in ("max-loras", "max-lora-rank"):
        parser.add_argument(f"--{name}", type=whole_number, metavar="N")
    parser.add_argument("--fully-sharded-loras", action="store_true")
    parser.add_argument("--lora-target-modules", nargs="+", default=[], metavar="MODULE")
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
    problems: list[str] = []
    named = _tried(problems, _model, args, catalog)
    request = _tried(problems, _request, args, catalog)
    explained = _tried(problems, _explained, args, catalog)
    problems += load_problems(args)
    if named is None or request is None or problems:
        return _refuse(*problems, *server_problems(args, named[0] if named else None, catalog))
    model, name = named
    _note_format(model, name, args)
    if has_load(args):
        code = _tried(problems, partial(plan_load, model, name, request), args, catalog)
        return _refuse(*problems) if code is None else code
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
        document["chosen"] |= unloaded_document(model, found.chosen, request.replicas, catalog)
        print(json.dumps(document | {"search_ms": round(search_ms, 3)}, indent=2))
    else:
        ways = [] if found.chosen.verdict.fits else ways_to_fit(model, found.chosen, catalog)
        from berth.cli.plan_page import print_page

        print_page(model, name, found, ways)
    if explained is not None and not args.json:
        from berth.cli.plan_page import print_why

        print_why(found, explained)
    if args.plot is not None and (code := _plot(args.plot, name, found.chosen)):
        return code
    if args.json and not found.chosen.verdict.fits:
        print("\n".join(found.chosen.verdict.reasons), file=sys.stderr)
    return 0 if found.chosen.verdict.fits else 1


def _plot(path: Path, name: str, candidate: Candidate) -> int:
    from berth.cli.plan_plot import write_plot

    return write_plot(path, name, candidate)


def whole_number(text: str) -> int:
    """The number in `text`, for the parser of arguments.

    Raises:
        argparse.ArgumentTypeError: if it is none, or has more digits than any figure of a server.
    """
    try:
        if len(text) <= 30:
            return int(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{plain(text)} is no whole number; give one")


def _short_name(text: str) -> str:
    """A number format as we spell it, from vLLM's spelling or ours."""
    return SHORT_NAMES.get(text, text)


def _tried(
    problems: list[str],
    step: Callable[[argparse.Namespace, Catalog], Answer],
    args: argparse.Namespace,
    catalog: Catalog,
) -> Answer | None:
    """What `step` finds; None with its lines in `problems` where it cannot read the question."""
    try:
        return step(args, catalog)
    except (ModelConfigError, ConfigError) as error:
        problems.extend(error.lines)
    except LookupError as error:
        problems.append(f"berth plan: {error.args[0]}")
    return None


def _explained(args: argparse.Namespace, catalog: Catalog) -> str | None:
    return find_gpu(catalog.gpus, args.explain) if args.explain else None


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
    try:
        name = find_model(catalog.models, one_line(args.model))
    except LookupError as error:
        raise LookupError(f"{error}, or give its config.json with --model-config") from None
    return catalog.models[name], name


def _note_format(model: Model, name: str, args: argparse.Namespace) -> None:
    """Say that the name promises a format of which the configuration is silent."""
    promised = format_in_name(name)
    if model.quantization == "none" and args.quantization is None and promised is not None:
        print(
            f"{name}: config.json has no quantization_config, though the name says {promised}; "
            f"planned with 16-bit weights: put {MODELOPT_FILE} beside config.json, or give "
            f"--quantization {promised}",
            file=sys.stderr,
        )


def _request(args: argparse.Namespace, catalog: Catalog) -> Request:
    problems = _number_problems(args)
    gpu = _tried(problems, _gpu, args, catalog)
    if args.instance_type is not None:
        instance = catalog.instances.get(args.instance_type)
        if instance is None:
            problems.append(f"berth plan: {_unknown_instance(args.instance_type, catalog)}")
        elif instance.gpu is None:
            problems.append(f"berth plan: {args.instance_type} has no GPU; name a type with GPUs")
        elif gpu not in (None, instance.gpu):
            problems.append(
                f"berth plan: {args.instance_type} has {instance.gpu}, not {gpu}; give one of them"
            )
    if problems:
        raise ConfigError(problems)
    options = engine_options(args)
    return Request(
        options=options,
        gpu=gpu,
        instance_type=args.instance_type,
        tensor_parallel_size=args.tensor_parallel_size,
        replicas=args.replicas or 1,
    )


def _gpu(args: argparse.Namespace, catalog: Catalog) -> str | None:
    return find_gpu(catalog.gpus, args.gpu) if args.gpu is not None else None


def _number_problems(args: argparse.Namespace) -> list[str]:
    """Numbers that no question can have; those of the server are the planner's business."""
    problems = []
    for key, least in (
        ("replicas", 1),
        ("concurrency", 1),
        ("input_tokens", 0),
        ("output_tokens", 0),
    ):
        value = getattr(args, key)
        if value is not None and not least <= value <= MOST_ASKED:
            option = key.replace("_", "-")
            problems.append(
                f"berth plan: --{option}: {value} is out of range; give {least} or more"
            )
    if not 0 <= args.cpu_offload_gb < MOST_ASKED:
        problems.append(
            f"berth plan: --cpu-offload-gb: {args.cpu_offload_gb:g} is no size; give GiB"
        )
    for key in ("max_loras", "max_lora_rank", "fully_sharded_loras", "lora_target_modules"):
        if getattr(args, key) and not args.enable_lora:
            option = key.replace("_", "-")
            problems.append(f"berth plan: --{option}: nothing without --enable-lora; add it")
    return problems


def _unknown_instance(name: str, catalog: Catalog) -> str:
    unusable = find_unusable_instance(name)
    if unusable is not None:
        return f"{one_line(name)} has {unusable.what_for}; {unusable.why_not}"
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
