"""Rules about servers that run once per node."""

from collections.abc import Iterator

from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.pod import Container


def _find_server(container: Container, context: Context) -> Iterator[Breach]:
    if container.pod.workload.kind != "DaemonSet" or not container.is_model_server:
        return
    allowed = context.options.get("allow")
    if isinstance(allowed, list) and container.resource.name in allowed:
        return
    keys = container.asked_keys
    if not keys:
        return
    rest = "the other slices of the node" if container.has_mig_devices else "the other GPUs"
    yield Breach(
        where=container.resource.name,
        what=f"a DaemonSet runs {container.name} with {keys[0]} once per node: {rest} stay idle, "
        "and nothing can scale it",
        change="use a Deployment with replicas",
        fix="set kind to Deployment and spec.replicas to the servers wanted",
        level="mandatory" if container.has_mig_devices else None,
    )


MODEL_SERVER_DAEMONSET = Rule(
    id="model-server-daemonset",
    title="Model servers are Deployments, not one per node.",
    severity="medium",
    level="advisory",
    scope="resource",
    reads="kind of workload, images, engine arguments and accelerators",
    why="one pod per node strands GPUs and slices, without replicas or autoscaling",
    source="https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#alternatives-to-daemonset",
    subjects=StackView.containers,
    judge=_find_server,
    options={
        "allow": {
            "type": "array",
            "items": {"type": "string"},
            "description": "DaemonSets that serve once per node on purpose.",
        }
    },
)

RULES = (MODEL_SERVER_DAEMONSET,)
