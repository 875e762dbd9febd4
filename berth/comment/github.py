"""Comments of a pull request on GitHub, by its REST API; hiding one needs its GraphQL API.

Source: https://docs.github.com/en/rest/issues/comments and
https://docs.github.com/en/graphql/reference/mutations#minimizecomment
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from berth.comment.platform import Comment
from berth.comment.web import GoneError, PlatformError, Web

MOST_CHARACTERS: Final = 65_536
"""Of a comment; GitHub refuses a longer one with 422."""
_PAGE: Final = 100
OUTDATED: Final = "<!-- outdated -->"
_HIDE: Final = (
    "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) "
    "{ minimizedComment { isMinimized } } }"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHub:
    """One pull request."""

    web: Web
    graphql: Web
    repository: str
    """OWNER/NAME."""
    number: int
    most_characters: int = MOST_CHARACTERS

    def comments(self, tag: str) -> list[Comment]:
        """Those that begin with `tag`, oldest first, of all pages."""
        return [each for each in self._all() if each.body.startswith(tag)]

    def create(self, body: str) -> Comment:
        """Add one."""
        return _comment(self.web.ask("POST", self._of_request, {"body": body}, once=True).body)

    def update(self, comment: Comment, body: str) -> Comment:
        """Give one another text."""
        path = f"/repos/{self.repository}/issues/comments/{comment.id}"
        return _comment(self.web.ask("PATCH", path, {"body": body}).body)

    def hide(self, comment: Comment) -> None:
        """Fold one as outdated, and give it another first line, so that it is not found again."""
        body = {"query": _HIDE, "variables": {"id": comment.node_id}}
        answer = self.graphql.ask("POST", "", body).body
        errors = answer.get("errors") if isinstance(answer, dict) else None
        if errors:
            said = errors[0].get("message", "") if isinstance(errors[0], dict) else ""
            raise PlatformError(
                f"comment {comment.id}: GitHub does not hide it ({str(said)[:200]}); "
                "use --mode delete-and-new"
            )
        self.update(comment, f"{OUTDATED}\n{comment.body}")

    def delete(self, comment: Comment) -> None:
        """Remove one; one that is gone already is no error."""
        with suppress(GoneError):
            self.web.ask("DELETE", f"/repos/{self.repository}/issues/comments/{comment.id}")

    @property
    def _of_request(self) -> str:
        return f"/repos/{self.repository}/issues/{self.number}/comments"

    def _all(self) -> Iterator[Comment]:
        page = 1
        while True:
            path = f"{self._of_request}?per_page={_PAGE}&page={page}"
            answer = self.web.ask("GET", path)
            if not isinstance(answer.body, list):
                raise PlatformError(f"{self._of_request}: answers no list; check the address")
            yield from map(_comment, answer.body)
            if 'rel="next"' not in answer.headers.get("link", "") and len(answer.body) < _PAGE:
                return
            if not answer.body:
                return
            page += 1


def _comment(found: Any) -> Comment:
    if not isinstance(found, dict) or "id" not in found:
        raise PlatformError("a comment: the platform answers something else; check the address")
    return Comment(
        id=str(found["id"]),
        body=str(found.get("body") or ""),
        node_id=str(found.get("node_id") or ""),
        url=str(found.get("html_url") or ""),
    )
