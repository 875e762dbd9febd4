"""What all parts of the vocabulary have in common."""

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """A part of a stack: frozen, and nothing in it that the vocabulary does not have."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, use_attribute_docstrings=True
    )
