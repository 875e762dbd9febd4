"""What belongs in a value, in words: for the messages of the reader and for editors."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Wanted:
    """Annotates a type with the words for what belongs there, and with one right value."""

    words: str
    example: str | int | float

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The JSON schema of the annotated type, with the right value as its example."""
        schema: dict[str, Any] = handler(core_schema)
        is_scalar = schema.get("type") in ("string", "integer", "number")
        return schema | {"examples": [self.example]} if is_scalar else schema
