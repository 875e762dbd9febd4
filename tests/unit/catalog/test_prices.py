"""Dated prices: what is in force on a day, and that a missing one is never made up."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from berth.catalog.gpu_cloud import readings_of
from berth.catalog.instance import load_instances
from berth.catalog.older_accelerators import load_older_accelerators
from berth.catalog.price import (
    PriceBook,
    PriceHistory,
    PurchaseOption,
    UnknownPriceError,
    load_prices,
    read_histories,
)

TODAY = date(2026, 11, 30)
FILE = """
sources:
  page: {{cite: a page, checked: 2026-01-01}}
histories:
  - {{item: gp3, option: on_demand, unit: GB-month, prices: [{prices}]}}
"""
JANUARY = '{from_date: 2026-01-01, usd: "0.08", evidence: high, source: page}'
JUNE = '{from_date: 2026-06-01, usd: "0.07", evidence: high, source: page}'


def a_history(*prices: str) -> PriceHistory:
    return read_histories("us-east-1", FILE.format(prices=", ".join(prices)))["gp3", "on_demand"]


@pytest.mark.parametrize(
    ("item", "option", "usd"),
    [
        pytest.param("p5.48xlarge", "on_demand", "55.04", id="p5 after the cut of June 2025"),
        pytest.param("p4d.24xlarge", "on_demand", "21.957642", id="p4d to the last digit"),
        pytest.param("g6.xlarge", "on_demand", "0.8048", id="g6"),
        pytest.param("m7i.large", "on_demand", "0.1008", id="system nodes"),
        pytest.param("p5.48xlarge", "capacity_block", "39.33", id="block, 2024-12"),
        pytest.param("eks-control-plane", "on_demand", "0.10", id="standard support"),
        pytest.param("nat-gateway", "on_demand", "0.045", id="nat"),
        pytest.param("interface-endpoint", "on_demand", "0.01", id="7.30 in 730 hours"),
        pytest.param("gp3", "on_demand", "0.08", id="gp3 per GB-month"),
        pytest.param("kms-key", "on_demand", "1.00", id="key per month"),
        pytest.param("public-ipv4", "on_demand", "0.005", id="address"),
        pytest.param("eks-control-plane-extended", "on_demand", "0.60", id="0.10 and 0.50"),
        pytest.param("network-load-balancer", "on_demand", "0.0225", id="16.43 a month"),
        pytest.param("cross-zone-traffic", "on_demand", "0.01", id="each direction"),
        pytest.param("trn1.32xlarge", "on_demand", "21.5", id="an accelerator that is no GPU"),
    ],
)
def test_prices_in_us_east_1_are_the_list_prices(
    item: str, option: PurchaseOption, usd: str
) -> None:
    assert load_prices().on(item, "us-east-1", option, TODAY).usd == Decimal(usd)


@pytest.mark.parametrize(
    ("day", "usd"),
    [
        pytest.param(date(2026, 1, 1), "0.08", id="first day of the first"),
        pytest.param(date(2026, 5, 31), "0.08", id="last day of the first"),
        pytest.param(date(2026, 6, 1), "0.07", id="first day of the second"),
        pytest.param(date(2030, 1, 1), "0.07", id="long after"),
    ],
)
def test_the_last_price_that_began_is_in_force(day: date, usd: str) -> None:
    assert a_history(JANUARY, JUNE).on(day).usd == Decimal(usd)


def test_a_day_before_the_first_price_has_none() -> None:
    with pytest.raises(UnknownPriceError) as error:
        a_history(JANUARY).on(date(2025, 12, 31))

    assert str(error.value) == (
        "no price of gp3 in us-east-1 is known for 2025-12-31; the first is of 2026-01-01"
    )


def test_an_old_estimate_keeps_the_old_price() -> None:
    """p5.48xlarge was 98.32 in the price list of 2025-04-04."""
    before = date(2026, 7, 20) - timedelta(days=1)

    assert load_prices().on("p5.48xlarge", "us-east-1", "on_demand", before).usd == Decimal("98.32")


def test_spot_is_the_range_of_all_readings() -> None:
    """p5en in us-east-1: 16.5551 to 18.2492 in January 2026, 27.1988 on 2026-08-06."""
    spot = load_prices().range_on("p5en.48xlarge", "us-east-1", TODAY)
    before = load_prices().range_on("p5en.48xlarge", "us-east-1", date(2026, 8, 5))

    assert (spot.usd_low, spot.usd_high) == (Decimal("16.5551"), Decimal("27.1988"))
    assert (before.usd_low, before.usd_high) == (Decimal("16.5551"), Decimal("18.2492"))
    assert spot.latest.from_date == date(2026, 8, 6)


def test_what_is_charged_no_more_has_no_price() -> None:
    """AWS ended the tier of advanced instances on 2026-06-30."""
    book = load_prices()

    assert book.on("ssm-advanced-instance", "us-east-1", "on_demand", date(2026, 6, 29)).usd
    with pytest.raises(UnknownPriceError, match="costs nothing since 2026-06-30"):
        book.on("ssm-advanced-instance", "us-east-1", "on_demand", date(2026, 6, 30))


def test_another_regions_price_is_never_taken() -> None:
    with pytest.raises(UnknownPriceError) as error:
        load_prices().on("p5.48xlarge", "us-west-2", "capacity_block", TODAY)

    assert str(error.value) == (
        "no Capacity Block price of p5.48xlarge in us-west-2; known in us-east-1, us-east-2"
    )


def test_an_unknown_item_is_known_nowhere() -> None:
    with pytest.raises(UnknownPriceError) as error:
        load_prices().on("x9.huge", "mars-north-1", "on_demand", TODAY)

    assert str(error.value) == "no on-demand price of x9.huge in mars-north-1; known in no region"


def test_prices_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="the price of 2026-01-01 stands after that of 2026-06-01"):
        a_history(JUNE, JANUARY)


def test_a_price_must_name_a_source_of_its_file() -> None:
    with pytest.raises(ValueError, match="names the source web; the file has page"):
        a_history(JANUARY.replace("source: page", "source: web"))


def test_a_price_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        a_history(JANUARY.replace("0.08", "0"))


def test_an_item_stands_once_in_a_file(tmp_path: Path) -> None:
    line = "  - {item: gp3, option: on_demand, unit: GB-month, prices: [" + JANUARY + "]}\n"
    (tmp_path / "us-east-1.yaml").write_text(FILE.format(prices=JANUARY) + line)

    with pytest.raises(ValueError, match="gp3 in us-east-1 has two histories; append to the first"):
        PriceBook(tmp_path).histories("us-east-1")


@pytest.mark.parametrize("region", load_prices().regions)
def test_every_price_file_parses_and_is_about_known_things(region: str) -> None:
    services = {
        *("eks-control-plane", "gp3", "interface-endpoint", "kms-key", "nat-gateway"),
        *("public-ipv4", "eks-hybrid-vcpu", "gp3-iops", "gp3-throughput"),
        *("eks-control-plane-extended", "application-load-balancer", "network-load-balancer"),
        *("application-load-balancer-capacity", "network-load-balancer-capacity"),
        *("nat-gateway-traffic", "cross-zone-traffic", "internet-egress", "ssm-advanced-instance"),
        *("fsx-lustre-persistent-125", "fsx-lustre-scratch"),
    }
    known = services | set(load_instances()) | set(load_older_accelerators().instances.types)

    items = {item for item, _ in load_prices().histories(region)}

    assert items
    assert items <= known


@pytest.mark.parametrize("region", load_prices().regions)
def test_no_price_is_from_the_future(region: str) -> None:
    histories = load_prices().histories(region).values()

    assert max(price.from_date for each in histories for price in each.prices) <= TODAY


def test_other_clouds_are_read_the_cheapest_first() -> None:
    """TensorWave 1.50, Vultr 1.85, DigitalOcean 2.59 (of October), Crusoe 3.45, Azure and OCI 6."""
    found = [(each.cloud, each.usd_per_gpu_hour) for each in readings_of("MI300X", TODAY)]

    assert found == [
        ("TensorWave", Decimal("1.50")),
        ("Vultr", Decimal("1.85")),
        ("DigitalOcean", Decimal("2.59")),
        ("Crusoe", Decimal("3.45")),
        ("Azure", Decimal("6.00")),
        ("OCI", Decimal("6.00")),
    ]
    before = date(2026, 10, 7)
    assert "DigitalOcean" not in {each.cloud for each in readings_of("MI300X", before)}
