"""The comments of one pull or merge request, whichever platform has it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment of ours."""

    id: str
    body: str
    node_id: str = ""
    """By which GitHub hides it."""
    url: str = ""


class Platform(Protocol):
    """What a platform can do with comments."""

    @property
    def most_characters(self) -> int:
        """Of one comment."""

    def comments(self, tag: str) -> list[Comment]:
        """Those that begin with `tag`, oldest first."""

    def create(self, body: str) -> Comment:
        """Add one."""

    def update(self, comment: Comment, body: str) -> Comment:
        """Give one another text."""

    def hide(self, comment: Comment) -> None:
        """Fold one as outdated."""

    def delete(self, comment: Comment) -> None:
        """Remove one; one that is gone already is no error."""
