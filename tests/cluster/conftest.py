"""A private control plane for the tests of the cluster level."""

from collections.abc import Iterator

import pytest

from berth.engine.tools import ToolError, find_or_make
from berth.rehearsal.control_plane import PROGRAMS, ControlPlane, RehearsalError, refuse_elsewhere


@pytest.fixture(scope="session")
def cluster_programs() -> None:
    """The programs; without them the tests of the cluster level are skipped, with the reason."""
    try:
        refuse_elsewhere()
        for name in PROGRAMS:
            find_or_make(name)
    except (RehearsalError, ToolError) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def engine_programs(cluster_programs: None) -> None:
    """What an `up` on a control plane needs besides."""
    try:
        for name in ("pulumi", "pulumi-resource-kubernetes"):
            find_or_make(name)
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture
def control_plane(cluster_programs: None) -> Iterator[ControlPlane]:
    """One that is empty and gone after the test; it is ready in seconds."""
    with ControlPlane() as plane:
        yield plane
