"""`berth catalog`: what Berth knows, from where, and how old it is."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date

from berth.catalog.compatibility import load_compatibility
from berth.catalog.entry import Source
from berth.catalog.gpu import load_gpus
from berth.catalog.gpu_cloud import load_cloud_readings
from berth.catalog.instance import load_instances
from berth.catalog.model import load_models
from berth.catalog.price import load_prices
from berth.catalog.software import load_software
from berth.cli.refresh_prices import add_options, refresh_prices
from berth.config.nearest import did_you_mean
from berth.config.problems import plain

Row = Mapping[str, str | int | float]
DEFAULT_REGION = "us-east-1"
REFRESH = "refresh-prices"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "catalog",
        help="GPUs, instance types, models, software and prices",
        description="Lists what Berth knows, with the day someone last looked and the source.",
    )
    choices = [*sorted(LISTS), REFRESH]
    parser.add_argument("what", choices=choices, metavar="|".join(choices))
    parser.add_argument("name", nargs="?", metavar="TEXT", help="only rows whose name has this")
    parser.add_argument("--region", default=DEFAULT_REGION, help=f"of prices; {DEFAULT_REGION}")
    parser.add_argument(
        "--older-than",
        type=_days,
        metavar="DAYS",
        help="of prices: only those in force that were read more than so many days ago, as in 90d",
    )
    parser.add_argument("--json", action="store_true", help="the rows as JSON")
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the rows; 2 if the region is unknown or no name has the text."""
    regions = load_prices().regions
    if args.what in ("prices", REFRESH) and args.region not in regions:
        hint = did_you_mean(args.region, regions, f"known are {', '.join(regions)}")
        return _refuse(f"no price in the region {plain(args.region)} is known; {hint}")
    if args.older_than is not None and args.what != "prices":
        return _refuse(f"--older-than is of prices, not of {args.what}; leave it out")
    if args.what == REFRESH:
        return refresh_prices(args, date.today())
    wanted = (args.name or "").casefold()
    rows = [row for row in LISTS[args.what](args.region) if wanted in str(row["name"]).casefold()]
    if args.older_than is not None:
        rows = _older(rows, args.older_than)
        if not rows:
            print(f"no price in force in {args.region} is older than {args.older_than} days")
            return 0
    if not rows:
        return _refuse(f"nothing of {args.what} is called {plain(args.name)}; leave the name out")
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        _print(rows)
    return 0


def _days(text: str) -> int:
    number = text.removesuffix("d")
    if not number.isascii() or not number.isdigit() or len(number) > 6:
        raise argparse.ArgumentTypeError(f"{plain(text)} is no number of days; write it as 90d")
    return int(number)


def _older(rows: list[Row], days: int) -> list[Row]:
    """Of each item the price in force, where it is older than that."""
    in_force = {(row["name"], row["option"]): row for row in rows}
    return [row for row in in_force.values() if int(row["days_old"]) > days]


def _refuse(line: str) -> int:
    print(f"berth catalog: {line}", file=sys.stderr)
    return 2


def _print(rows: list[Row]) -> None:
    """Columns as wide as their widest value, the source last."""
    keys = [key for key in rows[0] if key != "source"]
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in keys}
    for row in ({key: key for key in (*keys, "source")}, *rows):
        cells = (str(row[key]).ljust(widths[key]) for key in keys)
        print(f"{'  '.join(cells)}  {row['source']}".rstrip())


def _seen(source: Source) -> dict[str, str | int]:
    """Day, age and place of a fact."""
    days = (date.today() - source.checked).days
    where = str(source.url) if source.url is not None else str(source.cite)
    return {"checked": str(source.checked), "days_old": days, "source": where}


def _gpus(_region: str) -> Iterator[Row]:
    for name, gpu in load_gpus().items():
        yield {
            "name": name,
            "visible_gib": gpu.visible_gib,
            "generation": gpu.compute_capability or gpu.gfx or "",
            "computes": ",".join(gpu.computes),
            "stores": ",".join(gpu.stores),
            "tier": "yes" if gpu.tier else "no",
            "evidence": gpu.evidence,
            **_seen(gpu.source),
        }


def _instances(_region: str) -> Iterator[Row]:
    for name, instance in load_instances().items():
        yield {
            "name": name,
            "gpu": f"{instance.gpu_count} x {instance.gpu}" if instance.gpu else "none",
            "vcpu": instance.vcpu,
            "memory_gib": instance.memory_gib,
            "local_nvme_gb": instance.local_nvme_gb,
            "regions": len(instance.regions),
            **_seen(instance.source),
        }


def _models(_region: str) -> Iterator[Row]:
    for name, entry in load_models().entries.items():
        for repository in (name, *entry.same_weights):
            yield {"name": repository, "evidence": entry.evidence, **_seen(entry.source)}


def _software(_region: str) -> Iterator[Row]:
    software, matrix = load_software(), load_compatibility()
    for vendor, engine in sorted(software.vllm.items()):
        yield {"name": f"vllm {vendor}", "version": engine.image, **_seen(engine.source)}
    for name, chart in sorted(software.charts.items()):
        yield {"name": f"chart {name}", "version": chart.version, **_seen(chart.source)}
    kubernetes = software.kubernetes
    versions = ", ".join(kubernetes.versions)
    yield {"name": "kubernetes on EKS", "version": versions, **_seen(kubernetes.source)}
    for region, pinned in sorted(software.ami_releases.items()):
        source = software.ami_parameters.source.model_copy(update={"checked": pinned.checked})
        for version, by_type in pinned.releases.items():
            for ami_type, release in by_type.items():
                name = f"{ami_type} {region} {version}"
                yield {"name": name, "version": release, **_seen(source)}
    for floor in matrix.floors:
        name = f"oldest {floor.component} for {floor.applies_to}"
        version = f"{floor.minimum} ({floor.status})"
        yield {"name": name, "version": version, **_seen(floor.source)}
    for name, row in matrix.combinations.items():
        parts = (row.node_image, row.driver or f"ROCm {row.rocm}", row.operator_version)
        version = ", ".join((*parts, f"vLLM {row.image_tag}"))
        yield {"name": f"together {name}", "version": version, **_seen(row.source)}


def _prices(region: str) -> Iterator[Row]:
    for (item, option), history in sorted(load_prices().histories(region).items()):
        for price in history.prices:
            yield {
                "name": item,
                "option": option,
                "usd": str(price.usd),
                "usd_low": "" if price.usd_low is None else str(price.usd_low),
                "unit": history.unit,
                "from": str(price.from_date),
                "evidence": price.evidence,
                **_seen(price.source),
            }
    for reading in load_cloud_readings():
        yield {
            "name": f"{reading.gpu} at {reading.cloud}",
            "option": "other cloud",
            "usd": str(reading.usd_per_gpu_hour),
            "usd_low": "",
            "unit": "GPU-hour",
            "from": str(reading.from_date),
            "evidence": reading.evidence,
            **_seen(reading.source),
        }


LISTS: Mapping[str, Callable[[str], Iterator[Row]]] = {
    "gpus": _gpus,
    "instances": _instances,
    "models": _models,
    "prices": _prices,
    "software": _software,
}
"""What can be listed."""
