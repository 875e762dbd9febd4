"""The environment in which the Pulumi CLI is started."""

import os

from berth.engine.tools.program import Program


def engine_environment(program: Program, *, offline: bool = False) -> dict[str, str]:
    """What to add to the environment of a process that runs the Pulumi CLI.

    `PULUMI_HOME` is the caller's business: a run that must leave the home folder alone sets it.

    Args:
        program: Pulumi's CLI, from `find_or_make("pulumi")`.
        offline: Whether nothing may be fetched. A CLI without a language host of its own fetches
            no plugin either way, because our host does not say which ones a program needs.
    """
    path = os.environ.get("PATH", os.defpath)
    if program.origin != "path":
        path = f"{program.path.parent}{os.pathsep}{path}"
    environment = {"PATH": path, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    if offline or not program.language_host:
        environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
    return environment
