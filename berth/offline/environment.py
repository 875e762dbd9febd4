"""The environment in which a run offline keeps to itself: backend, home and passphrase of its own."""

from pathlib import Path
from typing import Final

PASSPHRASE: Final = "berth-offline"  # noqa: S105  # opens pretended stacks only
DEFAULT_STATE_DIR: Final = Path(".berth/offline")


def offline_environment(state_dir: Path, debug_providers: str = "") -> dict[str, str]:
    """What to add to the environment of a program that runs the engine offline.

    Args:
        state_dir: Where backend and home go; made if it is not there.
        debug_providers: `OfflineProviders.debug_providers`; left out, no providers are attached.
    """
    folder = state_dir.resolve()
    backend = folder / "backend"
    home = folder / "home"
    for path in (backend, home):
        path.mkdir(parents=True, exist_ok=True)
    environment = {
        "PULUMI_BACKEND_URL": backend.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_CONFIG_PASSPHRASE_FILE": "",
        "PULUMI_ACCESS_TOKEN": "",
        "PULUMI_HOME": str(home),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    if debug_providers:
        environment["PULUMI_DEBUG_PROVIDERS"] = debug_providers
    return environment
