"""The model that a container serves, as the catalog knows it; the rules about its shape."""

from collections.abc import Iterator

from berth.catalog.model import load_models
from berth.catalog.model_shape import HeadCache, Model
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.engine_arguments import EngineArguments
from berth.rules.stack_view.pod import Container

_ROPE_OPTIONS = ("--rope-scaling", "--rope-theta", "--hf-overrides", "--rope-parameters")
MAX_LEN_OPTIONS = ("--max-model-len", "--context-length", "--max-total-tokens")


def known_model(container: Container) -> Model | None:
    """The model, by its full repository name; never guessed from a part of a name.

    Raises:
        KnownAfterApplyError: if it is known after apply.
    """
    name = container.model
    return load_models().get(name) if name else None


def has_rope_settings(arguments: EngineArguments) -> bool:
    """The server is given positions of its own; also spelled with a key after a dot."""
    return any(
        word.partition("=")[0].replace("_", "-").partition(".")[0] in _ROPE_OPTIONS
        for word in arguments.words
    )


def _find_indivisible(container: Container, context: Context) -> Iterator[Breach]:
    arguments, model = container.engine_arguments, known_model(container)
    tensor = arguments.ranks().tensor if arguments else None
    if arguments is None or model is None or not tensor or tensor == 1:
        return
    heads = model.attention_heads
    kv_heads = sorted({c.kv_heads for c in model.caches if isinstance(c, HeadCache)})
    unlike = [n for n in kv_heads if n % tensor and tensor % n]
    if heads % tensor == 0 and not unlike:
        return
    what = f"{heads} attention heads" if heads % tensor else f"{unlike[0]} KV heads"
    sizes = [n for n in (1, 2, 4, 8, 16, 32) if _divides(n, heads, kv_heads) and n <= tensor]
    option = arguments.ranks().tensor_option
    yield Breach(
        where=container.resource.name,
        what=f"tensor parallel {tensor} cannot split the {what} of {model.name}",
        change="use a size that divides them",
        fix=f"set {option} to {sizes[-1]}",
    )


def _divides(size: int, heads: int, kv_heads: list[int]) -> bool:
    return heads % size == 0 and all(n % size == 0 or size % n == 0 for n in kv_heads)


TP_HEADS_INDIVISIBLE = Rule(
    id="tp-heads-indivisible",
    title="The tensor parallel size divides the attention heads of the model.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="model and tensor parallel size in the engine's arguments",
    why="every rank takes the same number of heads; the engine refuses to start otherwise",
    source="https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html",
    subjects=StackView.containers,
    judge=_find_indivisible,
)


def _find_too_long(container: Container, context: Context) -> Iterator[Breach]:
    arguments, model = container.engine_arguments, known_model(container)
    if arguments is None or model is None or has_rope_settings(arguments):
        return
    length = arguments.tokens(*MAX_LEN_OPTIONS)
    if length is None or length <= model.max_positions:
        return
    option = arguments.spelling(*MAX_LEN_OPTIONS)
    yield Breach(
        where=container.resource.name,
        what=f"{option} {length} is above the {model.max_positions} positions of {model.name}",
        change="lower it, or give rope settings that the model was made for",
        fix=f"set {option} to {model.max_positions}",
    )


MAX_LEN_EXCEEDS_MODEL = Rule(
    id="max-len-exceeds-model",
    title="Requests are no longer than the model's positions.",
    severity="high",
    level="mandatory",
    scope="resource",
    reads="model and maximum length in the engine's arguments",
    why="the engine refuses to start, or crashes at the first request that long",
    source="https://docs.vllm.ai/en/latest/configuration/engine_args.html",
    subjects=StackView.containers,
    judge=_find_too_long,
)

RULES = (TP_HEADS_INDIVISIBLE, MAX_LEN_EXCEEDS_MODEL)
