"""One comment per stack, against a stand-in of both platforms."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from berth.comment import gitlab
from berth.comment.github import GitHub
from berth.comment.gitlab import GitLab
from berth.comment.platform import Platform
from berth.comment.post import Mode, post
from berth.comment.web import ATTEMPTS, PlatformError, Web
from tests.unit.comment import stand_in
from tests.unit.comment.stand_in import TOKEN, Failure

TAG = "<!-- berth-comment cost/h100-prod -->"
OURS = f"{TAG}\n\nwhat it cost before"
NOW = f"{TAG}\n\nwhat it costs now"
OTHERS = "<!-- berth-comment cost/l4-dev -->\n\nof another stack"
QUOTED = f"I read this:\n{TAG}"

Make = Callable[..., Platform]


@pytest.fixture
def served() -> Iterator[stand_in.Platform]:
    with stand_in.serving() as platform:
        yield platform


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture(params=["github", "gitlab"])
def platform(
    request: pytest.FixtureRequest, served: stand_in.Platform, waited: list[float]
) -> Platform:
    def web(base: str, headers: dict[str, str]) -> Web:
        return Web(
            base=base,
            headers=headers,
            token_variable="A_TOKEN",
            timeout_s=0.1,
            sleep=waited.append,
        )

    if request.param == "gitlab":
        return GitLab(
            web=web(served.base, {"PRIVATE-TOKEN": TOKEN}), project="acme/platform", number=7
        )
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    return GitHub(
        web=web(served.base, bearer),
        graphql=web(f"{served.base}/graphql", bearer),
        repository="acme/platform",
        number=7,
    )


def bodies(served: stand_in.Platform) -> list[str]:
    return list(served.comments.values())


@pytest.mark.parametrize("mode", ["update", "new", "hide-and-new", "delete-and-new"])
def test_the_first_comment_is_new_in_every_mode(
    platform: Platform, served: stand_in.Platform, mode: Mode
) -> None:
    served.add("hello")

    said = post(platform, TAG, NOW, mode)

    assert said.startswith("created: ")
    assert bodies(served) == ["hello", NOW]


def with_earlier(served: stand_in.Platform) -> None:
    """Ours is on the third page, behind another stack's and somebody's quotation."""
    for body in (OTHERS, QUOTED, "a", "b", OURS, "c"):
        served.add(body)


def test_update_changes_ours_and_no_other(platform: Platform, served: stand_in.Platform) -> None:
    with_earlier(served)

    said = post(platform, TAG, NOW, "update")

    assert said.startswith("updated: ")
    assert bodies(served) == [OTHERS, QUOTED, "a", "b", NOW, "c"]


def test_new_leaves_the_earlier_one(platform: Platform, served: stand_in.Platform) -> None:
    with_earlier(served)

    post(platform, TAG, NOW, "new")

    assert bodies(served) == [OTHERS, QUOTED, "a", "b", OURS, "c", NOW]


def test_delete_and_new(platform: Platform, served: stand_in.Platform) -> None:
    with_earlier(served)

    post(platform, TAG, NOW, "delete-and-new")

    assert bodies(served) == [OTHERS, QUOTED, "a", "b", "c", NOW]


def test_hide_and_new_folds_the_earlier_one_once(
    platform: Platform, served: stand_in.Platform
) -> None:
    with_earlier(served)

    post(platform, TAG, NOW, "hide-and-new")
    post(platform, TAG, NOW.replace("now", "later"), "hide-and-new")

    folded, _, again, _ = bodies(served)[4:]
    assert not folded.startswith(TAG)
    assert folded.count("what it cost before") == 1
    assert not again.startswith(TAG)
    if isinstance(platform, GitHub):
        assert served.hidden == ["node-105", "node-107"]
    else:
        assert folded.startswith(gitlab.OUTDATED)


@pytest.mark.parametrize("mode", ["update", "hide-and-new", "delete-and-new"])
def test_what_says_the_same_is_left_as_it_is(
    platform: Platform, served: stand_in.Platform, mode: Mode
) -> None:
    served.add(NOW)

    said = post(platform, TAG, NOW, mode)

    assert said.startswith("left as it is")
    assert bodies(served) == [NOW]
    assert all(each.startswith("GET ") for each in served.asked)


def test_nothing_is_said_first_where_nothing_changed(
    platform: Platform, served: stand_in.Platform
) -> None:
    assert post(platform, TAG, NOW, "update", skip_new=True).startswith("skipped")
    assert bodies(served) == []


def test_what_changed_back_is_still_corrected(
    platform: Platform, served: stand_in.Platform
) -> None:
    served.add(OURS)

    post(platform, TAG, NOW, "update", skip_new=True)

    assert bodies(served) == [NOW]


def test_a_comment_that_went_meanwhile_is_made_again(
    platform: Platform, served: stand_in.Platform
) -> None:
    served.add(OURS)
    served.failures = [Failure("PATCH", 404), Failure("PUT", 404)]

    assert post(platform, TAG, NOW, "update").startswith("created")


@pytest.mark.parametrize(
    ("failure", "wait_s"),
    [
        pytest.param({"code": 429, "headers": {"retry-after": "7"}}, 7.0, id="too-many"),
        pytest.param({"code": 503}, 1.0, id="unavailable"),
        pytest.param({"code": 403, "headers": {"retry-after": "3"}}, 3.0, id="second-limit"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_platform_that_asks_for_patience_gets_it(
    platform: Platform,
    served: stand_in.Platform,
    waited: list[float],
    method: str,
    failure: dict[str, Any],
    wait_s: float,
) -> None:
    served.failures = [Failure(method, **failure)]

    post(platform, TAG, NOW, "update")

    assert waited == [wait_s]
    assert bodies(served) == [NOW]


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param({"code": 502, "does_it": True}, id="done-behind-a-502"),
        pytest.param({"hangs": True, "does_it": True}, id="done-without-an-answer"),
        pytest.param({"code": 500}, id="not-done"),
    ],
)
def test_no_comment_is_made_twice(
    platform: Platform, served: stand_in.Platform, failure: dict[str, Any]
) -> None:
    served.failures = [Failure("POST", **failure)]

    post(platform, TAG, NOW, "update")

    assert bodies(served) == [NOW]


def test_a_failure_leaves_the_earlier_comment(
    platform: Platform, served: stand_in.Platform
) -> None:
    served.add(OURS)
    served.failures = [Failure("POST", 422, message="body is too long")]

    with pytest.raises(PlatformError, match=r"answered 422 \(body is too long\)"):
        post(platform, TAG, NOW, "delete-and-new")
    assert bodies(served) == [OURS]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (401, "the token is not accepted; make a new one and set A_TOKEN"),
        (403, "the token may not do this; give it the right to write comments"),
        (404, "no such project or request, or the token may not see it"),
        (301, "it sends elsewhere, where the token does not go"),
    ],
)
def test_a_refusal_says_what_to_change(
    platform: Platform, served: stand_in.Platform, code: int, text: str
) -> None:
    served.failures = [
        Failure("GET", code, headers={"location": "http://127.0.0.1:9/"}, message=f"no {TOKEN}")
    ]

    with pytest.raises(PlatformError) as refused:
        post(platform, TAG, NOW, "update")

    assert f"answered {code}" in str(refused.value)
    assert text in str(refused.value)
    assert TOKEN not in str(refused.value)


def test_a_platform_that_never_answers_is_given_up(
    platform: Platform, served: stand_in.Platform, waited: list[float]
) -> None:
    served.failures = [Failure("GET", hangs=True) for _ in range(ATTEMPTS)]

    with pytest.raises(PlatformError, match=r"no answer within 0\.1 s"):
        post(platform, TAG, NOW, "update")
    assert waited == [1.0, 2.0, 4.0]


def test_a_platform_that_asks_for_an_hour_is_not_waited_for(
    platform: Platform, served: stand_in.Platform, waited: list[float]
) -> None:
    served.failures = [Failure("GET", 429, headers={"retry-after": "3600"})]

    with pytest.raises(PlatformError, match="run it again later"):
        post(platform, TAG, NOW, "update")
    assert waited == []
