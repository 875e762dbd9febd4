"""Points in time as people read them."""

from datetime import datetime, timedelta


def moment_words(moment: datetime) -> str:
    """To the minute, such as `2026-11-20 11:30 UTC`; another zone as its offset."""
    if moment.utcoffset() == timedelta(0):
        return f"{moment:%Y-%m-%d %H:%M} UTC"
    return moment.isoformat(" ", "minutes")
