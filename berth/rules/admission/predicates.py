"""Per rule: which containers of one object break it, in the Common Expression Language.

`c` is a container and `variables.spec` its pod. An admission policy sees images, not what a command
line of an in-house image starts, and it sees one object: see `DIFFERENCES`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from berth.catalog.software import load_software
from berth.rules.admission.image_patterns import (
    is_engine,
    is_floating,
    is_for_cpu,
    is_gpu_agent,
    is_gpu_base,
)
from berth.rules.gpu_requests import ANOTHER_KIND, TOOL
from berth.rules.security import REFERENCE, SECRET_ENDINGS
from berth.rules.stack_view.accelerators import ACCELERATOR_KEYS, GPU_KEY, MIG_PREFIX
from berth.rules.stack_view.engine_arguments import PROGRAMS, SUBCOMMANDS

DIFFERENCES: Final[Mapping[str, str]] = {
    "gpu-request-missing": "a server in an image that is not called like an engine is not seen; a "
    "pod that selects an instance type or has a node affinity is let through",
    "image-unpinned": "an image that only its command line shows to be an engine is not seen; Helm "
    "releases are no objects of the API server",
    "model-server-daemonset": "a server that only its command line shows is not seen; MIG slices "
    "are refused no harder than whole GPUs",
    "gpu-isolation-bypass": "a privileged server that asks for no GPU and that only its command "
    "line shows is not seen",
    "secret-plain-env": "`--api-key` is seen as a word of args, not inside a shell script; values "
    "of Helm releases are no objects of the API server",
}
"""What the rule finds and the admission policy does not."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """When a container breaks a rule."""

    container: str
    """Over `c`."""
    fix: str
    """The change that mends it."""
    with_init: bool = False
    """Init containers are judged too."""
    config_map: str | None = None
    """Over `k`, a key of a ConfigMap; None: ConfigMaps are not looked at."""


def _asks_for_gpus(container: str) -> str:
    keys = "|".join(sorted(key.replace(".", "[.]") for key in ACCELERATOR_KEYS))
    return _asks_for(container, f"^(?:{keys}|{MIG_PREFIX.replace('.', '[.]')}.*)$")


def _asks_for(container: str, keys: str) -> str:
    """Whether it asks for more than none of a resource whose name matches a pattern."""
    pattern = f"r'{keys}'"
    kinds = []
    for kind in ("limits", "requests"):
        amounts = f"{container}.resources.{kind}"
        kinds.append(
            f"(has({amounts}) && "
            f"{amounts}.exists(k, k.matches({pattern}) && string({amounts}[k]) != '0'))"
        )
    return f"(has({container}.resources) && ({' || '.join(kinds)}))"


def _claims(container: str) -> str:
    return (
        f"(has(variables.spec.resourceClaims) && has({container}.resources) && "
        f"has({container}.resources.claims) && size({container}.resources.claims) > 0)"
    )


def _words(container: str, test: str) -> str:
    """Whether a word `w` of command or args passes a test."""
    return " || ".join(
        f"(has({container}.{part}) && {container}.{part}.exists(w, {test}))"
        for part in ("command", "args")
    )


def _is_model_server(container: str) -> str:
    image = f"{container}.image"
    on_cpu = _words(container, "w == '--device=cpu'")
    device = _pair(container, "--device", "^cpu$")
    return (
        f"(has({image}) && ({is_engine(image)} || {is_gpu_base(image)}) && !{is_gpu_agent(image)} "
        f"&& !{is_for_cpu(image)} && !({on_cpu} || {device}))"
    )


def _pair(container: str, option: str, pattern: str) -> str:
    """Whether the word after an option matches a pattern, or with ! before it does not."""
    args = f"{container}.args"
    negated, positive = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    return (
        f"(has({args}) && variables.places.exists(i, i + 1 < size({args}) && "
        f"{args}[i] == '{option}' && {negated}{args}[i + 1].matches(r'{positive}')))"
    )


def _only_runs_a_tool(container: str) -> str:
    """Whether its command line starts a program that computes nothing, and no engine."""
    parts = (f"(has({container}.{p}) ? {container}.{p} : [])" for p in ("command", "args"))
    line = f"({' + '.join(parts)}).join(' ')"
    programs = "|".join(sorted(PROGRAMS))
    served = "|".join(sorted(SUBCOMMANDS))
    engine = rf"(?:^|[\s/;&|])(?:{programs}|(?:{served})\s+serve)(?:\s|$)|-m\s+(?:{_MODULES})"
    return f"({line}.matches(r'{TOOL.pattern}') && !{line}.matches(r'{engine}'))"


_MODULES: Final = (
    r"vllm[.]entrypoints|sglang[.]launch_server|lmdeploy[.]serve|dynamo[.](?:vllm|sglang)"
)
"""What `python -m` starts an engine by."""


def _variable(container: str, test: str) -> str:
    """Whether a variable `e` with a value passes a test."""
    return f"(has({container}.env) && {container}.env.exists(e, has(e.value) && {test}))"


def _is_agent(container: str) -> str:
    return f"(has({container}.image) && {is_gpu_agent(f'{container}.image')})"


_HIDDEN: Final = "e.name == 'NVIDIA_VISIBLE_DEVICES' && e.value.matches(r'^\\s*(?:void|none)\\s*$')"
_TAKEN: Final = (
    "e.name == 'NVIDIA_VISIBLE_DEVICES' && !e.value.matches(r'^\\s*(?:void|none)?\\s*$')"
)
_SELECTS_NODES: Final = (
    "((has(variables.spec.nodeSelector) && "
    "'node.kubernetes.io/instance-type' in variables.spec.nodeSelector) || "
    "(has(variables.spec.affinity) && has(variables.spec.affinity.nodeAffinity)))"
)
_IS_GPU_WORKLOAD: Final = (
    f"(!variables.containers.exists(o, {_is_agent('o')}) && variables.containers.exists(o, "
    f"{_asks_for_gpus('o')} || {_claims('o')} || {_is_model_server('o')}))"
)
_SECRET_NAME: Final = f".matches(r'(?i)(?:{'|'.join(SECRET_ENDINGS).replace('_', '[-_]')})$')"
_REFERENCE: Final = f"^(?:{REFERENCE.pattern})$"
_LITERAL: Final = f"!{_REFERENCE}"
_IS_REFERENCE: Final = f".matches(r'{_REFERENCE}')"
_SECRET: Final = f"e.name{_SECRET_NAME} && !e.value{_IS_REFERENCE}"
_KEY_WORD: Final = (
    f"w.startsWith('--api-key=') && !w.matches(r'^--api-key=(?:{REFERENCE.pattern})$')"
)

PREDICATES: Final[Mapping[str, Predicate]] = {
    "gpu-isolation-bypass": Predicate(
        f"!{_is_agent('c')} && ({_variable('c', _TAKEN)} || (has(c.securityContext) && "
        "has(c.securityContext.privileged) && c.securityContext.privileged && "
        f"{_IS_GPU_WORKLOAD}))",
        "remove NVIDIA_VISIBLE_DEVICES from env and set securityContext.privileged to false",
    ),
    "gpu-request-missing": Predicate(
        f"{_is_model_server('c')} && !{_asks_for_gpus('c')} && !{_claims('c')} && "
        f"!{_asks_for('c', ANOTHER_KIND.pattern)} && !{_only_runs_a_tool('c')} && "
        f"!{_SELECTS_NODES} && !(has(c.command) && {_variable('c', _HIDDEN)})",
        f"set resources.limits[{GPU_KEY['nvidia']}] to the GPUs that it uses",
    ),
    "image-unpinned": Predicate(
        f"has(c.image) && {is_floating('c.image')} && !{is_for_cpu('c.image')} && "
        f"({is_engine('c.image')} || {is_gpu_base('c.image')} || {is_gpu_agent('c.image')} || "
        f"{_asks_for_gpus('c')})",
        f"set image to a version or a digest, for vLLM to {load_software().vllm['nvidia'].image}",
        with_init=True,
    ),
    "model-server-daemonset": Predicate(
        f"object.kind == 'DaemonSet' && {_is_model_server('c')} && {_asks_for_gpus('c')}",
        "set kind to Deployment and spec.replicas to the servers wanted",
    ),
    "secret-plain-env": Predicate(
        f"{_variable('c', _SECRET)} || (has(c.image) && {is_engine('c.image')} && "
        f"(({_words('c', _KEY_WORD)}) || {_pair('c', '--api-key', _LITERAL)}))",
        "replace the value by a reference to a Secret",
        with_init=True,
        config_map=f"k{_SECRET_NAME} && !object.data[k]{_IS_REFERENCE}",
    ),
}
"""By rule id; the rest of the rules need several objects, or more than an object shows."""
