"""Notes of a merge request on GitLab, by its REST API.

Source: https://docs.gitlab.com/api/notes/#merge-requests
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from berth.comment.platform import Comment
from berth.comment.web import GoneError, PlatformError, Web

MOST_CHARACTERS: Final = 1_000_000
"""Of a note, as the API's reference says."""
_PAGE: Final = 100
OUTDATED: Final = "<details><summary>Outdated</summary>"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLab:
    """One merge request."""

    web: Web
    project: str
    """Its number, or its path such as group/name."""
    number: int
    """The number within the project (`iid`)."""
    most_characters: int = MOST_CHARACTERS

    def comments(self, tag: str) -> list[Comment]:
        """Those that begin with `tag`, oldest first, of all pages."""
        return [each for each in self._all() if each.body.startswith(tag)]

    def create(self, body: str) -> Comment:
        """Add one."""
        return _comment(self.web.ask("POST", self._notes, {"body": body}, once=True).body)

    def update(self, comment: Comment, body: str) -> Comment:
        """Give one another text."""
        return _comment(self.web.ask("PUT", f"{self._notes}/{comment.id}", {"body": body}).body)

    def hide(self, comment: Comment) -> None:
        """GitLab hides no note, so its text is folded, and its tag goes below the fold."""
        self.update(comment, f"{OUTDATED}\n\n{comment.body}\n\n</details>")

    def delete(self, comment: Comment) -> None:
        """Remove one; one that is gone already is no error."""
        with suppress(GoneError):
            self.web.ask("DELETE", f"{self._notes}/{comment.id}")

    @property
    def _notes(self) -> str:
        return f"/projects/{quote(self.project, safe='')}/merge_requests/{self.number}/notes"

    def _all(self) -> Iterator[Comment]:
        page = "1"
        while page:
            path = f"{self._notes}?sort=asc&order_by=created_at&per_page={_PAGE}&page={page}"
            answer = self.web.ask("GET", path)
            if not isinstance(answer.body, list):
                raise PlatformError(f"{self._notes}: answers no list; check the address")
            yield from map(_comment, answer.body)
            page = answer.headers.get("x-next-page", "")


def _comment(found: Any) -> Comment:
    if not isinstance(found, dict) or "id" not in found:
        raise PlatformError("a note: the platform answers something else; check the address")
    return Comment(id=str(found["id"]), body=str(found.get("body") or ""))
