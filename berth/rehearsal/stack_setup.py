"""All that one stack goes up on: control plane, pretended AWS, nodes, charts, and a workspace."""

import base64
import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from berth.catalog.load import load_catalog
from berth.config.stack import ExistingCluster
from berth.engine.environment import engine_environment
from berth.engine.interruptible import InterruptibleCommand
from berth.engine.preview import Target
from berth.engine.tools import find_or_make
from berth.offline.aws.control_plane import ControlPlaneAddress
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders
from berth.planner.plan import Plan
from berth.planner.startup import plan_startup
from berth.rehearsal.charts import MAP_FILE, Chart, charts_of, prepare_charts
from berth.rehearsal.control_plane import ControlPlane, Options
from berth.rehearsal.observer import Observer
from berth.rehearsal.workspace import (
    link_project,
    private_environment,
    use_kubeconfig,
    write_aws_answer,
    write_plugin,
)
from berth.rehearsal.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which stack is rehearsed, and how."""

    stack: str
    project_dir: Path
    stack_file: Path
    plan: Plan
    speed: float = 60.0
    """How many times faster than in life nodes come and models load."""
    charts: Path | None = None
    """The caller's folder of Helm charts."""


class StackSetup:
    """A private world for one stack, ready inside the block and gone after it."""

    plane: ControlPlane
    world: World
    observer: Observer
    target: Target
    charts: Sequence[Chart]

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with self._held:
            self._begin()
            self._held = self._held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    @property
    def providers(self) -> OfflineProviders:
        """The pretended AWS."""
        return self._providers

    def _begin(self) -> None:
        wish, catalog = self._wish, load_catalog()
        program = find_or_make("pulumi")
        cluster = wish.plan.cluster
        context = cluster.context if isinstance(cluster, ExistingCluster) else "berth-rehearsal"
        options = Options(
            ready_after_ms=ready_after_ms(wish.plan, wish.speed), speed=wish.speed, context=context
        )
        self.plane = plane = self._held.enter_context(ControlPlane(options))
        state = plane.folder / "state"
        authority = base64.b64encode(plane.certificate).decode()
        address = ControlPlaneAddress(plane.server, authority)
        self._providers = self._held.enter_context(OfflineProviders(state, address))
        self.charts = prepare_charts(
            charts_of(wish.plan), plane.folder / "charts", wish.charts, catalog
        )
        link_project(wish.project_dir, wish.stack_file, state / "work")
        if isinstance(cluster, ExistingCluster):
            use_kubeconfig(state / "work" / wish.stack_file.name, plane.kubeconfig)
        write_aws_answer(plane.folder / "bin", plane.token)
        environment = offline_environment(state, self._providers)
        write_plugin(
            Path(environment["PULUMI_HOME"]), sys.executable, plane.folder / "charts" / MAP_FILE
        )
        cli = engine_environment(program, offline=True)
        private = private_environment(plane.folder, plane.kubeconfig)
        private["PATH"] = f"{plane.folder / 'bin'}:{cli['PATH']}"
        self.target = Target(
            stack=wish.stack,
            work_dir=state / "work",
            environment={**cli, **environment, **private},
            command=InterruptibleCommand(program, bound=True),
            policy_packs=(wish.project_dir / "policies",),
            create=True,
        )
        self.observer = Observer(plane.api)
        self._held.callback(self.observer.stop)
        self.observer.start()
        self.world = World(plane.api, self._providers.cloud, catalog, wish.plan, wish.speed)
        self._held.callback(self.world.stop)
        self.world.start()


def ready_after_ms(plan: Plan, speed: float) -> Mapping[str, int]:
    """How long the pods of each model server take to load, on the faster clock."""
    return {
        name: round(plan_startup(server.weights_bytes).total_s * 1000 / speed)
        for name, server in plan.servers.items()
    }
