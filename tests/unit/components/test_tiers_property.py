"""Random stacks of tiers: names, labels and taints hold together whatever their mix and order."""

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components import naming
from components.model_pod import pod_template
from components.scale_from_zero import scale_from_zero_tags
from tests.unit.planner.stacks import BLOCK, LLAMA_8B, planned

SMALL = ("g6.xlarge", "g6e.xlarge", "g7e.2xlarge", "g5.xlarge", "g4dn.xlarge", "g6.12xlarge")
LARGE = ("p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge")
HALF = {"p4de.24xlarge": "3g.40gb", "p5.48xlarge": "3g.40gb", "p6-b200.48xlarge": "3g.90gb"}
RESERVED = {"availability_zone": "us-east-1b", "instance_count": 4}

names = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)


@st.composite
def tiers(draw: st.DrawFn) -> dict[str, Any]:
    """Up to six tiers of any type and kind."""
    made: dict[str, Any] = {}
    for number, name in enumerate(draw(st.lists(names, min_size=1, max_size=6, unique=True))):
        reservation = {"reservation_id": f"cr-{number:017x}"}
        capacity = draw(
            st.sampled_from(
                [
                    {"type": "ON_DEMAND"},
                    {"type": "SPOT"},
                    {"type": "ODCR", **RESERVED, **reservation},
                    BLOCK | RESERVED | reservation,
                ]
            )
        )
        instance_type = draw(st.sampled_from(SMALL + LARGE))
        profile = draw(st.sampled_from((None, HALF.get(instance_type))))
        made[name] = {
            "instance_type": instance_type,
            "capacity": capacity,
            "min_nodes": draw(st.integers(0, 1)),
            "max_nodes": draw(st.integers(1, 4)),
            **({"mig_profile": profile} if profile else {}),
        }
    return made


def plan_of(made: dict[str, Any]) -> Any:
    models = {
        f"m-{name}": {
            "model": LLAMA_8B,
            "tier": name,
            "max_model_len": 2048,
            "replicas": 0 if made[name]["instance_type"] == "g4dn.xlarge" else 1,
            "quantization": "auto",
        }
        for name in made
        if made[name]["instance_type"] != "g4dn.xlarge"
    }
    return planned(tiers=made, models=models or {"none": NOBODY | {"tier": next(iter(made))}})


NOBODY = {"model": "Qwen/Qwen2.5-0.5B-Instruct", "replicas": 0, "max_model_len": 2048}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=tiers(), seed=st.integers(0, 1000))
def test_tiers_hold_together(made: dict[str, Any], seed: int) -> None:
    plan = plan_of(made)
    shuffled = list(made.items())
    random.Random(seed).shuffle(shuffled)
    again = plan_of(dict(shuffled))

    assert plan.pools == {name: again.pools[name] for name in plan.pools}
    labels = {
        name: naming.node_labels("gpu", name, pool.accelerator, pool.mig_profile)
        for name, pool in plan.pools.items()
    }
    assert len({tuple(sorted(each.items())) for each in labels.values()}) == len(labels)
    tag_names = {
        naming.resource_name("berth", name, naming.scale_from_zero_name(key))
        for name, pool in plan.pools.items()
        for key in scale_from_zero_tags(pool)
    }
    assert len(tag_names) == sum(len(scale_from_zero_tags(pool)) for pool in plan.pools.values())
    for server in plan.servers.values():
        pool = plan.pools[server.tier]
        spec = pod_template(server, pool).spec
        selector = spec.node_selector
        assert selector.items() <= labels[server.tier].items()
        tolerated = {each.key for each in spec.tolerations}
        assert naming.GPU_TAINT_KEY[pool.gpu_vendor] in tolerated
