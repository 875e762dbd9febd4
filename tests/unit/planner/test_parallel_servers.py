"""Servers of a stack that divide a model otherwise than by tensors."""

import pytest

from berth.planner.plan import ServerPlan
from tests.unit.planner.stacks import LLAMA_70B, a_70b, an_8b, an_h100_tier, planned, refusal

LOAD = {"requests_per_s": 0.5, "input_tokens": 1000, "output_tokens": 200}
L40S = {"instance_type": "g6e.12xlarge", "capacity": {"type": "ON_DEMAND"}, "max_nodes": 2}


def chat(tier: dict[str, object], **changes: object) -> ServerPlan:
    """The plan of a 70B on one tier."""
    server = a_70b(tier="only", **changes)
    return planned(tiers={"only": tier}, models={"chat": server}).servers["chat"]


def test_stages_take_their_gpus_and_are_asked_for() -> None:
    server = chat(L40S, quantization="fp8", pipeline_parallel_size=4, max_model_len=8192)

    assert (server.tensor_parallel_size, server.pipeline_parallel_size) == (1, 4)
    assert server.gpus_per_replica == 4
    assert ("--pipeline-parallel-size", "4") in set(
        zip(server.vllm_args, server.vllm_args[1:], strict=False)
    )


def test_a_load_over_pcie_is_searched_with_stages() -> None:
    # two L40S hold no 70B in fp8 beside its cache, and four ranks over PCIe are not searched
    server = chat(L40S, quantization="fp8", load=LOAD, max_model_len=8192)

    assert server.gpus_per_replica == 4
    assert server.pipeline_parallel_size > 1


def test_copies_with_shared_experts_are_asked_for() -> None:
    server = chat(
        an_h100_tier(),
        model="openai/gpt-oss-120b",
        quantization="auto",
        tensor_parallel_size=1,
        data_parallel_size=4,
        expert_parallel=True,
    )

    assert server.gpus_per_replica == 4
    assert server.vllm_args[server.vllm_args.index("--data-parallel-size") + 1] == "4"
    assert "--enable-expert-parallel" in server.vllm_args


@pytest.mark.parametrize("load", [None, LOAD])
def test_stages_may_take_a_second_node(load: object) -> None:
    server = chat(L40S, tensor_parallel_size=4, pipeline_parallel_size=2, load=load, replicas=1)

    assert (server.gpus_per_replica, server.nodes_per_replica, server.nodes) == (8, 2, 2)


@pytest.mark.parametrize("load", [None, LOAD])
def test_a_format_that_is_not_made_while_loading_is_refused(load: object) -> None:
    server = an_8b(quantization="awq", load=load)

    assert refusal(models={"chat": server}) == (
        "berth:models.chat.quantization: awq is asked for, but the weights of "
        "meta-llama/Llama-3.1-8B-Instruct are in 16 bits; leave it out, or name a repository in "
        "that format",
    )


def test_four_bits_made_while_loading_are_asked_for() -> None:
    server = planned(models={"chat": an_8b(quantization="bitsandbytes")}).servers["chat"]

    assert server.vllm_args[-2:] == ("--quantization", "bitsandbytes")


def test_automatic_formats_never_go_below_eight_bits() -> None:
    # 70B in 4 bits would fit one L40S
    lines = refusal(
        tiers={"only": L40S | {"instance_type": "g6e.xlarge"}},
        models={"chat": {"model": LLAMA_70B, "tier": "only", "max_model_len": 4096}},
    )

    assert all("16 bit" in line or "fp8" in line for line in lines)


def test_a_split_that_no_run_has_claims_no_accuracy() -> None:
    tensors = chat(an_h100_tier(), quantization="fp8", load=LOAD, tensor_parallel_size=4)
    stages = chat(an_h100_tier(), quantization="fp8", load=LOAD, pipeline_parallel_size=4)

    assert tensors.speed is not None
    assert stages.speed is not None
    assert (tensors.speed.evidence, stages.speed.evidence) == ("measured", "low")
