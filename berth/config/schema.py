"""The JSON schema of a whole stack file, for editors: completion, descriptions, valid values."""

import json
from typing import Any, Final

from berth.config.stack import HF_TOKEN_KEY, StackConfig

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_OF_OTHER_PROJECTS: Final = r"^(?!berth:)[^:]+:.+$"
"""Keys of the configuration that Berth leaves alone."""
_SECRET_TOKEN: Final = {
    "description": "Hugging Face token of gated models, set with `pulumi config set --secret`.",
    "type": "object",
    "properties": {"secure": {"type": "string"}},
    "required": ["secure"],
    "additionalProperties": False,
}
_OF_PULUMI: Final = {
    "encryptionsalt": "Written by Pulumi: the salt of a stack whose secrets have a passphrase.",
    "encryptedkey": "Written by Pulumi: the key of a stack whose secrets are held by a cloud.",
    "secretsprovider": "Written by Pulumi: who holds the key of the stack's secrets.",
}


def stack_schema() -> dict[str, Any]:
    """The schema of a stack file: Berth's keys with prefix, everybody else's left open."""
    stack = _tidied(StackConfig.model_json_schema())
    required = [_key(name) for name in stack["required"] if name != "as_of"]
    config = {
        "description": stack["description"],
        "type": "object",
        "properties": {
            **{_key(name): value for name, value in stack["properties"].items()},
            HF_TOKEN_KEY: _SECRET_TOKEN,
        },
        "patternProperties": {_OF_OTHER_PROJECTS: {}},
        "required": required,
        "additionalProperties": False,
    }
    written_by_pulumi = {
        key: {"type": "string", "description": text} for key, text in _OF_PULUMI.items()
    }
    return {
        "$schema": _DIALECT,
        "description": "A stack of Berth: stacks/Pulumi.<stack>.yaml.",
        "type": "object",
        "properties": {"config": config, **written_by_pulumi, "environment": {}},
        "required": ["config"],
        "additionalProperties": False,
        "$defs": stack["$defs"],
    }


def schema_text() -> str:
    """The schema as the file that stack files name in their first line."""
    return json.dumps(stack_schema(), indent=2, ensure_ascii=False) + "\n"


def _key(name: str) -> str:
    return "aws:region" if name == "region" else f"berth:{name}"


def _tidied(schema: Any) -> Any:
    """The schema without titles and nulls that only repeat the key, and with names held.

    A mapping by name refuses names of another spelling, as the reader does.
    """
    if isinstance(schema, list):
        return [_tidied(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {
        key: _tidied(part)
        for key, part in schema.items()
        if not (key == "title" and isinstance(part, str))
        and not (key == "default" and part is None)
    }
    if "patternProperties" in tidy:
        tidy.pop("propertyNames", None)
        tidy.setdefault("additionalProperties", False)
    return tidy
