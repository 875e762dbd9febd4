"""Stack files that are right: what they mean, and how they are found."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from berth.config.problems import ConfigError
from berth.config.read import read_stack_file, stack_file
from berth.config.stack import (
    CapacityBlock,
    EksTier,
    ExistingCluster,
    ExistingTier,
    NewCluster,
    PublicEndpoint,
)

STACKS = Path(__file__).parents[3] / "stacks"
TODAY = date(2026, 12, 1)


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    return read_stack_file(path, TODAY)


def test_h100_prod_is_a_new_cluster_on_a_block() -> None:
    stack = read_stack_file(STACKS / "Pulumi.h100-prod.yaml", TODAY)

    tier = stack.tiers["h100"]
    assert isinstance(tier, EksTier)
    assert tier.capacity == CapacityBlock(
        type="CAPACITY_BLOCK",
        reservation_id="cr-0123456789abcdef0",
        availability_zone="us-east-1b",
        starts_at=datetime(2026, 11, 20, 11, 30, tzinfo=UTC),
        ends_at=datetime(2027, 1, 29, 11, 30, tzinfo=UTC),
        instance_count=2,
        fee_usd=Decimal(132149),
    )
    assert isinstance(stack.cluster, NewCluster)
    assert stack.cluster.endpoint == "private"
    assert (stack.region, stack.environment, stack.as_of) == (
        "us-east-1",
        "prod",
        date(2026, 11, 30),
    )


def test_l4_dev_is_reached_from_named_networks() -> None:
    stack = read_stack_file(STACKS / "Pulumi.l4-dev.yaml", TODAY)

    assert isinstance(stack.cluster, NewCluster)
    assert stack.cluster.endpoint == PublicEndpoint(public_cidrs=("203.0.113.0/24",))
    assert (stack.environment, stack.models["chat"].quantization) == ("dev", "auto")


def test_mi300x_prod_is_a_cluster_that_exists() -> None:
    stack = read_stack_file(STACKS / "Pulumi.mi300x-prod.yaml", TODAY)

    assert stack.region is None
    assert stack.cluster == ExistingCluster(kubeconfig="~/.kube/config", context="mi300x-prod")
    assert stack.tiers["mi300x"] == ExistingTier(
        source="existing",
        gpu="MI300X",
        gpus_per_node=8,
        nodes=2,
        usd_per_gpu_hour=Decimal("1.85"),
    )


@pytest.mark.parametrize("path", sorted(STACKS.glob("Pulumi.*.yaml")), ids=lambda path: path.name)
def test_shipped_stacks_fix_their_day_and_name_the_schema(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    assert "berth:as_of: " in text


def test_what_pulumi_and_other_projects_write_is_left_alone(tmp_path: Path, on_demand: str) -> None:
    more = (
        "encryptionsalt: v1:abc\nsecretsprovider: awskms://alias/x\nsomething: [new]\n"
        + on_demand.replace("config:\n", "config:\n  kubernetes:context: 5\n  x:y: {secure: A}\n")
    )

    assert read(tmp_path, more) == read(tmp_path, on_demand)


def test_the_token_of_gated_models_is_no_part_of_the_stack(tmp_path: Path, on_demand: str) -> None:
    with_token = on_demand.replace("config:\n", "config:\n  berth:hf_token: {secure: AAAB}\n")

    assert read(tmp_path, with_token) == read(tmp_path, on_demand)


def test_anchors_and_merges_are_read_as_pulumi_reads_them(tmp_path: Path, on_demand: str) -> None:
    merged = on_demand.replace("    l4:\n", "    l4: &small\n").replace(
        "  berth:models:", "    more:\n      <<: *small\n      max_nodes: 3\n  berth:models:"
    )
    written_out = on_demand.replace(
        "  berth:models:",
        "    more: {instance_type: g6.xlarge, capacity: {type: ON_DEMAND}, max_nodes: 3}\n"
        "  berth:models:",
    )

    assert read(tmp_path, merged) == read(tmp_path, written_out)


def test_words_that_old_yaml_reads_as_truth_values_stay_words(
    tmp_path: Path, existing: str
) -> None:
    stack = read(tmp_path, existing.replace("context: amd", "context: on"))

    assert getattr(stack, "cluster", None) == ExistingCluster(
        kubeconfig="~/.kube/config", context="on"
    )


def test_a_mark_at_the_start_of_the_file_is_no_text(tmp_path: Path, on_demand: str) -> None:
    assert read(tmp_path, "\ufeff" + on_demand) == read(tmp_path, on_demand)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "stacks"
    folder.mkdir()
    for name in ("h100-prod", "l4-dev"):
        (folder / f"Pulumi.{name}.yaml").touch()
    (folder / "Pulumi.not-a-file.yaml").mkdir()
    return folder


@pytest.mark.parametrize("name", ["l4-dev", "acme/berth/l4-dev"])
def test_a_stack_is_found_by_its_name(name: str, folder: Path) -> None:
    assert stack_file(name, folder) == folder / "Pulumi.l4-dev.yaml"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "l4-dve",
            "stacks/Pulumi.l4-dve.yaml: no such stack; did you mean l4-dev "
            "(stacks: h100-prod, l4-dev)",
            id="close",
        ),
        pytest.param(
            "q",
            "stacks/Pulumi.q.yaml: no such stack; name one of h100-prod, l4-dev",
            id="far",
        ),
        pytest.param(
            "../l4-de",
            "stacks/Pulumi.l4-de.yaml: no such stack; did you mean l4-dev "
            "(stacks: h100-prod, l4-dev)",
            id="another-folder",
        ),
        pytest.param(
            "",
            "stacks/Pulumi..yaml: no such stack; name one of h100-prod, l4-dev",
            id="no-name",
        ),
    ],
)
def test_a_stack_that_does_not_exist_lists_those_that_do(
    name: str, expected: str, folder: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        stack_file(name, folder)

    assert refused.value.lines == (expected,)


def test_a_folder_without_stacks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigError) as refused:
        stack_file("l4-dev", Path("nowhere"))

    assert refused.value.lines == (
        "nowhere/Pulumi.l4-dev.yaml: no such stack, and the folder has none; name its folder",
    )


def test_a_file_that_pulumi_wrote_back_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.h100-prod.yaml"
    text = (STACKS / "Pulumi.h100-prod.yaml").read_text(encoding="utf-8")
    for given, written_back in (
        ("2026-11-30", "2026-11-30 00:00:00 +0000 UTC"),
        ("2026-11-20T11:30:00Z", "2026-11-20 11:30:00 +0000 UTC"),
        ("2027-01-29T11:30:00Z", "2027-01-29 11:30:00 +0000 UTC"),
    ):
        assert text.count(given) == 1
        text = text.replace(given, written_back)
    path.write_text(text + "  berth:hf_token:\n    secure: v1:abc\n", encoding="utf-8")

    stack = read_stack_file(path, date(2027, 1, 1))

    assert stack == read_stack_file(STACKS / "Pulumi.h100-prod.yaml", date(2027, 1, 1))
