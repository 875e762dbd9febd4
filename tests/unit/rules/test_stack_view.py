"""What a view of a stack finds, and that it answers alike each time."""

from berth.rules.resource import Resource
from berth.rules.stack_view import view_stack
from tests.unit.rules.stacks import ABSENT, deployment, launch_template, node_group, release


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
