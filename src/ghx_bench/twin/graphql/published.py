"""What GitHub has and the twin lacks, so that a missing field is never mistaken for a misspelt one."""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

_INPUT_FIELD = re.compile(r"type '(\w+)[!\]]*' not to include unknown field '(\w+)'")
_ENUM_VALUE = re.compile(r"Value '(\w+)' does not exist in '(\w+)' enum")


@cache
def published_names() -> dict[str, Any]:
    """Return the names of GitHub's published schema, as far as they touch the types of ours."""
    return json.loads(files("ghx_bench.twin.graphql").joinpath("published.json").read_bytes())


def lacks_field(type_name: str, field: str) -> bool:
    """Tell whether GitHub has a field that we do not."""
    return field in published_names()["fields"].get(type_name, {})


def lacks_argument(type_name: str, field: str, argument: str) -> bool:
    """Tell whether GitHub takes an argument that we do not."""
    return argument in published_names()["fields"].get(type_name, {}).get(field, ())


def lacks_type(name: str) -> bool:
    """Tell whether GitHub has a type that we do not."""
    return name in published_names()["types"]


def lacked_value(message: str) -> str | None:
    """Return the input field or enum value that a message complains of, where GitHub has it."""
    if match := _INPUT_FIELD.search(message):
        owner, name = match.groups()
    elif match := _ENUM_VALUE.search(message):
        name, owner = match.groups()
    else:
        return None
    return f"{owner}.{name}" if name in published_names()["values"].get(owner, ()) else None
