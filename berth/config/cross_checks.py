"""What two places of one stack file say against each other. What needs the catalog is not here.

The checks read raw values, so that they also speak while another part of the file is wrong.
"""

from collections.abc import Iterator, Mapping

from berth.config.budget import budget_problems
from berth.config.cluster_checks import cluster_problems
from berth.config.nearest import did_you_mean
from berth.config.problems import Path, Problem, plain
from berth.config.raw_values import is_a, mapping, tiers_of, whole
from berth.config.tier_checks import tier_problems
from berth.config.values import Name

AUTO = "auto"
"""For a tier: the cheapest that serves."""
MOST_NAMES = 10
"""Of tiers listed in a message."""


def cross_checks(values: Mapping[str, object]) -> list[Problem]:
    """Contradictions in a stack, with their paths in the vocabulary."""
    tiers = tiers_of(values)
    return [
        *cluster_problems(values),
        *(problem for name, tier in tiers for problem in tier_problems(name, tier, values)),
        *_models(values),
        *budget_problems(values.get("budget"), ("budget",)),
    ]


def _models(values: Mapping[str, object]) -> Iterator[Problem]:
    tiers = dict(tiers_of(values))
    if not all(is_a(Name, name) for name in tiers):
        return  # a name will change, and with it what the models should say
    for name, model in mapping(values.get("models")).items():
        wanted = mapping(model).get("tier")
        path: Path = ("models", name, "tier")
        listed = wanted if isinstance(wanted, list) else [wanted]
        for index, tier in enumerate(listed):
            where: Path = (*path, index) if isinstance(wanted, list) else path
            yield from _unknown_tier(where, tier, list(tiers))
            if tier in listed[:index]:
                yield Problem(where, f"{plain(str(tier))} stands there already", "remove it")
        yield from _load(("models", name), mapping(model))
        kinds = [mapping(tiers.get(str(tier), {}).get("capacity")).get("type") for tier in listed]
        if kinds and all(kind == "SPOT" for kind in kinds):
            yield from _lone_spot(name, mapping(model), values.get("environment"))


def _unknown_tier(path: Path, tier: object, tiers: list[str]) -> Iterator[Problem]:
    if isinstance(tier, str) and tiers and tier not in (*tiers, AUTO):
        names = ", ".join(plain(each) for each in tiers[:MOST_NAMES])
        what = f"{plain(tier)} is not in berth:tiers, which has {names}"
        yield Problem(path, what, did_you_mean(tier, tiers, "name one of them"))


def _load(path: Path, model: Mapping[str, object]) -> Iterator[Problem]:
    load = mapping(model.get("load"))
    ways = [key for key in ("requests_per_s", "concurrency") if load.get(key) is not None]
    if len(ways) != 1 and "load" in model:
        what = "has both requests_per_s and concurrency" if ways else "says not how many ask"
        yield Problem((*path, "load"), what, "give one of requests_per_s and concurrency")
    if model.get("goals") is not None and "load" not in model:
        yield Problem((*path, "goals"), "need a load to hold under", "add load, or remove goals")
    tokens = sum(whole(load.get(key)) or 0 for key in ("input_tokens", "output_tokens"))
    longest = whole(model.get("max_model_len"))
    if longest is not None and tokens > longest:
        what = f"{longest} is below the {tokens} tokens of a request of the load"
        yield Problem((*path, "max_model_len"), what, f"raise it to {tokens}")


def _lone_spot(name: str, model: Mapping[str, object], environment: object) -> Iterator[Problem]:
    replicas = whole(model.get("replicas", 1 if "load" not in model else None))
    if environment == "prod" and replicas is not None and replicas < 2:
        what = f"{replicas} on spot instances in prod, which end with two minutes' notice"
        fix = "raise it to 2 or more, or add a tier of another capacity type to its list"
        yield Problem(("models", name, "replicas"), what, fix)
