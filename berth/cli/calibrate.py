"""`berth calibrate`: two benchmarks of a live server to a calibration file."""

import argparse
import json
import sys
from pathlib import Path

from berth.catalog.gpu import find_gpu
from berth.catalog.load import Catalog, load_catalog
from berth.catalog.model import find_model
from berth.catalog.model_shape import Model
from berth.catalog.speed import load_speed_constants
from berth.planner.calibration import (
    Bench,
    CalibrationError,
    calibrate,
    calibration_document,
    check_pair,
    read_bench,
)
from berth.planner.engine_options import EngineOptions
from berth.planner.memory import plan_memory
from berth.planner.speed.forecast import ServerSpeed
from berth.planner.speed.serving import Traffic


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "calibrate",
        help="two benchmarks of a live server to a calibration file",
        description="Reads two results of vllm bench serve --save-result: one client, and the "
        "planned number.",
    )
    parser.add_argument("--bench", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--model", help="of the catalog; left out: the one of the benchmarks")
    parser.add_argument("--gpu", required=True, help="a GPU, such as H100 or L4")
    parser.add_argument("--tensor-parallel-size", type=int, default=1, metavar="N")
    parser.add_argument("--quantization", default="auto", help="of the weights")
    parser.add_argument("--kv-cache-dtype", choices=("auto", "fp8"), default="auto")
    parser.add_argument("--vllm-version", default="", metavar="VERSION")
    parser.add_argument("--output", type=Path, metavar="FILE", help="left out: standard output")
    parser.add_argument("--json", action="store_true", help="the calibration as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the calibration; 1 if the runs do not belong together, 2 if one cannot be read."""
    catalog = load_catalog()
    try:
        if len(args.bench) != 2:
            raise CalibrationError(f"--bench: {len(args.bench)} files are given; give two")
        alone, loaded = sorted(map(read_bench, args.bench), key=lambda bench: bench.clients)
        gpu = find_gpu(catalog.gpus, args.gpu)
        name = find_model(catalog.models, args.model or alone.model)
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 2
    try:
        check_pair(alone, loaded, name, gpu)
        model = catalog.models[name]
        calibration = calibrate(
            alone,
            loaded,
            (_speed(args, model, gpu, alone, catalog), _speed(args, model, gpu, loaded, catalog)),
            model=name,
            gpu=gpu,
            tensor_parallel_size=args.tensor_parallel_size,
        )
    except LookupError as error:
        print(error.args[0], file=sys.stderr)
        return 1
    text = json.dumps(calibration_document(calibration), indent=2)
    if args.output is None or args.json:
        print(text)
    if args.output is not None:
        try:
            args.output.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            reason = (error.strerror or "cannot be written").lower()
            print(f"{args.output}: {reason}; name a file that can be written", file=sys.stderr)
            return 2
    return 0


def _speed(
    args: argparse.Namespace, model: Model, gpu_key: str, bench: Bench, catalog: Catalog
) -> ServerSpeed:
    gpu = catalog.gpus[gpu_key]
    options = EngineOptions(
        vllm_version=args.vllm_version or catalog.software.vllm[gpu.vendor].version,
        quantization=args.quantization,
        kv_cache_dtype=args.kv_cache_dtype,
        tensor_parallel_size=args.tensor_parallel_size,
        max_model_len=round(bench.input_tokens + bench.output_tokens) + 1,
    )
    verdict = plan_memory(model, gpu, options)
    if not verdict.fits:
        raise CalibrationError(f"{bench.path}: does not fit on {gpu_key}: {verdict.reasons[0]}")
    load = Traffic(
        input_tokens=bench.input_tokens,
        output_tokens=bench.output_tokens,
        concurrency=bench.clients,
    )
    constants = load_speed_constants()
    return ServerSpeed(model, gpu_key, gpu, options, verdict.terms, load, constants)
