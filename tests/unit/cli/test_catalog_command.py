"""`berth catalog`: every list has names, days and sources; what is not there is said so."""

import argparse
import json

import pytest

from berth.cli import catalog


def berth_catalog(*words: str) -> int:
    parser = argparse.ArgumentParser()
    catalog.add_parser(parser.add_subparsers())
    return catalog.run(parser.parse_args(["catalog", *words]))


@pytest.mark.parametrize("what", sorted(catalog.LISTS))
def test_every_row_says_from_where_and_when(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = berth_catalog(what, "--json")

    rows = json.loads(capsys.readouterr().out)
    assert code == 0
    assert all(row["name"] and row["source"] and row["checked"] for row in rows)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(("gpus", "l40"), "L40S", id="gpu"),
        pytest.param(("instances", "p5.48"), "8 x H100-SXM-80GB", id="instance"),
        pytest.param(("models", "llama-3.3-70b-instruct"), "meta-llama/Llama-3.3-70B", id="model"),
        pytest.param(("software", "oldest driver"), "580.65.06 (current)", id="software"),
        pytest.param(("prices", "p5.48xlarge"), "55.04", id="price"),
    ],
)
def test_rows_are_found_by_a_part_of_their_name(
    words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = berth_catalog(*words)

    assert code == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param(("gpus", "zz"), "berth catalog: nothing of gpus is called zz", id="name"),
        pytest.param(
            ("prices", "--region", "us-est-1"),
            "berth catalog: no price in the region us-est-1 is known; did you mean us-",
            id="region",
        ),
    ],
)
def test_what_is_not_there_is_refused(
    words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = berth_catalog(*words)

    assert code == 2
    assert capsys.readouterr().err.startswith(line)


def test_prices_that_were_read_long_ago_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    """NAT gateways in us-east-1 were read on 2024-07-01; nothing is a hundred years old."""
    assert berth_catalog("prices", "nat-gateway", "--older-than", "90d", "--json") == 0
    old = next(
        each for each in json.loads(capsys.readouterr().out) if each["name"] == "nat-gateway"
    )
    assert (old["name"], old["checked"]) == ("nat-gateway", "2024-07-01")

    assert berth_catalog("prices", "--older-than", "36500d") == 0
    assert "no price in force in us-east-1 is older than 36500 days" in capsys.readouterr().out


def test_only_prices_have_an_age_to_ask_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert berth_catalog("gpus", "--older-than", "90d") == 2
    assert "--older-than is of prices, not of gpus" in capsys.readouterr().err
