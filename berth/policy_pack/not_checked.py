"""What the pack could not judge yet, noted in a file.

The engine tells of a policy that was not applicable in its logs only, so `berth preview` names a
file in the environment that the pack writes to and the report is made from.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from berth.rules.finding import NotChecked

VARIABLE: Final = "BERTH_NOT_CHECKED"
"""Environment variable with the path of the file; without it nothing is noted."""


def note_not_checked(entries: Iterable[NotChecked]) -> None:
    """Add a line for each entry; a file that cannot be written to is no reason to fail."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    text = "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)  # one write, so that lines of several threads stay whole
    except OSError:
        return


def read_not_checked(path: Path) -> tuple[NotChecked, ...]:
    """The entries of such a file, each once, in order; none where there is no file."""
    if not path.is_file():
        return ()
    entries = {
        NotChecked(**json.loads(line)) for line in path.read_text("utf-8").splitlines() if line
    }
    return tuple(sorted(entries, key=lambda entry: (entry.kind, entry.resource, entry.field)))
