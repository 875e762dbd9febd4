"""Rules about drivers and what else makes a node's GPUs usable."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from berth.rules.resource import Resource
from berth.rules.rule import Breach, Context, Rule
from berth.rules.stack_view import StackView
from berth.rules.stack_view.chart import Chart
from berth.rules.stack_view.field import Field
from berth.rules.stack_view.pool import AL2_GPU, Pool
from berth.rules.stack_view.user_data import decoded_user_data
from berth.rules.unknown import KnownAfterApplyError

_OPERATOR: Final = "gpu-operator"
_NO_DRIVER_LABEL: Final = "nvidia.com/gpu.deploy.driver"
"""With `false` on a node the operator leaves its driver alone."""

_DRIVER_INSTALL: Final = re.compile(
    r"NVIDIA-Linux-\S*\.run|\binstall\b.*(?<![\w/-])(nvidia-driver\S*|cuda-drivers\S*)"
)


def _find_second_driver(subject: "Chart | _Template", context: Context) -> Iterator[Breach]:
    pools = context.view.pools
    if isinstance(subject, Chart):
        pool = _first_with_driver([pool for pool in pools if _takes_operator_driver(pool)])
        if pool:
            yield from _by_operator(subject, pool)
    else:
        yield from _by_user_data(subject.resource, pools)


class _Template:
    """A launch template as a subject."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource


def _subjects(view: StackView) -> Iterator["Chart | _Template"]:
    yield from (chart for chart in view.charts if chart.name == _OPERATOR)
    yield from map(_Template, view.launch_templates)


def _first_with_driver(pools: Sequence[Pool]) -> Pool | None:
    """A pool whose AMI brings the NVIDIA driver.

    Raises:
        KnownAfterApplyError: if none is known to, and the AMI type of one is known after apply.
    """
    ami_types = [(pool, pool.body.at("amiType")) for pool in pools]
    for pool, ami_type in ami_types:
        if ami_type.value == AL2_GPU and _vendor_or_none(pool) not in (None, "nvidia"):
            continue
        if not ami_type.is_unknown and pool.has_driver_image:
            return pool
    for pool, ami_type in ami_types:
        if ami_type.is_unknown:
            raise KnownAfterApplyError(f"amiType of pool {pool.name}")
    return None


def _vendor_or_none(pool: Pool) -> str | None:
    try:
        return pool.vendor
    except KnownAfterApplyError:
        return None


def _takes_operator_driver(pool: Pool) -> bool:
    return pool.label(_NO_DRIVER_LABEL) != "false"


def _by_operator(chart: Chart, pool: Pool) -> Iterator[Breach]:
    driver = chart.values.at("driver", "enabled")
    toolkit = chart.values.at("toolkit", "enabled")
    image = f"the image {pool.body.at('amiType').value} of pool {pool.name}"
    installs_driver = chart.is_switched_on(driver)
    installs_toolkit = chart.is_switched_on(toolkit)
    if installs_driver:
        both = f" and {toolkit.path} to false" if installs_toolkit else ""
        yield Breach(
            where=chart.resource.name,
            what=f"{driver.path} is {_stated(driver)} and {image} has a driver already",
            change="leave the driver to the image",
            fix=f"set {driver.path} to false{both}",
        )
    elif installs_toolkit:
        yield Breach(
            where=chart.resource.name,
            what=f"{toolkit.path} is {_stated(toolkit)} and {image} has it already",
            change="leave the toolkit to the image",
            fix=f"set {toolkit.path} to false",
            level="advisory",
        )


def _stated(switch: Field) -> str:
    return "true by default" if switch.is_absent else "true"


def _by_user_data(template: Resource, pools: tuple[Pool, ...]) -> Iterator[Breach]:
    users = [pool for pool in pools if pool.launch_template is template]
    judged = users or [pool for pool in pools if not isinstance(pool.launch_template, Resource)]
    user_data = Field(template.props).at("userData")
    pool = None if user_data.is_absent else _first_with_driver(judged)
    command = _driver_install(Field(template.props)) if pool else None
    if pool and command:
        yield Breach(
            where=template.name,
            what=(
                f"userData installs a driver ({command}) and the image "
                f"{pool.body.at('amiType').value} of pool {pool.name} has one already"
            ),
            change="leave the driver to the image",
            fix=f"remove {command} from userData",
        )


def _driver_install(template: Field) -> str | None:
    """What of the user data installs a driver: a package's or an installer's name."""
    for line in decoded_user_data(template).replace("\\\n", " ").splitlines():
        found = None if line.lstrip().startswith("#") else _DRIVER_INSTALL.search(line)
        if found:
            return found[1] or found[0]
    return None


DRIVER_DOUBLE_INSTALL = Rule(
    id="driver-double-install",
    title="One party installs the GPU driver: the node image or the GPU Operator.",
    severity="high",
    level="mandatory",
    scope="stack",
    reads="AMI types of node groups, values of gpu-operator, user data of launch templates",
    why="driver pods fail on an image that has a driver, and every later step waits for them",
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html#pre-installed-nvidia-gpu-drivers",
    subjects=_subjects,
    judge=_find_second_driver,
)

RULES = (DRIVER_DOUBLE_INSTALL,)
