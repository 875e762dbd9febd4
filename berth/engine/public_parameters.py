"""Parameters that AWS publishes in Systems Manager, on machines that reach it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from berth.planner.account_words import unread

ACTION: Final = "ssm:GetParameters"
NAMES_PER_REQUEST: Final = 10
"""Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html"""
CONNECT_S: Final = 4
READ_S: Final = 8
ATTEMPTS: Final = 2


class ParametersUnreadError(RuntimeError):
    """The parameters could not be read; the text is one line with the reason and what to do."""


def read_parameters(region: str, names: Sequence[str]) -> Mapping[str, str]:
    """Values by name, of the names that there are.

    Credentials and endpoints are those of the AWS CLI. A time-out takes seconds.

    Raises:
        ParametersUnreadError: if AWS cannot be asked or refuses.
        ModuleNotFoundError: without botocore.
    """
    import botocore.session  # an extra of the package, wanted by this one command
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    found: dict[str, str] = {}
    try:
        client: Any = botocore.session.get_session().create_client(
            "ssm",
            region_name=region,
            config=Config(
                connect_timeout=CONNECT_S,
                read_timeout=READ_S,
                retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
            ),
        )
        for start in range(0, len(names), NAMES_PER_REQUEST):
            batch = list(names[start : start + NAMES_PER_REQUEST])
            answer = client.get_parameters(Names=batch)
            found |= {each["Name"]: each["Value"] for each in answer.get("Parameters", ())}
    except (BotoCoreError, ClientError) as error:
        raise ParametersUnreadError(f"{region}: {unread(str(error), ACTION)}") from None
    return found
