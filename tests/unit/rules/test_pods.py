"""Pod templates and containers: what each is, runs and asks for."""

from typing import Any

import pytest

from berth.rules.resource import Resource
from berth.rules.stack_view import StackView, view_stack
from berth.rules.stack_view.pod import Container, Pod
from berth.rules.unknown import UNKNOWN, KnownAfterApplyError
from tests.unit.rules.stacks import (
    ABSENT,
    container,
    deployment,
    gpus,
    launch_template,
    node_group,
    pod_spec,
    release,
)

AGENT = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
BUSYBOX = "busybox:1.37"
GPU = {"nvidia.com/gpu": 1}
CLAIMED = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return next(view_stack([deployment(pod_spec(*containers, **spec))]).pods())


def one(**changes: Any) -> Container:
    return pod(container(**changes)).containers[0]


def config_map(data: Any) -> Resource:
    props = {"metadata": {"name": "settings"}, "data": data}
    return Resource("kubernetes:core/v1:ConfigMap", "settings", "urn:settings", props)


def view_of(body: dict[str, Any], data: dict[str, str]) -> StackView:
    volume = {"name": "files", "configMap": {"name": "settings"}}
    return view_stack([deployment(pod_spec(body, volumes=[volume])), config_map(data)])


@pytest.mark.parametrize(
    ("name", "expected"),
    [("server", "container server"), ("", "spec.template.spec.containers[0]"),
     (UNKNOWN, "spec.template.spec.containers[0]"), (ABSENT, "spec.template.spec.containers[0]")],
)  # fmt: skip
def test_a_message_calls_a_container_by_name_or_place(name: Any, expected: str) -> None:
    assert one(name=name).name == expected


def test_init_containers_stand_apart() -> None:
    both = pod(container(), initContainers=[container(name="fetch")])

    assert [c.name for c in both.containers] == ["container server"]
    assert [c.name for c in both.init_containers] == ["container fetch"]
    assert both.init_containers[0].init
    assert not both.containers[0].init
    assert both.containers[0].is_model_server
    assert not both.init_containers[0].is_model_server


def test_an_unknown_list_holds_one_unknown_container() -> None:
    unknown = pod(containers=UNKNOWN, initContainers=UNKNOWN)

    assert len(unknown.containers) == 1
    assert unknown.init_containers == ()
    with pytest.raises(KnownAfterApplyError):
        _ = unknown.containers[0].is_model_server


@pytest.mark.parametrize(
    ("replicas", "count"), [(3, 3), ("2", 2), (0, 0), (-1, 0), (None, 1), ("many", 1)]
)
def test_how_many_of_a_pod_run(replicas: Any, count: int) -> None:
    spec = {"replicas": replicas, "template": {"spec": pod_spec()}}
    workload = Resource("kubernetes:apps/v1:Deployment", "d", "", {"spec": spec})

    assert next(view_stack([workload]).pods()).count == count


@pytest.mark.parametrize(
    ("containers", "spec", "asks", "computes"),
    [
        ([container()], {}, True, True),
        ([container(resources=ABSENT)], {}, False, True),
        ([container(image=BUSYBOX, args=ABSENT)], {}, True, True),
        ([container(image=BUSYBOX, args=ABSENT, resources=ABSENT)], {}, False, False),
        ([container(image=BUSYBOX, resources={"claims": [{"name": "gpu"}]})], CLAIMED, True, True),
        ([container(image=AGENT, args=ABSENT)], {}, True, False),
        ([container(image=AGENT, args=ABSENT), container()], {}, True, False),
        ([container(image=BUSYBOX, resources=ABSENT), container()], {}, True, True),
    ],
)
def test_pods_that_compute_on_gpus(
    containers: list[Any], spec: dict[str, Any], asks: bool, computes: bool
) -> None:
    made = pod(*containers, **spec)

    assert made.asks_for_gpus is asks
    assert made.is_gpu_workload is computes


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([gpus(2)], {"nvidia.com/gpu": 2}),
        ([gpus(2, 1)], {"nvidia.com/gpu": 2}),
        ([gpus(ABSENT, 3)], {"nvidia.com/gpu": 3}),
        ([gpus(1), gpus("2")], {"nvidia.com/gpu": 3}),
        (
            [gpus(1), gpus(2, key="nvidia.com/mig-1g.10gb")],
            {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.10gb": 2},
        ),
        ([gpus(0)], {}),
        ([gpus("0.5")], None),
        ([gpus(-1)], None),
        ([gpus("many")], None),
        ([{"claims": [{"name": "gpu"}]}], None),
    ],
)
def test_accelerators_of_a_whole_pod(resources: list[Any], expected: dict[str, int] | None) -> None:
    made = pod(*(container(resources=each) for each in resources), **CLAIMED)

    assert made.gpus_by_key == expected


@pytest.mark.parametrize(
    ("resources", "count", "keys"),
    [
        (gpus(4), 4, ["nvidia.com/gpu"]),
        (gpus(4, 2), 4, ["nvidia.com/gpu"]),
        (gpus(ABSENT, 2), 2, ["nvidia.com/gpu"]),
        (gpus(0, 2), 2, []),
        (gpus(0), None, []),
        (gpus("0.5"), None, ["nvidia.com/gpu"]),
        (gpus(-2), None, ["nvidia.com/gpu"]),
        (gpus("many"), None, ["nvidia.com/gpu"]),
        (gpus(1, key="cpu"), None, []),
        (gpus([1]), None, []),
        (gpus(True), None, []),
        (
            {"limits": {"nvidia.com/gpu": 0, "nvidia.com/mig-1g.10gb": 2}},
            2,
            ["nvidia.com/mig-1g.10gb"],
        ),
        (ABSENT, None, []),
    ],
)
def test_accelerators_of_a_container(resources: Any, count: int | None, keys: list[str]) -> None:
    made = one(resources=resources)

    assert made.gpus == count
    assert made.asked_keys == keys
    assert made.has_mig_devices is (keys == ["nvidia.com/mig-1g.10gb"])


def test_an_unknown_quantity_is_not_counted() -> None:
    with pytest.raises(KnownAfterApplyError):
        _ = one(resources=gpus(UNKNOWN)).gpus


@pytest.mark.parametrize(
    ("spec", "resources", "count"),
    [
        (CLAIMED, {"claims": [{"name": "gpu"}]}, 1),
        ({}, {"claims": [{"name": "gpu"}]}, 0),
        (CLAIMED, {}, 0),
    ],
)
def test_a_claim_is_of_the_pod_and_named_by_the_container(
    spec: dict[str, Any], resources: dict[str, Any], count: int
) -> None:
    (made,) = pod(container(resources=resources), **spec).containers

    assert len(made.claims) == count
    assert made.gpus is None


CPU = ["--device", "cpu"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"args": ABSENT}, True),
        ({"image": "nvidia/cuda:12.9.1-runtime"}, True),
        ({"image": BUSYBOX, "args": ["x"]}, False),
        ({"image": BUSYBOX, "command": ["vllm", "serve", "m"], "args": ABSENT}, True),
        ({"image": ABSENT, "command": ["vllm", "serve", "m"], "args": ABSENT}, True),
        ({"image": ABSENT}, False),
        ({"image": "vllm/vllm-openai-cpu:v1"}, False),
        ({"image": AGENT, "command": ["vllm", "serve", "m"]}, False),
        ({"args": ["--model", "m", *CPU]}, False),
        ({"args": ["--model", "m", "--device=cpu"]}, False),
        ({"args": ["--model", "m", "--device", "cuda"]}, True),
        ({"args": ["--model", "m", "--device"]}, True),
        ({"args": ["--other", "cpu"]}, True),
    ],
)
def test_model_servers(changes: dict[str, Any], expected: bool) -> None:
    assert one(**changes).is_model_server is expected


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({}, "vllm"),
        ({"image": "lmsysorg/sglang:v0.5"}, "sglang"),
        ({"image": "lmsysorg/sglang:v0.5", "command": ["vllm", "serve", "m"]}, "vllm"),
        ({"image": "nvidia/cuda:12.9.1-runtime", "args": ABSENT}, None),
        ({"image": "ollama/ollama:1", "command": ["/start.sh"]}, "ollama"),
        ({"image": BUSYBOX}, None),
        ({"args": CPU}, None),
    ],
)
def test_the_engine_that_a_container_runs(changes: dict[str, Any], engine: str | None) -> None:
    assert one(**changes).engine == engine


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
    body = container(**{"volumeMounts": [SETTINGS], **changes})
    return next(view_of(body, data).containers())


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


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        ({}, "meta-llama/Llama-3.1-8B-Instruct"),
        ({"image": BUSYBOX}, None),
        (
            {
                "image": "ghcr.io/huggingface/text-generation-inference:3",
                "args": ABSENT,
                "env": [{"name": "MODEL_ID", "value": "org/m"}],
            },
            "org/m",
        ),
    ],
)
def test_the_model_of_a_container(changes: dict[str, Any], model: str | None) -> None:
    assert one(**changes).model == model


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ([{"name": "A", "value": "1"}], True),
        ([{"name": "A", "valueFrom": {"secretKeyRef": {}}}], True),
        ([{"name": "A", "value": UNKNOWN}], True),
        ([{"name": "B", "value": "1"}], False),
        (UNKNOWN, True),
        (ABSENT, False),
    ],
)
def test_whether_a_variable_is_set(env: Any, expected: bool) -> None:
    assert one(env=env).has_variable("A") is expected


def test_labels_of_pods() -> None:
    spec = {"template": {"metadata": {"labels": {"app": "chat"}}, "spec": pod_spec()}}
    made = next(
        view_stack([Resource("kubernetes:apps/v1:Deployment", "d", "", {"spec": spec})]).pods()
    )

    assert made.label("app") == "chat"
    assert made.label("team") is None


def test_a_view_finds_resources_by_kind_and_type() -> None:
    service = Resource("kubernetes:core/v1:Service", "s", "", {})
    other = Resource("kubernetes:serving.example.com/v1:Service", "o", "", {})
    template, chart = launch_template(), release()
    view = view_stack([deployment(), service, other, node_group(), template, chart])

    assert view.launch_templates == (template,)
    assert [c.resource for c in view.charts_named("gpu-operator", "karpenter")] == [chart]
    assert list(view.charts_named("karpenter")) == []
    assert view.of_kind("Service") == (service,)
    assert view.of_kind("Service", "serving.example.com") == (other,)
    assert view.of_kind("Ingress", "networking.k8s.io") == ()
    assert [r.name for r in view.of_type("aws:eks/nodeGroup:NodeGroup")] == ["pool"]
    assert view.of_type("aws:other/nodeGroup:NodeGroup") == ()
    assert [p.name for p in view.gpu_pools()] == ["pool"]
    assert list(view.gpu_pools("amd")) == []


def test_a_view_answers_twice_alike() -> None:
    view = view_stack([deployment(), node_group()])
    made = next(view.pods())

    assert view.pools_for(made) == view.pools_for(made) == view.pools
    assert view.nodes_of(made, {}) == view.nodes_of(made, {})
    assert view.nodes_of(made, {"instanceType": 5}) == view.nodes_of(made, {})
    alone = view_stack([deployment()])
    unplaced = next(alone.pods())
    assert alone.nodes_of(unplaced, {}) == ()
    assert len(alone.nodes_of(unplaced, {"instanceType": "g6.xlarge"})) == 1
    assert all(c.name == "container server" for c in view.all_containers())


def test_a_view_may_be_given_its_own_table() -> None:
    assert list(view_stack([node_group(amiType=ABSENT)], {}).gpu_pools()) == []
