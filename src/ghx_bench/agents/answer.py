"""What a tool answered."""

import json
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answered: as the agent reads it, and as a value where it is structured or is JSON."""

    text: str
    value: JsonValue
    failed: bool
    exit_code: int | None = None
    """Of a command; None of a tool that is none."""
    complaint: str = ""
    """What a command said on its standard error."""


def value_of(text: str) -> JsonValue:
    """Return what a text says as JSON, and the text itself, without space around it, where it is none."""
    try:
        return cast("JsonValue", json.loads(text))
    except ValueError:
        return text.strip()
