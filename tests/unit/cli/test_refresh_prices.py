"""The AWS Price List, as a local server stands in for it, to readings at the end of histories."""

import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from berth.catalog.price import PriceBook
from berth.cli.__main__ import main

COLUMNS = (
    "SKU,TermType,StartingRange,Unit,PricePerUnit,Currency,Product Family,Instance Type,Tenancy,"
    "Operating System,usageType,operation,CapacityStatus,Pre Installed S/W"
)
METADATA = 'a,1\nb,2\n"Publication Date","2026-11-30"\nc,3\nd,4\n'
FILE = """\
# Prices in us-east-1, USD.
sources:
  page:
    cite: a page
    checked: 2026-01-01
histories:
  - {item: p5.48xlarge, option: on_demand, unit: instance-hour, prices: [{from_date: 2026-01-01, usd: "60", evidence: high, source: page}]}
  - item: g6.xlarge
    option: on_demand
    unit: instance-hour
    prices:
      - {from_date: 2025-01-01, usd: "0.9", evidence: high, source: page}
      - {from_date: 2026-01-01, usd: "0.8048", evidence: high, source: page}
  - {item: nat-gateway, option: on_demand, unit: gateway-hour, prices: [{from_date: 2026-01-01, usd: "0.045", evidence: high, source: page}]}
"""  # noqa: E501  as the files of prices are written


def instance(name: str, usd: str, *, tenancy: str = "Shared", system: str = "Linux") -> str:
    plain = "BoxUsage,RunInstances,Used,NA"
    return f"X,OnDemand,0,Hrs,{usd},USD,Compute Instance,{name},{tenancy},{system},{plain}"


def service(family: str, usage: str, usd: str, unit: str = "Hrs") -> str:
    return f"X,OnDemand,0,{unit},{usd},USD,{family},,,,{usage},,,"


OFFERS = {
    "AmazonEC2": [
        instance("p5.48xlarge", "55.04"),
        instance("p5.48xlarge", "70.00", system="Windows"),
        instance("p5.48xlarge", "80.00", tenancy="Dedicated"),
        instance("g6.xlarge", "0.8048"),
        instance("c7i.large", "0.09"),
        "X,Reserved,0,Hrs,31.00,USD,Compute Instance,p5.48xlarge,Shared,Linux,,,,NA",
        service("NAT Gateway", "NatGateway-Hours", "0.05"),
        service("NAT Gateway", "RegionalNatGateway-Hours", "0.09"),
        service("Provisioned Throughput", "EBS:VolumeP-Throughput.gp3", "40.96", "GiBps-mo"),
    ],
    "AmazonEKS": [
        service("Compute", "USE1-AmazonEKS-Hours:perCluster", "0.10"),
        service("Compute", "USE1-AmazonEKS-Hours:extendedSupport", "0.50"),
    ],
    "AmazonVPC": [service("VpcEndpoint", "USE1-VpcEndpoint-Hours", "0.01")],
    "AWSELB": [
        service("Load Balancer-Application", "LoadBalancerUsage", "0.0225"),
        service("Load Balancer-Network", "LoadBalancerUsage", "0.0225"),
        service("Load Balancer-Network", "TS-LoadBalancerUsage", "0.0055"),
    ],
}


class PriceListServer(ThreadingHTTPServer):
    """Answers as the price list does, or as it should not."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files = {
            f"/offers/v1.0/aws/{offer}/current/us-east-1/index.csv": (
                METADATA + "\n".join([COLUMNS, *rows]) + "\n"
            ).encode()
            for offer, rows in OFFERS.items()
        }
        self.statuses: list[int] = []
        """Of the first answers; 200 afterwards."""
        self.asked: list[str] = []


class _Answer(BaseHTTPRequestHandler):
    server: PriceListServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        body = self.server.files.get(self.path, b"")
        self.send_response(status if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[PriceListServer]:
    with PriceListServer() as standing_in:
        thread = threading.Thread(target=standing_in.serve_forever, args=(0.01,))
        thread.start()
        yield standing_in
        standing_in.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "us-east-1.yaml").write_text(FILE)
    return tmp_path


def refresh(server: PriceListServer, folder: Path, *more: str) -> int:
    url = f"http://127.0.0.1:{server.server_port}"
    words = ["catalog", "refresh-prices", "--price-list", url, "--folder", str(folder), *more]
    return main(words)


def prices(folder: Path, item: str) -> list[str]:
    history = PriceBook(folder).histories("us-east-1")[item, "on_demand"]
    return [str(price.usd) for price in history.prices]


def test_what_changed_is_appended_and_what_was_stays(server: PriceListServer, folder: Path) -> None:
    assert refresh(server, folder) == 0

    assert prices(folder, "p5.48xlarge") == ["60", "55.04"]
    assert prices(folder, "nat-gateway") == ["0.045", "0.05"]
    kept = FILE.splitlines()
    text = (folder / "us-east-1.yaml").read_text()
    assert all(line.removesuffix("]}") in text for line in kept)


def test_a_price_that_stays_is_read_again(server: PriceListServer, folder: Path) -> None:
    assert refresh(server, folder) == 0

    history = PriceBook(folder).histories("us-east-1")["g6.xlarge", "on_demand"]
    assert [str(price.usd) for price in history.prices] == ["0.9", "0.8048", "0.8048"]
    assert history.prices[-1].from_date == date.today()


def test_services_are_known_by_their_usage(server: PriceListServer, folder: Path) -> None:
    """Throughput 40.96 / 1024 = 0.04; extended support 0.10 + 0.50 = 0.60."""
    assert refresh(server, folder) == 0

    found = {
        item: prices(folder, item)
        for item in ("gp3-throughput", "eks-control-plane-extended", "network-load-balancer")
    }
    assert found == {
        "gp3-throughput": ["0.04"],
        "eks-control-plane-extended": ["0.6"],
        "network-load-balancer": ["0.0225"],
    }
    assert ("c7i.large", "on_demand") not in PriceBook(folder).histories("us-east-1")


def test_a_second_reading_of_a_day_changes_nothing(server: PriceListServer, folder: Path) -> None:
    assert refresh(server, folder) == 0
    first = (folder / "us-east-1.yaml").read_text()

    assert refresh(server, folder) == 0

    assert (folder / "us-east-1.yaml").read_text() == first


def test_a_dry_run_says_and_does_not_write(
    server: PriceListServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refresh(server, folder, "--dry-run") == 0

    assert "p5.48xlarge: 60 of 2026-01-01 -> 55.04 USD per instance-hour" in capsys.readouterr().out
    assert (folder / "us-east-1.yaml").read_text() == FILE


def test_a_servers_own_error_is_asked_about_again(server: PriceListServer, folder: Path) -> None:
    server.statuses = [503, 500]

    assert refresh(server, folder) == 0
    assert len(server.asked) == len(OFFERS) + 2


@pytest.mark.parametrize(
    ("offer", "body", "said"),
    [
        pytest.param("AmazonEC2", None, "answers 404", id="gone"),
        pytest.param("AWSELB", b"<html>", "ends before its columns are named", id="a page"),
        pytest.param("AWSELB", METADATA.encode() + b"a,b\n", "has no column", id="another table"),
        pytest.param("AWSELB", b"\xff\xfe\n" * 9, "nothing was written", id="no text"),
    ],
)
def test_nothing_is_written_unless_every_list_was_read(
    server: PriceListServer,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    offer: str,
    body: bytes | None,
    said: str,
) -> None:
    path = f"/offers/v1.0/aws/{offer}/current/us-east-1/index.csv"
    if body is None:
        del server.files[path]
    else:
        server.files[path] = body

    assert refresh(server, folder) == 2

    assert said in capsys.readouterr().err
    assert (folder / "us-east-1.yaml").read_text() == FILE


def test_an_item_with_several_prices_is_left_alone(
    server: PriceListServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "/offers/v1.0/aws/AmazonVPC/current/us-east-1/index.csv"
    other = service("VpcEndpoint", "USE1-VpcEndpoint-Hours", "0.02")
    server.files[path] += (other + "\n").encode()

    assert refresh(server, folder) == 0

    assert "interface-endpoint: the list has several prices" in capsys.readouterr().out
    assert ("interface-endpoint", "on_demand") not in PriceBook(folder).histories("us-east-1")


def test_an_address_that_is_none_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["catalog", "refresh-prices", "--price-list", "ftp://x", "--folder", str(folder)]

    assert main(words) == 2
    assert "is no address" in capsys.readouterr().err
