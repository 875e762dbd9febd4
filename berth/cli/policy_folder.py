"""`berth policies pack`: the folder of the policy pack, for another repository or to publish."""

import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "berth-gpu"
VIRTUAL_ENVIRONMENT: Final = "venv"
"""Inside the folder: Pulumi installs each version of a published pack beside the others."""

_SETTINGS: Final = """\
description: Known mistakes of GPU inference on Kubernetes, each with the value that fixes it
version: {version}
runtime:
  name: python
  options:
    virtualenv: {environment}
"""
_PROGRAM: Final = '''\
"""The policy pack. It serves until the engine ends it, so nothing may import this module."""

from pulumi_policy import PolicyPack

from berth.policy_pack.analyzer import install
from berth.policy_pack.policies import make_policies
from berth.rules.registry import RULES

install()
PolicyPack(
    name="berth",
    description="Known mistakes of GPU inference on Kubernetes, each with the value that fixes it",
    policies=make_policies(RULES),
)
'''


def pack_files(requirement: str | None = None) -> Mapping[str, str]:
    """The files of the pack, by name.

    Args:
        requirement: what pip installs the rules from; the release that runs where it is None.
    """
    release = version(DISTRIBUTION)
    needed = requirement or f"{DISTRIBUTION}[pulumi]=={release}"
    return {
        "PulumiPolicy.yaml": _SETTINGS.format(version=release, environment=VIRTUAL_ENVIRONMENT),
        "__main__.py": _PROGRAM,
        "requirements.txt": f"{needed}\n",
        ".gitignore": f"{VIRTUAL_ENVIRONMENT}/\n__pycache__/\n",
    }


def write_pack(folder: Path, requirement: str | None, *, as_json: bool) -> int:
    """Write the files into a folder that is new or empty; 2 if it is neither."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        problem = f"{folder}: not empty; name a folder that is new"
        print(f"berth policies pack: {problem}", file=sys.stderr)
        return 2
    if requirement is not None and (not requirement.strip() or "\n" in requirement):
        problem = "--requirement: no requirement of pip; give one line, as in requirements.txt"
        print(f"berth policies pack: {problem}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    files = pack_files(requirement)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    if as_json:
        print(json.dumps({"folder": str(folder), "files": sorted(files)}, indent=2))
    else:
        print(f"{folder}: next `pulumi policy install` in it, then `--policy-pack {folder}`")
    return 0
