"""What a stack is refused for, word for word, all of it at once."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from berth.catalog.load import load_catalog
from tests.unit.planner.stacks import (
    BLOCK,
    EXISTING_CLUSTER,
    LLAMA_8B,
    LLAMA_70B,
    a_70b,
    an_8b,
    an_existing_tier,
    an_h100_tier,
    an_l4_tier,
    refusal,
)

ON_H100 = {"tiers": {"h100": an_h100_tier()}}


def with_h100(**changes: Any) -> dict[str, Any]:
    """The l4 tier, used, and an h100 tier beside it."""
    return {"tiers": {"l4": an_l4_tier(), "h100": an_h100_tier(**changes)}}


@pytest.mark.parametrize(
    ("stack", "line"),
    [
        pytest.param(
            {"region": None},
            "aws:region: missing, but berth:cluster makes a new cluster; name a region",
            id="new cluster without a region",
        ),
        pytest.param(
            {"region": "xx-north-1"},
            "aws:region: xx-north-1 has too few known zones for a cluster, which takes 2 (none); "
            "name another region",
            id="unknown region",
        ),
        pytest.param(
            {"cluster": {"kubernetes_version": "1.29", "endpoint": "private"}},
            "berth:cluster.kubernetes_version: EKS builds no GPU nodes for 1.29; "
            "use one of 1.30, 1.31, 1.32, 1.33, 1.34, 1.35, 1.36",
            id="old Kubernetes",
        ),
        pytest.param(
            {"tiers": {"l4": an_l4_tier(instance_type="g6.xlrge")}},
            "berth:tiers.l4.instance_type: no instance type g6.xlrge in the catalog; "
            "the nearest is g6.xlarge",
            id="misspelt instance type",
        ),
        pytest.param(
            {"tiers": {"l4": an_l4_tier(instance_type="m7i.large")}},
            "berth:tiers.l4.instance_type: m7i.large has no GPU; "
            "name an instance type that has one",
            id="instance type without a GPU",
        ),
        pytest.param(
            {"tiers": {"l4": an_l4_tier(instance_type="g7.2xlarge")}},
            "berth:tiers.l4.instance_type: g7.2xlarge needs an AMI of one's own, since no EKS AMI "
            "has its driver; give ami_id, or name another instance type",
            id="no stock AMI",
        ),
        pytest.param(
            {"tiers": {"l4": an_l4_tier(min_nodes=3)}},
            "berth:tiers.l4.min_nodes: 3 is above max_nodes 2; lower min_nodes or raise max_nodes",
            id="min above max",
        ),
        pytest.param(
            with_h100(max_nodes=3),
            "berth:tiers.h100.max_nodes: 3 is above the 2 instances of the block; "
            "lower max_nodes to 2 or less",
            id="more nodes than the block",
        ),
        pytest.param(
            with_h100(capacity=BLOCK | {"availability_zone": "us-west-2a"}),
            "berth:tiers.h100.capacity.availability_zone: us-west-2a is not a zone of us-east-1; "
            "the zones are us-east-1a, us-east-1b, us-east-1c, us-east-1d, us-east-1e, us-east-1f",
            id="block in another region",
        ),
        pytest.param(
            with_h100(capacity=BLOCK | {"ends_at": "2026-11-20T11:30:00Z"}),
            "berth:tiers.h100.capacity.ends_at: 2026-11-20 11:30 UTC is not after starts_at "
            "2026-11-20 11:30 UTC; give the block's own start and end",
            id="block that ends when it starts",
        ),
        pytest.param(
            {"as_of": date(2027, 1, 30)} | with_h100(),
            "berth:tiers.h100.capacity.ends_at: the block ended at 2027-01-29 11:30 UTC, before "
            "berth:as_of 2027-01-30; name a block that has not ended",
            id="block that ended",
        ),
        pytest.param(
            {"tiers": {"l4": an_l4_tier(), "a": an_h100_tier(), "b": an_h100_tier()}},
            "berth:tiers.b.capacity.reservation_id: cr-0123456789abcdef0 is the block of tier a "
            "already; give each block one tier",
            id="one block for two tiers",
        ),
        pytest.param(
            {"cluster": EXISTING_CLUSTER},
            "berth:tiers.l4.source: eks nodes need a cluster of the stack, but berth:cluster is "
            "one that exists; set source: existing, or give berth:cluster a kubernetes_version",
            id="new nodes for a cluster that exists",
        ),
        pytest.param(
            {"tiers": {"l4": an_l4_tier(), "lab": an_existing_tier()}},
            "berth:tiers.lab.source: existing nodes are in a cluster that exists, but "
            "berth:cluster makes a new one; give berth:cluster a kubeconfig and a context, or "
            "name an instance_type",
            id="existing nodes in a new cluster",
        ),
        pytest.param(
            {"cluster": EXISTING_CLUSTER, "tiers": {"l4": an_existing_tier(gpu="MI300Y")}},
            "berth:tiers.l4.gpu: no GPU is called MI300Y; the nearest is MI300X",
            id="misspelt GPU",
        ),
        pytest.param(
            {"cluster": EXISTING_CLUSTER, "tiers": {"l4": an_existing_tier(gpu="RTX-4090")}},
            "berth:tiers.l4.gpu: RTX-4090 is a workstation card, of which no tier is made; "
            "name a GPU for servers",
            id="workstation card",
        ),
        pytest.param(
            {
                "tiers": {"h100": an_h100_tier(), "l4": an_l4_tier()},
                "models": {"chat": a_70b(tier="h200")},
            },
            "berth:models.chat.tier: no tier h200 in this stack; the tiers are h100, l4",
            id="tier that no pool provides",
        ),
        pytest.param(
            {"models": {"chat": an_8b(model="meta-llama/Llama-3.1-9B-Instruct")}},
            "berth:models.chat.model: no model is called meta-llama/Llama-3.1-9B-Instruct; "
            "the nearest is meta-llama/Llama-3.1-8B-Instruct",
            id="model that does not exist",
        ),
        pytest.param(
            {"models": {"chat": an_8b(replicas=3)}},
            "berth:tiers.l4.max_nodes: chat 3 x 1 GPU need 3 nodes of 1 GPU, but max_nodes is 2; "
            "raise max_nodes to 3 or lower the replicas",
            id="more replicas than nodes",
        ),
        pytest.param(
            ON_H100
            | {"models": {"chat": a_70b(replicas=7), "code": an_8b(tier="h100", replicas=3)}},
            "berth:tiers.h100.max_nodes: chat 7 x 2 GPUs, code 3 x 1 GPU need 3 nodes of 8 GPUs, "
            "but max_nodes is 2; lower the replicas or name a block of 3 instances",
            id="more replicas than the block holds",
        ),
        pytest.param(
            {
                "cluster": EXISTING_CLUSTER,
                "tiers": {"lab": an_existing_tier(nodes=1)},
                "models": {"chat": an_8b(tier="lab", replicas=9)},
            },
            "berth:tiers.lab.nodes: chat 9 x 1 GPU need 2 nodes of 8 GPUs, but nodes is 1; "
            "raise nodes to 2 or lower the replicas",
            id="more replicas than existing nodes",
        ),
        pytest.param(
            {"models": {"chat": an_8b(tensor_parallel_size=2)}},
            "berth:models.chat.tensor_parallel_size: 2 is more than one g6.xlarge (1 x L4) has; "
            "lower it to 1 or less, and divide the model over nodes by pipeline_parallel_size",
            id="more ranks than GPUs",
        ),
        pytest.param(
            ON_H100 | {"models": {"chat": a_70b(tensor_parallel_size=3)}},
            "berth:models.chat.tensor_parallel_size: 3 does not divide the 64 attention heads of "
            f"{LLAMA_70B}; use 1, 2, 4, 8 or 16",
            id="ranks that do not divide the heads",
        ),
        pytest.param(
            {"models": {"chat": an_8b(max_model_len=131_073)}},
            "berth:models.chat.max_model_len: 131073 is above the 131072 positions of "
            f"{LLAMA_8B}; use 131072 or lower, or a model with rope settings for more",
            id="longer than the model was made for",
        ),
    ],
)
def test_a_problem_is_named_with_its_key_and_its_numbers(stack: dict[str, Any], line: str) -> None:
    assert line in refusal(**stack)


def test_every_format_says_why_it_does_not_fit() -> None:
    """L4: 22.03 GiB, of which 0.19 are taken; 70B is 131.42 GiB in 16 bit, positions 0.03."""
    sixteen_bit, fp8 = refusal(models={"chat": a_70b(tier="l4", quantization="auto")})

    where = f"berth:models.chat: {LLAMA_70B} in"
    assert sixteen_bit.startswith(f"{where} 16 bit on 1 x L4, weights 131.4 GiB per GPU")
    assert fp8.startswith(f"{where} fp8 on 1 x L4, weights ")
    assert fp8.endswith("21.8 GiB are free; use more GPUs per replica or a smaller format")


def test_a_length_that_does_not_fit_says_which_one_does() -> None:
    """131072 tokens x 128 KiB are 16 GiB."""
    (line,) = refusal(models={"chat": an_8b(max_model_len=131_072, quantization="none")})

    assert line.startswith(
        f"berth:models.chat.max_model_len: {LLAMA_8B} in 16 bit on 1 x L4, a request of 131072 "
        "tokens needs 16.00 GiB of KV cache per GPU and "
    )
    assert "; set max_model_len to " in line


def test_a_stack_names_a_repository_with_its_owner() -> None:
    """Several owners publish a model under the same short name."""
    (line,) = refusal(models={"chat": an_8b(model="Llama-3.1-8B-Instruct")})

    assert line.startswith(
        "berth:models.chat.model: no model is called Llama-3.1-8B-Instruct; the nearest is "
    )
    assert line.endswith("/Llama-3.1-8B-Instruct")


def test_a_checkpoint_in_fp8_is_not_served_in_16_bit() -> None:
    name = "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"

    assert refusal(**ON_H100, models={"chat": a_70b(model=name, quantization="none")}) == (
        f"berth:models.chat.quantization: none is asked for, but the weights of {name} are fp8; "
        "leave it out, or name a repository in that format",
    )


@pytest.mark.parametrize(
    ("memory_gib", "lines"),
    [
        pytest.param(15, (), id="11.9 GiB for the server"),
        pytest.param(
            14,
            (
                "berth:tiers.l4.instance_type: chat needs 11 GiB of host memory with 1 GPU, and "
                "one g6.xlarge has 10 GiB for it; name an instance type with more memory per GPU",
            ),
            id="10.9 GiB",
        ),
    ],
)
def test_a_host_without_memory_for_the_server_is_refused(
    memory_gib: int, lines: tuple[str, ...]
) -> None:
    """15 GiB: 15360 x 0.925 - 893 - 100 - 1024 = 12191 MiB; 14 GiB: 11243 MiB, below 11 GiB."""
    catalog = load_catalog()
    small = catalog.instances["g6.xlarge"].model_copy(update={"memory_gib": memory_gib})
    catalog = replace(catalog, instances={**catalog.instances, "g6.xlarge": small})

    assert refusal(catalog) == lines


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    lines = refusal(
        region="xx-north-1",
        cluster={"kubernetes_version": "1.29", "endpoint": "private"},
        tiers={"l4": an_l4_tier(instance_type="g6.xlrge"), "b": an_l4_tier(min_nodes=9)},
        models={"chat": an_8b(tier="h200"), "code": an_8b(model="nobody/nothing")},
    )

    assert [line.partition(": ")[0] for line in lines] == [
        "aws:region",
        "berth:cluster.kubernetes_version",
        "berth:tiers.l4.instance_type",
        "berth:tiers.b.min_nodes",
        "berth:models.chat.tier",
        "berth:models.code.model",
    ]


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param({"tiers": {"l4": an_l4_tier(min_nodes=2)}}, id="min is max"),
        pytest.param(with_h100(max_nodes=2), id="max is the block"),
        pytest.param({"as_of": date(2027, 1, 29)} | with_h100(), id="day on which the block ends"),
        pytest.param({"models": {"chat": an_8b(replicas=2)}}, id="as many replicas as nodes"),
        pytest.param(
            ON_H100 | {"models": {"chat": a_70b(replicas=8)}}, id="as many GPUs as the block has"
        ),
    ],
)
def test_the_last_value_that_is_right_is_planned(stack: dict[str, Any]) -> None:
    assert refusal(**stack) == ()
