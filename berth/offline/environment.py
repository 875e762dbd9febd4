"""The environment in which a run offline keeps to itself: backend, home and passphrase."""

from pathlib import Path
from typing import Final

from berth.offline.providers import OfflineProviders

PASSPHRASE: Final = "berth-offline"  # noqa: S105  # opens pretended stacks only
DEFAULT_STATE_DIR: Final = Path(".berth/offline")


def offline_environment(
    state_dir: Path, providers: OfflineProviders | None = None
) -> dict[str, str]:
    """What to add to the environment of a program that runs the engine offline.

    Args:
        state_dir: Where backend and home go; made if it is not there.
        providers: Running ones to attach; left out, none are.
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
        # a stack file without the salt that a run added is still the same stack
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    if providers is not None:
        environment["PULUMI_DEBUG_PROVIDERS"] = providers.debug_providers
    return environment
