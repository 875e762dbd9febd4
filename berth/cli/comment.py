"""`berth comment`: what a change costs as a comment of its pull or merge request."""

import argparse
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from berth.cli.cost_inputs import content, shown_name
from berth.comment.content import Content, content_of
from berth.comment.github import GitHub
from berth.comment.gitlab import GitLab
from berth.comment.html import html_page
from berth.comment.markdown import hidden_tag, markdown
from berth.comment.platform import Platform
from berth.comment.post import MODES, post
from berth.comment.report import ReportError, StackReport, read_reports
from berth.comment.text import text_page
from berth.comment.web import PlatformError, Web
from berth.costs.resources.documents import DocumentError

FORMATS: Final = ("markdown", "html", "text", "json")
FOLDING_CHARACTERS: Final = 100
"""Left free in a comment, for what folds it one day."""
_PAGE_CHARACTERS: Final = 1_000_000_000
"""Of what is printed instead of posted."""


class _UsageError(ValueError):
    """The command line and the environment do not say enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posted:
    """One stack and what was done about its comment."""

    report: StackReport
    content: Content
    done: str


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the subcommand and its options."""
    parser = subparsers.add_parser(
        "comment",
        help="post what a change costs to its pull or merge request",
        description="Renders the JSON of `berth cost diff`, one comment per stack, and posts it "
        "with the token in GITHUB_TOKEN or GITLAB_TOKEN. Ends with 1 if a limit or policy refuses.",
    )
    parser.add_argument(
        "file", metavar="DIFF", help="`berth cost diff --json`; - is standard input"
    )
    parser.add_argument(
        "--preview",
        action="append",
        default=[],
        metavar="FILE",
        help="`berth preview --json` of a stack in DIFF, for policies and whether it can start; "
        "may be repeated",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--github", action="store_true", help="post to a pull request")
    where.add_argument("--gitlab", action="store_true", help="post to a merge request")
    parser.add_argument(
        "--repository", metavar="OWNER/NAME", help="left out: what the CI's own variables say"
    )
    parser.add_argument(
        "--number", type=int, metavar="N", help="of the request; left out: what CI says"
    )
    parser.add_argument(
        "--mode", choices=MODES, default="update", help="what becomes of earlier comments"
    )
    parser.add_argument(
        "--skip-unchanged",
        action="store_true",
        help="write no first comment where nothing that costs money is another",
    )
    parser.add_argument(
        "--tag", default="cost", help="tells several comments on one stack apart; hidden"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the comments, post nothing")
    parser.add_argument(
        "--format", choices=FORMATS, default="markdown", help="of what is printed, not posted"
    )
    parser.add_argument("--json", action="store_true", help="what was done as JSON")


def run(args: argparse.Namespace) -> int:
    """Render, and post where a platform is named; 1 refused by a limit or policy, 2 not done."""
    try:
        platform = _platform(args, os.environ)
        reports = _reports(args)
    except (_UsageError, DocumentError, ReportError) as error:
        print(
            error if not isinstance(error, _UsageError) else f"berth comment: {error}",
            file=sys.stderr,
        )
        return 2
    contents = [content_of(each) for each in reports]
    if platform is None or args.dry_run:
        print(_printed(args, reports, contents), end="")
        return int(any(each.refused for each in reports))
    most = platform.most_characters - FOLDING_CHARACTERS
    bodies = [markdown(each, args.tag, most) for each in contents]
    done: list[_Posted] = []
    for report, each, body in zip(reports, contents, bodies, strict=True):
        skip = args.skip_unchanged and report.is_unchanged and not report.refused
        try:
            said = post(platform, hidden_tag(each.stack, args.tag), body, args.mode, skip_new=skip)
        except PlatformError as error:
            print(f"{each.stack}: {error}", file=sys.stderr)
            return 2
        done.append(_Posted(report=report, content=each, done=said))
    _say(done, as_json=args.json)
    return int(any(each.refused for each in reports))


def _say(done: Sequence[_Posted], *, as_json: bool) -> None:
    if as_json:
        stacks = [
            {"stack": each.content.stack, "comment": each.done, "refused": each.report.refused}
            for each in done
        ]
        print(json.dumps({"stacks": stacks}, indent=2))
        return
    for each in done:
        print(f"{each.content.stack}: {each.done}")


def _reports(args: argparse.Namespace) -> list[StackReport]:
    names = (args.file, *args.preview)
    if names.count("-") > 1:
        raise _UsageError("standard input holds one document; give files for the others")
    previews = {shown_name(name): content(name) for name in args.preview}
    return read_reports(content(args.file), previews, shown_name(args.file))


def _printed(
    args: argparse.Namespace, reports: Sequence[StackReport], contents: Sequence[Content]
) -> str:
    if args.json or args.format == "json":
        stacks = [
            {
                "stack": each.stack,
                "headline": each.headline,
                "verdict": list(each.verdict),
                "refused": report.refused,
                "unchanged": report.is_unchanged,
                "body": markdown(each, args.tag, _PAGE_CHARACTERS),
            }
            for report, each in zip(reports, contents, strict=True)
        ]
        return json.dumps({"stacks": stacks}, indent=2) + "\n"
    if args.format == "html":
        return html_page(contents)
    if args.format == "text":
        return text_page(contents)
    return "\n\n".join(markdown(each, args.tag, _PAGE_CHARACTERS) for each in contents) + "\n"


def _platform(args: argparse.Namespace, environment: Mapping[str, str]) -> Platform | None:
    """Where to post; None: nowhere, only print."""
    if args.number is not None and args.number < 1:
        raise _UsageError(f"--number {args.number} is no number of a request; give 1 or more")
    if args.dry_run:
        return None
    if args.github:
        return _github(args, environment)
    return _gitlab(args, environment) if args.gitlab else None


def _github(args: argparse.Namespace, environment: Mapping[str, str]) -> Platform:
    token = _token("GITHUB_TOKEN", environment)
    repository = args.repository or environment.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise _UsageError(
            f"--repository {repository or 'is missing and'} is not OWNER/NAME; give one, such as "
            "acme/platform"
        )
    number = args.number or _number_of_pull_request(environment)
    if number is None:
        raise _UsageError(
            "--number is missing, and this run is of no pull request (GITHUB_REF, "
            "GITHUB_EVENT_PATH); give it"
        )
    base = environment.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    graphql = environment.get("GITHUB_GRAPHQL_URL", "").rstrip("/") or f"{base}/graphql"
    headers = {"Authorization": f"Bearer {token}", "X-GitHub-Api-Version": "2022-11-28"}

    def web(address: str) -> Web:
        return Web(base=_address(address), headers=headers, token_variable="GITHUB_TOKEN")  # noqa: S106

    return GitHub(web=web(base), graphql=web(graphql), repository=repository, number=number)


def _gitlab(args: argparse.Namespace, environment: Mapping[str, str]) -> Platform:
    token = _token("GITLAB_TOKEN", environment)
    project = (
        args.repository
        or environment.get("CI_MERGE_REQUEST_PROJECT_ID")
        or environment.get("CI_PROJECT_ID", "")
    )
    if not re.fullmatch(r"\d+|[\w.-]+(/[\w.-]+)+", project):
        raise _UsageError(
            f"--repository {project or 'is missing and'} is no project; give its number or its "
            "path, such as acme/platform"
        )
    stated = environment.get("CI_MERGE_REQUEST_IID", "")
    number = args.number or (int(stated) if stated.isdecimal() else None)
    if number is None:
        raise _UsageError(
            "--number is missing, and this job is of no merge request (CI_MERGE_REQUEST_IID); "
            "give it"
        )
    base = environment.get("CI_API_V4_URL", "https://gitlab.com/api/v4").rstrip("/")
    web = Web(
        base=_address(base),
        headers={"PRIVATE-TOKEN": token},
        token_variable="GITLAB_TOKEN",  # noqa: S106
    )
    return GitLab(web=web, project=project, number=number)


def _token(variable: str, environment: Mapping[str, str]) -> str:
    token = environment.get(variable, "").strip()
    if not token:
        raise _UsageError(f"{variable} is not set; put the token there, or use --dry-run")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise _UsageError(f"{variable} holds no token; a token is one word of plain characters")
    return token


def _address(base: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", base):
        raise _UsageError(f"{base[:200]} is no address of an API; begin it with https://")
    return base


def _number_of_pull_request(environment: Mapping[str, str]) -> int | None:
    ref = re.fullmatch(r"refs/pull/(\d+)/(merge|head)", environment.get("GITHUB_REF", ""))
    if ref:
        return int(ref[1])
    try:
        event: Any = json.loads(Path(environment.get("GITHUB_EVENT_PATH", "")).read_bytes())
    except (OSError, ValueError):
        return None
    request = event.get("pull_request") if isinstance(event, dict) else None
    number = request.get("number") if isinstance(request, dict) else None
    return number if isinstance(number, int) else None
