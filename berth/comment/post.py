"""One comment per stack: which earlier ones stay, change, fold or go."""

from typing import Literal, get_args

from berth.comment.platform import Comment, Platform
from berth.comment.web import GoneError, UncertainError

Mode = Literal["update", "new", "hide-and-new", "delete-and-new"]
MODES: tuple[Mode, ...] = get_args(Mode)


def post(platform: Platform, tag: str, body: str, mode: Mode, *, skip_new: bool = False) -> str:
    """Make `body` the comment with `tag`; returns what was done, for a log.

    A new comment is there before an old one folds or goes, so that a failure leaves the old one.

    Args:
        platform: of the request.
        tag: first line of `body`, by which earlier comments are found.
        body: the whole comment.
        mode: what becomes of earlier comments.
        skip_new: write nothing where there is no earlier comment: nothing has changed.

    Raises:
        PlatformError: if the platform refuses.
    """
    earlier = platform.comments(tag)
    if skip_new and not earlier:
        return "skipped: nothing changed, and no earlier comment says otherwise"
    if earlier and earlier[-1].body.strip() == body.strip() and mode != "new":
        return "left as it is: the comment says the same already"
    if mode == "update" and earlier:
        try:
            return _said("updated", platform.update(earlier[-1], body))
        except GoneError:
            pass  # deleted since it was listed
    comment = _created(platform, tag, body, {each.id for each in earlier})
    for each in earlier:
        if mode == "hide-and-new":
            platform.hide(each)
        elif mode == "delete-and-new":
            platform.delete(each)
    return _said("created", comment)


def _created(platform: Platform, tag: str, body: str, known: set[str]) -> Comment:
    """A new comment, never twice: where no answer came it is looked for first."""
    try:
        return platform.create(body)
    except UncertainError:
        made = [each for each in platform.comments(tag) if each.id not in known]
        if made:
            return made[-1]
        return platform.create(body)


def _said(what: str, comment: Comment) -> str:
    return f"{what}: {comment.url or f'comment {comment.id}'}"
