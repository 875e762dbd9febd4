"""The values that Pulumi hands to the program: same stack, same problems, no lines."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from berth.config.problems import ConfigError
from berth.config.read import parse_stack, read_stack_file
from berth.config.stack import CapacityBlock, EksTier

STACKS = Path(__file__).parents[3] / "stacks"
TODAY = date(2026, 12, 1)


def values_of_a_block() -> dict[str, Any]:
    """`stacks/Pulumi.h100-prod.yaml` as Pulumi 3.274 hands it over: times in the form of Go."""
    return {
        "aws:region": "us-east-1",
        "berth:as_of": "2026-11-30 00:00:00 +0000 UTC",
        "berth:environment": "prod",
        "berth:cluster": {
            "kubernetes_version": "1.35",
            "endpoint": "private",
            "admin_role_arns": ["arn:aws:iam::123456789012:role/platform-admin"],
        },
        "berth:tiers": {
            "h100": {
                "instance_type": "p5.48xlarge",
                "capacity": {
                    "type": "CAPACITY_BLOCK",
                    "reservation_id": "cr-0123456789abcdef0",
                    "availability_zone": "us-east-1b",
                    "starts_at": "2026-11-20 11:30:00 +0000 UTC",
                    "ends_at": "2027-01-29 11:30:00 +0000 UTC",
                    "instance_count": 2,
                    "fee_usd": 132149,
                },
                "min_nodes": 1,
                "max_nodes": 2,
            }
        },
        "berth:models": {
            "chat": {
                "model": "meta-llama/Llama-3.3-70B-Instruct",
                "tier": "h100",
                "quantization": "fp8",
                "max_model_len": 16384,
                "replicas": 4,
                "load": {"requests_per_s": 8, "input_tokens": 2000, "output_tokens": 300},
                "goals": {"ttft_ms": 1500, "itl_ms": 40},
            }
        },
    }


def refusal(values: dict[str, Any], **more: Any) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse_stack(values, "stack h100-prod", TODAY, **more)
    return list(refused.value.lines)


def test_the_program_sees_the_same_stack_as_the_command() -> None:
    stack = parse_stack(values_of_a_block(), "stack h100-prod", TODAY)

    assert stack == read_stack_file(STACKS / "Pulumi.h100-prod.yaml", TODAY)


def test_a_time_with_an_offset_keeps_it() -> None:
    values = values_of_a_block()
    values["berth:tiers"]["h100"]["capacity"]["starts_at"] = "2026-11-20 13:30:00 +0200 +0200"

    stack = parse_stack(values, "stack h100-prod", TODAY)

    tier = stack.tiers["h100"]
    assert isinstance(tier, EksTier)
    assert isinstance(tier.capacity, CapacityBlock)
    assert tier.capacity.starts_at == datetime(2026, 11, 20, 11, 30, tzinfo=UTC)


def test_without_as_of_the_stack_is_of_today() -> None:
    values = values_of_a_block()
    del values["berth:as_of"]

    assert parse_stack(values, "stack h100-prod", TODAY).as_of == TODAY


def test_keys_of_other_projects_are_left_alone() -> None:
    values = values_of_a_block() | {"kubernetes:context": 5, "aws:profile": {"a": [1]}, "q": 1}

    assert parse_stack(values, "stack h100-prod", TODAY).region == "us-east-1"


def test_problems_name_the_place_without_a_line() -> None:
    values = values_of_a_block()
    values["berth:tiers"]["h100"]["max_nodes"] = 3
    values["berth:models"]["chat"]["tier"] = "h10"

    assert refusal(values) == [
        "stack h100-prod: berth:tiers.h100.max_nodes: 3 is above capacity.instance_count 2; "
        "lower it to 2, because a block has no more instances",
        "stack h100-prod: berth:models.chat.tier: h10 is not in berth:tiers, which has h100; "
        "did you mean h100",
    ]


def test_a_version_that_pulumi_has_cut_is_not_guessed() -> None:
    values = values_of_a_block()
    values["berth:cluster"]["kubernetes_version"] = 1.3

    assert refusal(values) == [
        "stack h100-prod: berth:cluster.kubernetes_version: 1.3 without quotes is not text; "
        'put it in quotes, as in "1.35"'
    ]


def test_a_time_without_zone_is_refused_here_too() -> None:
    values = values_of_a_block()
    values["berth:tiers"]["h100"]["capacity"]["ends_at"] = "2027-01-29T11:30:00"

    assert refusal(values) == [
        "stack h100-prod: berth:tiers.h100.capacity.ends_at: 2027-01-29T11:30:00 has no time "
        "zone; append Z for UTC, or an offset such as +01:00"
    ]


def test_an_empty_setting_has_no_value() -> None:
    assert refusal(values_of_a_block() | {"berth:environment": ""}) == [
        "stack h100-prod: berth:environment: has no value; give dev or prod"
    ]


def test_a_decrypted_secret_is_never_shown() -> None:
    values = values_of_a_block() | {"berth:environment": "HiddenMarker"}

    assert refusal(values, secret_keys={"berth:environment"}) == [
        "stack h100-prod: berth:environment: is a secret, and Berth reads plain values only; "
        "write the value itself, without secure"
    ]


def test_the_token_of_gated_models_may_be_among_the_values() -> None:
    values = values_of_a_block() | {"berth:hf_token": "hf_AAABAHidden"}

    stack = parse_stack(values, "stack h100-prod", TODAY, secret_keys={"berth:hf_token"})

    assert stack.environment == "prod"


def test_nesting_without_end_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]

    assert refusal(values_of_a_block() | {"berth:budget": deep}) == [
        "stack h100-prod: berth:budget: nested more than 40 levels deep; a stack needs 6; "
        "remove the extra levels"
    ]


def test_half_a_character_is_refused() -> None:
    assert refusal(values_of_a_block() | {"berth:environment": "\ud800"}) == [
        "stack h100-prod: berth:environment: half of a surrogate pair, which is no character; "
        "write the character itself"
    ]
