"""What any team's stack has around and instead of node groups; sums done by hand beside each."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from berth.costs.bought import PriceList
from berth.costs.estimate import Estimate
from berth.costs.resources.documents import read_engine_document
from berth.costs.resources.estimate_resources import estimate_resources
from tests.unit.costs.engine_documents import UNKNOWN, export, node_group, preview, state, step

PRICES = PriceList(book=load_catalog().prices, region="us-east-1", day=date(2026, 11, 30))
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def estimated(*states: dict[str, Any]) -> Estimate:
    data = preview(*(step("create", each) for each in states))
    side = read_engine_document(data, "preview.json").after
    return estimate_resources(side, load_catalog(), PRICES)


def months(found: Estimate) -> dict[str, str]:
    """USD in a month of the plan, by the name of the line."""
    return {
        line.name: str((line.plan_usd_per_hour * 730).quantize(Decimal("0.01")))
        for line in found.lines
    }


def test_a_load_balancer_costs_1643_cents_a_month() -> None:
    """0.0225 x 730 = 16.425."""
    front = state("aws:lb/loadBalancer:LoadBalancer", "front", {"loadBalancerType": "network"})

    assert months(estimated(front)) == {"Load balancers": "16.42"}
    assert not estimated(front).at_least


def test_ingresses_of_one_group_share_a_load_balancer() -> None:
    def ingress(name: str, **annotations: str) -> dict[str, Any]:
        return state(
            "kubernetes:networking.k8s.io/v1:Ingress",
            name,
            {"metadata": {"annotations": annotations}, "spec": {"ingressClassName": "alb"}},
        )

    group = {"alb.ingress.kubernetes.io/group.name": "llm"}
    found = estimated(ingress("a", **group), ingress("b", **group), ingress("c"))

    assert [(line.resource, line.detail) for line in found.lines] == [
        ("llm", "application, without capacity units"),
        ("c", "application, without capacity units"),
    ]


def test_a_service_says_that_its_load_balancer_is_a_network_one() -> None:
    annotations = {"service.beta.kubernetes.io/aws-load-balancer-type": "external"}
    service = state(
        "kubernetes:core/v1:Service",
        "front",
        {"metadata": {"annotations": annotations}, "spec": {"type": "LoadBalancer"}},
    )

    assert months(estimated(service)) == {"Load balancers": "16.42"}


def test_volumes_and_file_systems() -> None:
    """500 x 0.08 = 40.00; 1200 x 0.145 = 174.00."""
    volume = state("aws:ebs/volume:Volume", "cache", {"size": 500, "type": "gp3"})
    lustre = state(
        "aws:fsx/lustreFileSystem:LustreFileSystem",
        "weights",
        {
            "storageCapacity": 1200,
            "deploymentType": "PERSISTENT_2",
            "perUnitStorageThroughput": 125,
        },
    )

    assert months(estimated(volume, lustre)) == {"Volumes": "40.00", "File systems": "174.00"}


@pytest.mark.parametrize(
    ("kind", "inputs", "reason"),
    [
        pytest.param(
            "aws:ebs/volume:Volume", {"size": 500}, "Volumes: no price of gp2 is kept", id="gp2"
        ),
        pytest.param(
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            {
                "storageCapacity": 1200,
                "deploymentType": "PERSISTENT_2",
                "perUnitStorageThroughput": 1000,
            },
            "File systems: no on-demand price of fsx-lustre-persistent-1000 in us-east-1; known in "
            "no region",
            id="a faster file system",
        ),
        pytest.param(
            "aws:ebs/volume:Volume", {"size": UNKNOWN, "type": "gp3"}, "known after apply", id="?"
        ),
        pytest.param(
            "aws:lb/loadBalancer:LoadBalancer",
            {"loadBalancerType": "gateway"},
            "no price of a load balancer of the type gateway is kept",
            id="gateway",
        ),
    ],
)
def test_what_has_no_price_is_named(kind: str, inputs: dict[str, Any], reason: str) -> None:
    assert [each.reason for each in estimated(state(kind, "it", inputs)).unpriced] == [reason]


def a_reservation(count: int) -> dict[str, Any]:
    inputs = {"instanceType": "p5.48xlarge", "instanceCount": count}
    return state(RESERVATION, "held", inputs)


def in_the_reservation(nodes: int) -> tuple[dict[str, Any], dict[str, Any]]:
    target = {"capacityReservationTarget": {"capacityReservationId": UNKNOWN}}
    template = state(
        TEMPLATE,
        "t",
        {"instanceType": "p5.48xlarge", "capacityReservationSpecification": target},
        propertyDependencies={"capacityReservationSpecification": [a_reservation(0)["urn"]]},
    )
    group = node_group(
        instanceTypes=None,
        diskSize=None,
        scalingConfig={"minSize": 0, "desiredSize": nodes, "maxSize": 4},
        launchTemplate={"id": UNKNOWN, "version": "1"},
    )
    return template, {**group, "propertyDependencies": {"launchTemplate": [template["urn"]]}}


def test_a_reservation_is_paid_once_and_its_unused_half_is_idle() -> None:
    """4 x 55.04 = 220.16, of which 2 x 55.04 = 110.08 for nothing."""
    found = estimated(a_reservation(4), *in_the_reservation(2))

    nodes = [line for line in found.lines if line.unit == "node-hour"]
    assert [line.plan_usd_per_hour for line in nodes] == [Decimal("220.16")]
    assert [(each.gpus, each.usd_per_hour) for each in found.idle] == [(16, Decimal("110.08"))]


def test_a_reservation_that_nobody_uses_is_all_idle() -> None:
    """2 x 55.04 = 110.08."""
    found = estimated(a_reservation(2))

    assert [(each.gpus, each.usd_per_hour) for each in found.idle] == [(16, Decimal("110.08"))]


def test_a_block_that_was_bought_is_money_paid_once() -> None:
    """2 instances x 60 days x 24 x 39.33 = 113,270.40, by the reading of December 2024."""
    block = state(
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
        "block",
        {"capacityBlockOfferingId": "cb-1", "instancePlatform": "Linux/UNIX"},
        id="cr-1",
        outputs={
            "instanceType": "p5.48xlarge",
            "instanceCount": 2,
            "startDate": "2026-11-20T11:30:00Z",
            "endDate": "2027-01-19T11:30:00Z",
        },
    )
    side = read_engine_document(export(block), "export.json").after

    found = estimate_resources(side, load_catalog(), PRICES)

    assert [str(each.usd) for each in found.one_off] == ["113270.40"]
    assert found.plan.usd_per_hour == 0


def karpenter(requirements: list[dict[str, Any]], **limits: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {"requirements": requirements}}, "limits": limits}
    return state("kubernetes:karpenter.sh/v1:NodePool", "gpu", {"spec": spec})


def of_family(family: str) -> dict[str, Any]:
    return {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": [family]}


def test_a_pool_of_karpenter_is_a_range_up_to_its_limits() -> None:
    """16 GPUs are two p5.48xlarge (110.08) or sixteen p5.4xlarge (16 x 6.88 = 110.08): the same."""
    found = estimated(karpenter([of_family("p5")], **{"nvidia.com/gpu": 16}))

    assert found.floor.usd_per_hour == found.plan.usd_per_hour == 0
    assert found.ceiling.usd_per_hour == Decimal("110.08")
    assert found.at_least
    assert "from none to 2 x p5.48xlarge" in found.unpriced[0].reason


def test_limits_of_cpu_hold_too() -> None:
    """400 vCPUs: two p5.48xlarge of 192, although 64 GPUs would be eight."""
    found = estimated(
        karpenter([of_family("p5")], cpu="400", **{"nvidia.com/gpu": "64"}),
    )

    assert found.ceiling.usd_per_hour == Decimal("172.00")  # 25 x p5.4xlarge of 16 vCPUs, 6.88
    assert found.lines[0].item == "p5.4xlarge"


def test_a_spot_pool_of_karpenter_has_the_highest_reading_at_the_ceiling() -> None:
    """8 GPUs: one p5en.48xlarge, 27.1988 at most as of 2026-08-06."""
    spot = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
    found = estimated(karpenter([of_family("p5en"), spot], **{"nvidia.com/gpu": 8}))

    assert found.ceiling.usd_per_hour == Decimal("27.1988")


def test_resources_of_the_native_provider_are_priced_alike() -> None:
    """1 x 55.04 and 100 x 0.08 / 730 = 0.0110; control plane 0.10; 16.43 a month of balancer."""
    template = state(
        "aws-native:ec2:LaunchTemplate",
        "t",
        {
            "launchTemplateName": "gpu",
            "launchTemplateData": {
                "instanceType": "p5.48xlarge",
                "blockDeviceMappings": [{"ebs": {"volumeSize": 100, "volumeType": "gp3"}}],
            },
        },
    )
    group = state(
        "aws-native:eks:Nodegroup",
        "pool",
        {
            "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 1},
            "launchTemplate": {"name": "gpu", "version": "1"},
        },
    )
    cluster = state("aws-native:eks:Cluster", "c", {"version": "1.35"})
    front = state("aws-native:elasticloadbalancingv2:LoadBalancer", "f", {"type": "application"})

    found = estimated(template, group, cluster, front)

    assert not found.at_least, found.unpriced
    assert found.plan.usd_per_hour.quantize(Decimal("0.0001")) == Decimal("55.1735")


def test_a_root_disk_that_only_the_image_knows_is_named() -> None:
    box = state("aws:ec2/instance:Instance", "box", {"instanceType": "g6.xlarge"})

    found = estimated(box)

    assert found.plan.usd_per_hour == Decimal("0.8048")
    assert "as large as the image says" in found.unpriced[0].reason


def test_an_accelerator_that_is_no_gpu_is_priced_by_its_type() -> None:
    """2 x 21.50 = 43.00."""
    found = estimated(node_group(instanceTypes=["trn1.32xlarge"]))

    assert [line.plan_usd_per_hour for line in found.lines if line.unit == "node-hour"] == [43]
