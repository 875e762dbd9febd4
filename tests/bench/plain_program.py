"""Writes the program that declares a preview's resources by hand: no components, no plan.

It is written from the preview itself, so that both sides of the comparison declare the same.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from pprint import pformat
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
HEADER = '''"""The resources of one stack, declared one by one."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

'''


def write_plain_program(preview: Mapping[str, Any], folder: Path) -> int:
    """Write `__main__.py` to `folder`.

    Args:
        preview: what `pulumi preview --json` printed.
        folder: must exist.

    Returns:
        How many resources it declares, the stack itself and providers left out.
    """
    states = [step["newState"] for step in preview["steps"]]
    ours = [state for state in states if state.get("custom") and not _is_provider(state)]
    names = {state["urn"]: f"r{index}" for index, state in enumerate(states)}
    statements = [_provider(state, names) for state in states if _is_explicit_provider(state)]
    statements += [_declaration(state, names) for state in _in_order(ours)]
    (folder / "__main__.py").write_text(HEADER + "\n".join(statements) + "\n", encoding="utf-8")
    return len(ours)


def _is_provider(state: Mapping[str, Any]) -> bool:
    return str(state["type"]).startswith("pulumi:providers:")


def _is_explicit_provider(state: Mapping[str, Any]) -> bool:
    return _is_provider(state) and not state["urn"].rsplit("::", 1)[1].startswith("default")


def _provider(state: Mapping[str, Any], names: Mapping[str, str]) -> str:
    package = state["type"].rsplit(":", 1)[1]
    arguments = "region='us-east-1'" if package == "aws" else "kubeconfig='{}'"
    return f"{names[state['urn']]} = {package}.Provider({_name(state)!r}, {arguments})"


def _in_order(states: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each after those it needs; names are unique in the stack, whatever the component."""
    done: dict[str, Mapping[str, Any]] = {}
    known = {state["urn"]: state for state in states}

    def add(state: Mapping[str, Any]) -> None:
        if state["urn"] in done:
            return
        for urn in state.get("dependencies") or ():
            if urn in known:
                add(known[urn])
        done[state["urn"]] = state

    for state in states:
        add(state)
    return list(done.values())


def _declaration(state: Mapping[str, Any], names: Mapping[str, str]) -> str:
    needed = state.get("propertyDependencies") or {}
    filled_in = {*state["inputs"].get("__defaults", ()), "tagsAll", "apiVersion", "kind"}
    arguments = []
    for key, value in state["inputs"].items():
        if key.startswith("__") or key in filled_in:
            continue
        sources = [names[urn] for urn in needed.get(key, ()) if urn in names]
        arguments.append(f"    {_snake(key)}={_literal(value, sources)},")
    provider = state.get("provider", "").rsplit("::", 1)[0]
    options = f"    opts=pulumi.ResourceOptions(provider={names[provider]}),"
    lines = "\n".join([*arguments, options])
    return f"{names[state['urn']]} = {_class(state['type'])}(\n    {_name(state)!r},\n{lines}\n)"


def _literal(value: Any, sources: list[str]) -> str:
    """Python text of a value; what is known after `up` becomes the output it comes from."""
    text = pformat(value, width=200)
    if UNKNOWN in json.dumps(value):
        source = f"{sources[0]}.id" if sources else "pulumi.Output.from_input('')"
        text = re.sub(rf"'[^']*{UNKNOWN}[^']*'", source, text)
    return text


def _class(token: str) -> str:
    """`aws:ec2/vpc:Vpc` and `kubernetes:apps/v1:Deployment` as the SDKs name them."""
    package, module, name = token.split(":")
    parts = module.split("/")
    if package == "aws":
        return f"aws.{parts[0]}.{name}"
    group = parts[0].removesuffix(".k8s.io").removesuffix(".sh").split(".")[0]
    return f"kubernetes.{group}.{parts[1]}.{name}"


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()


def _name(state: Mapping[str, Any]) -> str:
    return str(state["urn"].rsplit("::", 1)[1])
