"""Our language host under the real engine, also where the CLI came with Pulumi's own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from berth.engine.tools import Program, shims

pytestmark = pytest.mark.engine


class Project(Protocol):
    """What `conftest.Project` gives to a test."""

    folder: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]: ...
    def pulumi(self, *arguments: str) -> tuple[int, str]: ...


MakeProject = Callable[[Mapping[str, str]], Project]

REPORT_PIDS = """
import os, pathlib, subprocess, time
child = subprocess.Popen(["sleep", "600"])
text = f"{os.getpid()} {os.getppid()} {child.pid}"
pathlib.Path("pids.new").write_text(text)
pathlib.Path("pids.new").rename("pids")
"""

PACK = """
import os, pathlib
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

pathlib.Path("pids").write_text(f"{os.getpid()} {os.getppid()}")

def check(args, report_violation):
    if args.name == "bad":
        report_violation("it is called bad", args.urn)

PolicyPack("names", policies=[ResourceValidationPolicy(
    name="no-bad", description="Nothing is called bad.", validate=check,
    enforcement_level=EnforcementLevel.MANDATORY)])
"""

COMPONENTS = """
import pulumi
for name in NAMES:
    pulumi.ComponentResource("test:index:Thing", name)
"""

PROVIDER = """
from typing import Optional, TypedDict
import pulumi
from pulumi.provider.experimental import component_provider_host

class ThingArgs(TypedDict):
    size: pulumi.Input[int]

class Thing(pulumi.ComponentResource):
    def __init__(self, name: str, args: ThingArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("things:index:Thing", name, {}, opts)

component_provider_host(name="things", components=[Thing])
"""


@pytest.fixture(autouse=True)
def our_host(pulumi_cli: Program, engine_env: dict[str, str], tmp_path: Path) -> None:
    """Put our host before the one that the CLI came with."""
    if pulumi_cli.language_host:
        host = tmp_path / "host" / shims.LANGUAGE_HOST
        host.parent.mkdir()
        shims.write_executable(host, shims.shim_text(sys.executable))
        engine_env["PATH"] = f"{host.parent}{os.pathsep}{engine_env['PATH']}"


def diagnostics(output: str) -> list[str]:
    """The lines below "Diagnostics", which show each message once."""
    _, _, rest = output.partition("Diagnostics:\n")
    lines = [line.strip() for line in rest.partition("Resources:\n")[0].splitlines()]
    return [line for line in lines if line and not line.startswith("pulumi:pulumi:Stack")]


def wait_for_pids(project: Project, process: subprocess.Popen[str]) -> list[int]:
    """The process ids that the program has written down."""
    pids = project.folder / "pids"
    while not pids.exists():
        assert process.poll() is None
    return [int(pid) for pid in pids.read_text("utf-8").split()]


def is_running(pid: int) -> bool:
    """Whether a process exists and is more than an entry that waits to be collected."""
    ran = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(ran.stdout.strip()) and not ran.stdout.strip().startswith("Z")


def end_of(pids: list[int], *, polls: int = 500) -> list[int]:
    """Those that still run after many looks."""
    for _ in range(polls):
        pids = [pid for pid in pids if is_running(pid)]
        if not pids:
            break
    return pids


def test_an_empty_program_previews_without_a_word_of_ours(make_project: MakeProject) -> None:
    exit_code, output = make_project({"__main__.py": ""}).pulumi("preview")

    assert exit_code == 0
    assert diagnostics(output) == []
    assert "warning" not in output


def test_configuration_and_outputs_arrive_and_secrets_stay_secret(
    make_project: MakeProject,
) -> None:
    project = make_project(
        {
            "__main__.py": "import pulumi\n"
            "c = pulumi.Config()\n"
            "pulumi.export('plain', c.require('plain'))\n"
            "pulumi.export('secret', c.require_secret('secret'))\n"
            "pulumi.export('length', c.require_secret('secret').apply(len))\n"
            "pulumi.export('dry_run', pulumi.runtime.is_dry_run())\n"
            "pulumi.export('where', pulumi.get_organization() + '/' + pulumi.get_project()"
            " + '/' + pulumi.get_stack())\n"
            "pulumi.export('root', pulumi.runtime.get_root_directory())\n"
        }
    )
    project.pulumi("config", "set", "plain", "5")
    project.pulumi("config", "set", "--secret", "secret", "hush-hush")

    exit_code, output = project.pulumi("up", "--yes", "--skip-preview")
    _, outputs = project.pulumi("stack", "output", "--json", "--show-secrets")

    assert exit_code == 0
    assert "hush-hush" not in output
    assert json.loads(outputs) == {
        "plain": "5",
        "secret": "hush-hush",
        "length": 9,
        "dry_run": False,
        "where": "organization/p/dev",
        "root": str(project.folder),
    }
    state = (project.folder.parent / "state").rglob("dev.json")
    assert all("hush-hush" not in path.read_text("utf-8") for path in state)


def test_what_the_program_prints_is_shown(make_project: MakeProject) -> None:
    project = make_project(
        {"__main__.py": "import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\n"}
    )

    _, output = project.pulumi("preview")

    assert sorted(diagnostics(output)) == ["to stderr", "to stdout"]


def test_an_exception_shows_the_programs_own_traceback_once(make_project: MakeProject) -> None:
    project = make_project({"__main__.py": "def f():\n    raise ValueError('bad value')\n\nf()\n"})

    exit_code, output = project.pulumi("preview")

    main = project.folder / "__main__.py"
    assert exit_code == 1
    assert diagnostics(output) == [
        "error: Program failed with an unhandled exception:",
        "Traceback (most recent call last):",
        f'File "{main}", line 4, in <module>',
        "f()",
        f'File "{main}", line 2, in f',
        "raise ValueError('bad value')",
        "ValueError: bad value",
    ]


def test_an_exception_in_an_apply_is_shown_and_fails(make_project: MakeProject) -> None:
    project = make_project(
        {
            "__main__.py": "import pulumi\n"
            "pulumi.export('x', pulumi.Output.from_input(1).apply(lambda n: n / 0))\n"
        }
    )

    exit_code, output = project.pulumi("preview")

    assert exit_code == 1
    assert diagnostics(output)[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(
            "import pulumi\nraise pulumi.RunError('only this')",
            ["error: only this"],
            id="run-error",
        ),
        pytest.param(
            "import sys\nsys.exit(3)",
            ["error: an unhandled error occurred: Program exited with non-zero exit code: 3"],
            id="exit-code",
        ),
        pytest.param(
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            ["error: an unhandled error occurred: Program was ended by SIGKILL"],
            id="killed",
        ),
    ],
)
def test_a_failing_program_is_one_line(
    make_project: MakeProject, program: str, expected: list[str]
) -> None:
    exit_code, output = make_project({"__main__.py": program}).pulumi("preview")

    assert exit_code == 1
    assert diagnostics(output) == expected


def test_a_missing_program_is_one_line(make_project: MakeProject) -> None:
    project = make_project({})

    exit_code, output = project.pulumi("preview")

    assert exit_code == 1
    assert diagnostics(output) == [
        f"error: {project.folder / '__main__.py'}: no such program; "
        "add it or correct `main` in Pulumi.yaml"
    ]


def test_a_missing_virtual_environment_is_one_line(make_project: MakeProject) -> None:
    project = make_project(
        {
            "__main__.py": "",
            "Pulumi.yaml": "name: p\nruntime: {name: python, options: {virtualenv: env}}\n",
        }
    )

    exit_code, output = project.pulumi("preview")

    env = project.folder / "env"
    assert exit_code == 1
    assert diagnostics(output) == [
        f"error: runtime.options.virtualenv: env has no Python ({env}/bin/python); "
        f"make it with `python3 -m venv {env}` and install the requirements there"
    ]


def test_a_virtual_environment_without_the_sdk_is_one_line(make_project: MakeProject) -> None:
    project = make_project(
        {
            "__main__.py": "",
            "Pulumi.yaml": "name: p\nruntime: {name: python, options: {virtualenv: env}}\n",
        }
    )
    env = project.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)

    exit_code, output = project.pulumi("preview")

    assert exit_code == 1
    assert diagnostics(output) == [
        f"{env}/bin/python: cannot import the Pulumi SDK (No module named 'pulumi'); install it "
        "there, or name the environment that has it under runtime.options.virtualenv"
    ]


@pytest.mark.parametrize(
    ("main", "file"),
    [
        pytest.param("sub", "sub/__main__.py", id="folder"),
        pytest.param("sub/it.py", "sub/it.py", id="file"),
    ],
)
def test_main_names_another_program(make_project: MakeProject, main: str, file: str) -> None:
    project = make_project(
        {
            "Pulumi.yaml": f"name: p\nruntime: python\nmain: {main}\n",
            file: "import os\nfrom beside import WORD\nprint(WORD, os.getcwd(), __name__)\n",
            "sub/beside.py": "WORD = 'found'\n",
        }
    )

    exit_code, output = project.pulumi("preview")

    assert exit_code == 0
    assert diagnostics(output) == [f"found {project.folder / 'sub'} __main__"]


@pytest.mark.parametrize(
    "waits",
    [
        pytest.param("time.sleep(600)", id="main-thread"),
        pytest.param(
            "import pulumi\npulumi.Output.from_input(1).apply(lambda n: time.sleep(600))",
            id="in-an-apply",
        ),
        pytest.param(
            "import asyncio, pulumi\n"
            "async def wait():\n    await asyncio.sleep(600)\n"
            "pulumi.export('x', pulumi.Output.from_input(wait()))",
            id="outstanding-output",
        ),
    ],
)
def test_ctrl_c_ends_program_host_and_engine(make_project: MakeProject, waits: str) -> None:
    project = make_project({"__main__.py": REPORT_PIDS + waits})
    process = project.start("preview")
    pids = wait_for_pids(project, process)

    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 1
    assert end_of(pids) == []
    assert "Traceback" not in output
    assert diagnostics(output) == ["error: preview canceled"]


def test_an_engine_that_is_killed_takes_host_and_program_with_it(
    make_project: MakeProject,
) -> None:
    project = make_project({"__main__.py": REPORT_PIDS + "time.sleep(600)"})
    process = project.start("preview")
    pids = wait_for_pids(project, process)

    process.kill()
    process.communicate(timeout=60)

    assert end_of(pids) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param('["good"]', 0, id="passes"),
        pytest.param('["good", "bad"]', 1, id="violates"),
    ],
)
def test_a_policy_pack_judges_and_ends(
    make_project: MakeProject, names: str, expected: int
) -> None:
    project = make_project(
        {
            "__main__.py": COMPONENTS.replace("NAMES", names),
            "pack/PulumiPolicy.yaml": "runtime: python\n",
            "pack/__main__.py": PACK,
        }
    )

    exit_code, output = project.pulumi("preview", "--policy-pack", "pack")

    pids = (project.folder / "pack" / "pids").read_text("utf-8").split()
    assert exit_code == expected
    assert output.count("it is called bad") == expected
    assert end_of([int(pid) for pid in pids]) == []


def test_a_policy_pack_without_its_virtual_environment_is_one_line(
    make_project: MakeProject,
) -> None:
    options = "runtime: {name: python, options: {virtualenv: env}}\n"
    project = make_project(
        {"__main__.py": "", "pack/PulumiPolicy.yaml": options, "pack/__main__.py": ""}
    )

    exit_code, output = project.pulumi("preview", "--policy-pack", "pack")

    assert exit_code == 1
    assert "runtime.options.virtualenv: env has no Python" in output
    assert "Traceback" not in output


def test_a_component_provider_in_python_is_served(make_project: MakeProject) -> None:
    project = make_project(
        {"things/PulumiPlugin.yaml": "runtime: python\n", "things/__main__.py": PROVIDER}
    )

    exit_code, output = project.pulumi("package", "get-schema", "./things")

    assert exit_code == 0, output
    thing = json.loads(output)["resources"]["things:index:Thing"]
    assert thing["requiredInputs"] == ["size"]
