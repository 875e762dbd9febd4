"""GPUs that pods of any team's stack ask for; sums by hand beside each."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.cli.pod_uses import pod_uses
from berth.costs.bought import PriceList
from berth.costs.estimate import Estimate
from berth.costs.resources.documents import read_engine_document
from berth.costs.resources.estimate_resources import estimate_resources
from tests.unit.costs.engine_documents import UNKNOWN, node_group, preview, state, step

PRICES = PriceList(book=load_catalog().prices, region="us-east-1", day=date(2026, 11, 30))
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def a_server(name: str = "chat", gpus: object = 1, replicas: object = 5, **pod: Any) -> Any:
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--model", "meta-llama/Llama-3.1-8B-Instruct"],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    template = {"spec": {"containers": [container | pod]}}
    return state(DEPLOYMENT, name, {"spec": {"replicas": replicas, "template": template}})


def one_node(**changes: Any) -> Any:
    return node_group(scalingConfig={"minSize": 1, "desiredSize": 1, "maxSize": 1}, **changes)


def estimated(*states: Any) -> Estimate:
    data = preview(*(step("create", each) for each in states))
    side = read_engine_document(data, "preview.json").after
    return estimate_resources(side, load_catalog(), PRICES, pods=pod_uses(side))


def test_five_of_eight_gpus_leave_2064_cents_an_hour_idle() -> None:
    """55.04 / 8 = 6.88 for a GPU: five serve for 34.40, three idle for 20.64, 15,067.20 a month."""
    found = estimated(one_node(), a_server())

    (server,) = found.servers
    assert (server.name, server.tier, server.gpus) == ("chat", "pool", 5)
    assert server.model == "meta-llama/Llama-3.1-8B-Instruct"
    assert server.usd_per_hour == Decimal("34.40")
    assert server.node_share == Decimal("0.625")
    assert [(each.gpus, each.usd_per_hour) for each in found.idle] == [(3, Decimal("20.64"))]
    assert found.idle[0].usd_per_hour * 730 == Decimal("15067.20")


def test_a_pod_that_serves_no_model_asks_too() -> None:
    job = a_server("train", gpus=2, replicas=1, image="team/train:1", args=[])

    found = estimated(one_node(), a_server(replicas=1), job)

    assert [each.name for each in found.servers] == ["chat"]
    assert [each.gpus for each in found.idle] == [5]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_server("other", gpus=UNKNOWN), id="count known after apply"),
        pytest.param(
            a_server("other", resources={"limits": {"nvidia.com/mig-1g.10gb": 1}}), id="a slice"
        ),
    ],
)
def test_nothing_is_called_idle_where_a_pod_cannot_be_counted(pod: Any) -> None:
    assert estimated(one_node(), a_server(), pod).idle == []


def test_a_stack_without_such_pods_says_nothing_of_them() -> None:
    found = estimated(one_node())

    assert (found.servers, found.idle) == ([], [])


def test_pods_that_may_run_on_two_pools_have_no_price() -> None:
    other = {**one_node(), "urn": one_node()["urn"].replace("pool", "second")}

    found = estimated(one_node(), other, a_server())

    assert [each.usd_per_hour for each in found.servers] == [None]
    assert found.idle == []


@pytest.mark.parametrize(
    ("label", "pool"),
    [
        pytest.param("blue", "pool", id="the first"),
        pytest.param("green", "second", id="the second"),
    ],
)
def test_a_selector_says_which_pool(label: str, pool: str) -> None:
    def labelled(name: str, value: str) -> Any:
        group = one_node(labels={"team": value})
        return {**group, "urn": group["urn"].replace("pool", name)}

    chat = a_server()
    chat["inputs"]["spec"]["template"]["spec"]["nodeSelector"] = {"team": label}

    found = estimated(labelled("pool", "blue"), labelled("second", "green"), chat)

    assert [each.tier for each in found.servers] == [pool]
    assert [(each.tier, each.gpus) for each in found.idle] == [(pool, 3)]


def test_a_selector_that_no_pool_has_leaves_the_pod_without_one() -> None:
    chat = a_server()
    chat["inputs"]["spec"]["template"]["spec"]["nodeSelector"] = {"team": "red"}

    found = estimated(one_node(labels={"team": "blue"}), chat)

    assert [(each.tier, each.usd_per_hour) for each in found.servers] == [("nodes of others", None)]
    assert found.idle == []
