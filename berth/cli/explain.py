"""`berth explain`: a rule, a GPU or an error text: what it means and what to do."""

import argparse
import json
import sys
from typing import Any

from berth.catalog.gpu import Gpu, load_gpus
from berth.catalog.instance import load_instances
from berth.config.nearest import nearest
from berth.config.problems import one_line
from berth.rules.error_text import ErrorText, explained_by
from berth.rules.page import page_data, page_text
from berth.rules.registry import RULES
from berth.rules.rule import Rule


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "explain",
        help="a rule, a GPU or an error text",
        description="Says what a rule, a GPU or an error text means, and what to do.",
    )
    parser.add_argument(
        "words",
        nargs="+",
        metavar="RULE|GPU|TEXT",
        help="id of a rule, name of a GPU, or an error text; - reads the text from standard input",
    )
    parser.add_argument("--json", action="store_true", help="the same for other programs")


def run(args: argparse.Namespace) -> int:
    """Print the page; 2 if nothing of this name is known."""
    asked = sys.stdin.read() if args.words == ["-"] else " ".join(args.words)
    rules = {rule.id: rule for rule in RULES}
    gpus = _gpus_by_name()
    if asked in rules:
        return _print(args, {"rule": page_data(rules[asked])}, page_text(rules[asked]))
    if asked.casefold() in gpus:
        name, gpu = gpus[asked.casefold()]
        data = _gpu_data(name, gpu)
        return _print(args, {"gpu": data}, _gpu_text(data))
    found = explained_by(asked)
    if found:
        return _print(args, {"error": _error_data(found, rules)}, _error_text(found, rules))
    close = nearest(asked, [*rules, *(name for name, _ in gpus.values())])
    hint = f"did you mean {close}" if close else "see `berth check --list` and `berth catalog gpus`"
    shown = one_line(" ".join(asked.split())[:80])
    print(f"berth explain: {shown}: no rule, GPU or known error text; {hint}", file=sys.stderr)
    return 2


def _print(args: argparse.Namespace, data: dict[str, Any], text: str) -> int:
    sys.stdout.write(json.dumps(data, indent=2) + "\n" if args.json else text)
    return 0


def _gpus_by_name() -> dict[str, tuple[str, Gpu]]:
    return {
        alias.casefold(): (name, gpu)
        for name, gpu in load_gpus().items()
        for alias in (name, *gpu.aliases)
    }


def _gpu_data(name: str, gpu: Gpu) -> dict[str, Any]:
    where = gpu.source.url if gpu.source.url is not None else gpu.source.cite
    instances = [key for key, entry in load_instances().items() if entry.gpu == name]
    return {
        "name": name,
        "vendor": gpu.vendor,
        "aliases": list(gpu.aliases),
        "visible_gib": gpu.visible_gib,
        "memory_gb_per_s": gpu.memory_gb_per_s,
        "generation": gpu.compute_capability or gpu.gfx,
        "computes": list(gpu.computes),
        "stores": list(gpu.stores),
        "kv_cache": list(gpu.kv_cache),
        "minimum_driver": gpu.minimum_driver,
        "mig_profiles": [profile.name for profile in gpu.mig_profiles],
        "resource": gpu.resource,
        "instance_types": instances,
        "evidence": gpu.evidence,
        "source": str(where),
        "checked": str(gpu.source.checked),
    }


def _gpu_text(data: dict[str, Any]) -> str:
    name = data["name"]
    bandwidth = f"{data['memory_gb_per_s']:g} GB/s" if data["memory_gb_per_s"] else "not known"
    lines = [
        f"# {name}",
        "",
        f"{data['visible_gib']:g} GiB that a process sees, {bandwidth}; {data['generation']}",
        f"computes in {', '.join(data['computes'])}",
    ]
    if data["stores"]:
        lines.append(f"only stores weights in {', '.join(data['stores'])}: less memory, no speed")
    narrow = [name for name in data["kv_cache"] if name != "auto"]
    lines.append(f"KV cache in the model's own format{''.join(f', {name}' for name in narrow)}")
    if data["minimum_driver"]:
        lines.append(f"driver {data['minimum_driver']} or newer")
    if data["mig_profiles"]:
        lines.append(f"MIG profiles {', '.join(data['mig_profiles'])}")
    lines += [
        f"pods ask for {data['resource']}",
        f"on EC2: {', '.join(data['instance_types']) or 'none that Berth knows'}",
        f"evidence {data['evidence']}; checked {data['checked']}: {data['source']}",
        "",
        f"`berth plan MODEL --gpu {name}` says what fits on it.",
    ]
    return "\n".join(lines) + "\n"


def _error_data(found: list[ErrorText], rules: dict[str, Rule]) -> list[dict[str, Any]]:
    return [
        {"means": entry.means, "rules": [page_data(rules[name]) for name in entry.rules]}
        for entry in found
    ]


def _error_text(found: list[ErrorText], rules: dict[str, Rule]) -> str:
    lines = []
    for entry in found:
        lines.append(f"It means: {entry.means}.")
        lines.append("What to look for, the likeliest first:")
        lines += [f"  {name:28} {rules[name].why}" for name in entry.rules]
        first = entry.rules[0]
        lines.append(f"`berth explain {first}` shows how to mend it; `berth check` finds it.")
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"
