"""Arguments of an engine as a container gives them: in place, in files, in variables."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from berth.rules.stack_view.pod import Container
from tests.unit.rules.stacks import ABSENT, container, deployment, pod_spec

BUSYBOX = "busybox:1.37"


def one(**changes: Any) -> Container:
    return next(view_stack([deployment(pod_spec(container(**changes)))]).containers())


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"args": ["m", "-tp", "2"]}, "args", ("m", "-tp", "2")),
        ({"args": ABSENT, "command": ["vllm", "serve", "m"]}, "command", ("m",)),
        ({"command": ["vllm"], "args": ["serve", "m"]}, "args", ("m",)),
        ({"image": BUSYBOX, "command": ["sh", "-c"], "args": ["a; vllm serve m"]}, "args", ("m",)),
    ],
)
def test_where_the_arguments_of_an_engine_are(
    changes: dict[str, Any], path: str, words: tuple[str, ...]
) -> None:
    arguments = one(**changes).engine_arguments

    assert arguments is not None
    assert arguments.path == f"spec.template.spec.containers[0].{path}"
    assert arguments.words == words


@pytest.mark.parametrize(
    "changes",
    [
        {"command": ["/start.sh"]},
        {"image": BUSYBOX},
        {"image": "vllm/vllm-openai-cpu:v1"},
        {"image": "nvidia/cuda:12.9.1-runtime"},
    ],
)
def test_arguments_that_no_engine_is_known_to_take(changes: dict[str, Any]) -> None:
    assert one(**changes).engine_arguments is None


@pytest.mark.parametrize(
    ("changes", "is_partial"),
    [
        ({"image": "vllm/vllm-openai:v0.32.0", "args": ABSENT}, False),
        ({"image": "example.com/team/vllm:1", "args": ABSENT}, True),
        ({"image": "example.com/team/vllm:1"}, False),
        ({"image": "nvcr.io/nim/meta/llama:1", "args": ABSENT}, True),
    ],
)
def test_an_image_of_a_team_may_bring_arguments_of_its_own(
    changes: dict[str, Any], is_partial: bool
) -> None:
    arguments = one(**changes).engine_arguments

    assert arguments is not None
    assert arguments.is_partial is is_partial


SETTINGS = {"mountPath": "/etc/vllm", "name": "files"}


def served(data: dict[str, str], **changes: Any) -> Container:
    """A container with the files of a ConfigMap."""
    body = container(**{"volumeMounts": [SETTINGS], **changes})
    spec = pod_spec(body, volumes=[{"name": "files", "configMap": {"name": "settings"}}])
    props = {"metadata": {"name": "settings"}, "data": data}
    config_map = Resource("kubernetes:core/v1:ConfigMap", "settings", "urn:settings", props)
    return next(view_stack([deployment(spec), config_map]).containers())


def test_options_of_a_mounted_file_come_before_the_arguments() -> None:
    options = {"c.yaml": "tensor_parallel_size: 4\nmax-model-len: 8192\n"}
    made = served(options, args=["m", "--config", "/etc/vllm/c.yaml", "--max-model-len", "4096"])

    arguments = made.engine_arguments
    assert arguments is not None
    assert arguments.ranks().tensor == 4
    assert arguments.number("--max-model-len") == 4096
    assert not arguments.is_partial


@pytest.mark.parametrize(
    ("data", "path"), [({}, "/etc/vllm/c.yaml"), ({"c.yaml": "a: [1"}, "/etc/vllm/c.yaml"),
                       ({"c.yaml": "- a"}, "/etc/vllm/c.yaml"), ({"c.yaml": "a: 1"}, "/other.yaml")]
)  # fmt: skip
def test_a_file_that_is_not_shown_may_hold_any_option(data: dict[str, str], path: str) -> None:
    arguments = served(data, args=["m", "--config", path]).engine_arguments

    assert arguments is not None
    assert arguments.is_partial


@pytest.mark.parametrize("engine", ["triton", "tgi"])
def test_other_engines_mean_something_else_by_config(engine: str) -> None:
    image = {"triton": "nvcr.io/nvidia/tritonserver:25.06-py3",
             "tgi": "ghcr.io/huggingface/text-generation-inference:3"}[engine]  # fmt: skip

    arguments = served({}, image=image, args=["--config", "/x"]).engine_arguments
    assert arguments is not None
    assert not arguments.is_partial


def test_options_without_a_dash_a_value_or_a_scalar() -> None:
    text = "enforce-eager: true\nenable-x: false\n--tp: 2\nlist: [1]\n5: x\nname: a\n"
    made = served({"c.yaml": text}, args=["--config", "/etc/vllm/c.yaml"])

    assert made.engine_arguments is not None
    assert made.engine_arguments.words[:3] == ("--enforce-eager", "--tp=2", "--name=a")
    assert not made.engine_arguments.has("--enable-x", "--list")


def test_a_script_of_a_config_map_is_read() -> None:
    made = served(
        {"run.sh": "exec vllm serve org/m -tp 2\n"}, command=["/etc/vllm/run.sh"], args=ABSENT
    )

    assert made.model == "org/m"


def test_variables_of_a_config_map_reach_the_arguments() -> None:
    made = served(
        {"TP": "4"}, envFrom=[{"configMapRef": {"name": "settings"}}], args=["m", "-tp=$(TP)"]
    )

    assert made.engine_arguments is not None
    assert made.engine_arguments.ranks().tensor == 4
    assert made.literal_env == {"TP": "4"}
