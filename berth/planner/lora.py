"""Room for LoRA adapters: buffers that vLLM allocates at start, full or empty.

Source: vLLM, `lora/layers` (`create_lora_weights`): per slot and projection a matrix rank x inputs
and a matrix outputs x rank; `lora/utils.py` (`get_supported_lora_modules`) for which layers.
"""

from dataclasses import dataclass

from berth.catalog.model_shape import Model, Tensor
from berth.planner.engine_options import EngineOptions
from berth.planner.vllm_rules import Version
from berth.planner.weights import Parallel, StageWeights, rank_shape

VALUE_BYTES = 2
"""`--lora-dtype auto` is the model's own, of 16 bits."""
EXPERTS_FROM: Version = (0, 11, 1)
"""Experts have buffers from here (https://github.com/vllm-project/vllm/pull/21229)."""
EXTRA_VOCABULARY_UNTIL: Version = (0, 12, 0)
"""Before, an adapter could bring 256 entries of its own (`lora_extra_vocab_size`)."""
EXTRA_VOCABULARY = 256
IN_WEIGHTS_LINE_FROM: Version = (0, 8, 0)
"""From here the line about the weights in the log holds the buffers too
(https://github.com/vllm-project/vllm/pull/14469)."""
WITH_EMBEDDINGS = (
    "Bamba",
    "Exaone",
    "Granite",
    "Llama",
    "MiniCPM",
    "Mistral",
    "Mixtral",
    "Nemotron",
    "Phi3",
    "Solar",
)
"""Classes whose embedding and head take adapters (`embedding_modules`), by how they begin."""
ONE_SLICE = ("ChatGLM", "Phi3", "QWenLMHead")
"""Classes that store query, key and value, gate and up as one, with one adapter for all."""
FUSED_EXPERTS = ("GptOss", "Qwen3VLMoe", "Qwen3_5Moe")
"""Classes whose experts hold gate and up as one (`is_3d_moe_weight`)."""


@dataclass(frozen=True, slots=True)
class _Slots:
    """Adapters of one server."""

    count: int
    rank: int
    ranks: int
    """Tensor-parallel ranks."""
    sharded: bool
    targets: tuple[str, ...]

    def buffer_bytes(self, inputs: float, outputs: float, divided: str) -> float:
        """Of one projection; `fully_sharded_loras` divides the matrix that is whole otherwise.

        `divided` is what tensor parallel divides already: inputs, outputs or neither.
        """
        first, second = inputs * self.rank, outputs * self.rank
        if self.sharded and divided == "inputs":
            second /= self.ranks
        elif self.sharded and divided == "outputs":
            first /= self.ranks
        return (first + second) * self.count * VALUE_BYTES

    def takes(self, module: str) -> bool:
        """Whether a module is among the targets; without any all are."""
        return not self.targets or module.rpartition(".")[2] in self.targets


def lora_bytes(
    model: Model,
    stage: StageWeights,
    parallel: Parallel,
    options: EngineOptions,
    version: Version,
) -> float:
    """Bytes of all buffers of one pipeline stage on one rank."""
    if not options.max_loras:
        return 0.0
    slots = _Slots(
        options.max_loras,
        options.max_lora_rank,
        parallel.tensor,
        options.fully_sharded_loras,
        options.lora_target_modules,
    )
    layers = model.layers[stage.first : stage.first + stage.layers]
    total = 0.0
    for layer in layers:
        for tensor in layer.tensors:
            if tensor.linear and slots.takes(tensor.module):
                total += _projection_bytes(model, tensor, parallel, slots, version)
    if model.architecture.startswith(WITH_EMBEDDINGS):
        first, last = stage.first == 0, stage.first + stage.layers == len(model.layers)
        total += _ends_bytes(model, slots, version, first=first, last=last)
    return total


def _projection_bytes(
    model: Model, tensor: Tensor, parallel: Parallel, slots: _Slots, version: Version
) -> float:
    outputs, inputs, copies = rank_shape(tensor, parallel)
    if tensor.split == "expert":
        if version < EXPERTS_FROM:
            return 0.0
        slices = 1 if model.architecture.startswith(FUSED_EXPERTS) else 2
        if not tensor.module.endswith("gate_up_proj"):
            slices = 1
        divided = "inputs" if tensor.module.endswith("down_proj") else "outputs"
        return copies * slices * slots.buffer_bytes(inputs, outputs / slices, divided)
    shared = ("k_proj", "v_proj", "up_proj")
    if model.architecture.startswith(ONE_SLICE) and tensor.module.endswith(shared):
        inputs = 0  # the matrix over the inputs is counted with the first of them
    divided = {"row": "inputs", "none": "neither"}.get(tensor.split, "outputs")
    return copies * slots.buffer_bytes(inputs, outputs, divided)


def _ends_bytes(model: Model, slots: _Slots, version: Version, *, first: bool, last: bool) -> float:
    """Buffers of embedding and head, over the whole vocabulary on every rank."""
    extra = EXTRA_VOCABULARY if version < EXTRA_VOCABULARY_UNTIL else 0
    vocabulary, size = model.vocabulary + extra, model.hidden_size
    # Entries that an adapter may bring, and as many more rows of the weight itself.
    own_entries = 2 * extra * slots.count * size * VALUE_BYTES
    total = 0.0
    for present, module in ((first, "embed_tokens"), (last, "lm_head")):
        if present and slots.takes(module):
            total += (vocabulary + size) * slots.rank * slots.count * VALUE_BYTES + own_entries
    return total
