"""A project in a folder of its own: the author's program by links, a copy of the stack file."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Final

import yaml

from berth.engine.tools import find_or_make
from berth.offline.workspace import copy_workspace

OWN: Final = ("Pulumi.yaml", ".git", ".berth")
AWS_ANSWER: Final = """#!/bin/sh
cat <<'END'
{{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential",
  "status": {{"token": "{token}"}}}}
END
"""


def link_project(project_dir: Path, stack_file: Path, work_dir: Path) -> None:
    """Put Pulumi.yaml and the stack file into `work_dir`, the rest of the project as links.

    The plugins run in the program's folder, which is then this one.
    """
    copy_workspace(project_dir, stack_file, work_dir)
    project = yaml.safe_load((work_dir / "Pulumi.yaml").read_text("utf-8"))
    project.pop("main", None)
    (work_dir / "Pulumi.yaml").write_text(yaml.safe_dump(project), "utf-8")
    for entry in project_dir.iterdir():
        link = work_dir / entry.name
        if entry.name not in OWN and not link.exists():
            link.symlink_to(entry.resolve())


def use_kubeconfig(stack_file: Path, kubeconfig: Path) -> None:
    """Put the private cluster's kubeconfig in place of the stack's own, whose context it has."""
    document = yaml.load(stack_file.read_text("utf-8"), Loader=_TimesAsTexts)  # noqa: S506  a SafeLoader
    document["config"]["berth:cluster"]["kubeconfig"] = str(kubeconfig)
    stack_file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")


class _TimesAsTexts(yaml.SafeLoader):
    """Days and moments stay as the author wrote them."""


_TimesAsTexts.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in pairs if not tag.endswith(":timestamp")]
    for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def write_aws_answer(folder: Path, token: str) -> None:
    """A command `aws` that answers the one question of a kubeconfig's user: which token."""
    folder.mkdir()
    script = folder / "aws"
    script.touch(0o700)
    script.write_text(AWS_ANSWER.format(token=token), "utf-8")


def write_plugin(pulumi_home: Path, python: str, chart_map: Path) -> None:
    """Pulumi's Kubernetes plugin, at the version that the installed SDK asks for."""
    plugin = find_or_make("pulumi-resource-kubernetes")
    wanted = version("pulumi-kubernetes")
    folder = pulumi_home / "plugins" / f"resource-kubernetes-v{wanted}"
    folder.mkdir(parents=True)
    script = folder / "pulumi-resource-kubernetes"
    words = (python, "-P", "-m", "berth.rehearsal.chart_proxy", plugin.path, chart_map, wanted)
    command = " ".join(f"'{word}'" for word in words)
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    script.chmod(0o700)


def private_environment(folder: Path, kubeconfig: Path) -> dict[str, str]:
    """What keeps the files of kubectl, Helm and the providers in the rehearsal's folder."""
    temporary = folder / "tmp"  # Pulumi's Kubernetes plugin leaves copies of the kubeconfig there
    temporary.mkdir(exist_ok=True)
    path = os.environ.get("PATH", os.defpath)
    names = ("CACHE", "CONFIG", "DATA")
    helm = {f"HELM_{name}_HOME": str(folder / "helm" / name.lower()) for name in names}
    commands = os.pathsep.join((str(folder / "bin"), path))
    return {
        **helm,
        "KUBECONFIG": str(kubeconfig),
        "PATH": commands,
        "TMPDIR": str(temporary),
    }
