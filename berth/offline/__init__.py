"""Stand-in aws and kubernetes providers: preview and up without an account or a cluster."""

from berth.offline.cloud import Cloud
from berth.offline.environment import offline_environment
from berth.offline.providers import OfflineProviders

__all__ = ["Cloud", "OfflineProviders", "offline_environment"]
