"""User data of launch templates as text."""

import base64
import binascii

from berth.rules.stack_view.field import Field


def decoded_user_data(template: Field) -> str:
    """The user data of a launch template, decoded where it is base64; empty without any.

    Raises:
        KnownAfterApplyError: if it is known after apply.
    """
    text = template.at("userData").text() or ""
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return text
