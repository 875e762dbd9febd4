"""Why an account could not be asked, in plain words, from what AWS or a client of it says."""

import re
from dataclasses import dataclass
from typing import Final

from berth.config.problems import one_line

LONGEST_UNKNOWN: Final = 160
"""Characters of a text that is not recognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Why something was not read, and what to change."""

    reason: str
    fix: str
    credentials: bool = False
    """Nothing can be done with these credentials, whatever is asked."""

    def __str__(self) -> str:
        """As part of a sentence, after a colon."""
        return f"{self.reason}; {self.fix}"


OFFLINE: Final = Unread(reason="offline nothing is read", fix="run with credentials of the account")
"""What the stand-in provider says of what it does not pretend."""

_LOG_IN: Final = "log in again (`aws sso login`), or renew the session token"
_KNOWN: Final = (
    (r"no answer offline", OFFLINE),
    (
        r"ExpiredToken|RequestExpired|TokenRefreshRequired|(token|session|sso).{0,60}expired",
        Unread(reason="the credentials have expired", fix=_LOG_IN, credentials=True),
    ),
    (
        r"no valid credential sources|NoCredential|unable to locate credentials|partial credentials"
        r"|no EC2 IMDS role|failed to refresh cached credentials|config profile .* not be found",
        Unread(
            reason="no AWS credentials were found",
            fix="set AWS_PROFILE, or log in (`aws sso login`)",
            credentials=True,
        ),
    ),
    (
        r"InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|AuthFailure"
        r"|InvalidAccessKeyId|IncompleteSignature|InvalidSignature",
        Unread(
            reason="AWS does not accept the credentials",
            fix="check AWS_PROFILE, the keys and the clock of this machine",
            credentials=True,
        ),
    ),
    (
        r"OptInRequired",
        Unread(
            reason="the account has not enabled the region or the service",
            fix="enable it in the account, or change aws:region",
        ),
    ),
    (
        r"invalid AWS region|must specify a region|missing region|NoRegion|MissingRegion",
        Unread(reason="no region is set", fix="set aws:region"),
    ),
    (
        r"NotFound|NoSuchResource|does not exist|no matching|couldn't find resource",
        Unread(reason="it does not exist in this account and region", fix="check its name"),
    ),
    (
        r"Throttl|RequestLimitExceeded|TooManyRequests|SlowDown|rate exceeded",
        Unread(reason="AWS asks to slow down", fix="run it again in a minute"),
    ),
    (
        r"deadline exceeded|timed? ?out|timeout",
        Unread(
            reason="AWS does not answer in time",
            fix="check the network and the proxy of this machine, or run it again",
        ),
    ),
    (
        r"no such host|connection refused|could not connect|dial tcp|unreachable|name resolution",
        Unread(
            reason="AWS cannot be reached from here",
            fix="check the network and the proxy of this machine",
        ),
    ),
)
"""First match wins. Codes: https://docs.aws.amazon.com/IAM/latest/UserGuide/CommonErrors.html and
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (checked 2026-12-01)."""

_DENIED: Final = re.compile(r"AccessDenied|UnauthorizedOperation|not authorized to perform", re.I)
_ACTION: Final = re.compile(r"not authorized to perform:? ([a-z0-9-]+:\w+)", re.I)
_NOISE: Final = re.compile(r"(?:RequestID|request id|api error|operation error)[:\s]\s*", re.I)


def unread(text: str, action: str) -> Unread:
    """What `text`, the words of an error, comes to.

    Args:
        text: of the provider, the SDK or AWS itself; credentials never stand in it.
        action: what was asked, as IAM calls it, such as `ec2:DescribeAvailabilityZones`.
    """
    if _DENIED.search(text):
        named = _ACTION.search(text)
        denied = named.group(1) if named else action
        return Unread(reason=f"{denied} is denied", fix="allow it to the role that runs this")
    for pattern, known in _KNOWN:
        if re.search(pattern, text, re.I | re.S):
            return known
    words = _NOISE.sub("", one_line(" ".join(text.split())))
    if len(words) > LONGEST_UNKNOWN:
        words = f"{words[:LONGEST_UNKNOWN]}..."
    return Unread(reason=f"AWS refuses {action} ({words})", fix="see what it names")
