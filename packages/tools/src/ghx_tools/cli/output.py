"""Print the output of a command: JSON on one line for programs, indented with `--verbose`."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ghx_base.commandline import DEBUG
from ghx_base.errors import GhxBenchError
from ghx_base.problems import did_you_mean, shortened
from ghx_tools.capabilities.errors import CapabilityError, ErrorCode
from ghx_tools.cli.usage import UsageError


def write_json(value: object, *, indented: bool = False) -> None:
    """Print a value as JSON."""
    if indented:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair cannot be encoded; it is replaced, since one odd character must not lose the output.
    print(text.encode("utf-8", "replace").decode())


def answer_in_json(run: Callable[[], int], refusal: Mapping[str, Any]) -> int:
    """Run a command whose errors are JSON on standard output, too; `refusal` is printed with the error added to it."""
    try:
        return run()
    except GhxBenchError as error:
        if os.environ.get(DEBUG):
            raise
        code = error.error_code if isinstance(error, CapabilityError) else ErrorCode.VALIDATION
        write_json({**refusal, "error": {"code": code.value, "message": str(error)}})
        return error.exit_code


def read_fields(text: str, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names in `--fields`; refuse one that the output does not have."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    field_names = _field_names(schema)
    for name in names:
        if name not in field_names:
            raise UsageError(f"--fields: no field {shortened(name)}; {did_you_mean(name, field_names)}")
    if not names:
        raise UsageError(f"--fields: name some of {', '.join(field_names)}")
    return names


def _field_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the names that `--fields` may have: those of the items of a list, and its own if it need not be a list."""
    own = schema.get("properties", {})
    items = _resolve(own.get("items", {}), schema)
    inner = _resolve(items.get("items", {}), schema).get("properties", {})
    if inner and "items" in schema.get("required", ()):
        return list(inner)
    return list({**inner, **own})


def keep_fields(fields: Sequence[str], data: object) -> dict[str, Any]:
    """Return the data with these fields only, or with each of its items so if it is a list."""
    whole = cast("dict[str, Any]", data)
    if isinstance(whole.get("items"), list):
        # `pageInfo` and counts stay: without them the rest of the list could not be read.
        return {**whole, "items": [{name: item[name] for name in fields if name in item} for item in whole["items"]]}
    return {name: whole[name] for name in fields if name in whole}


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema behind its reference, or its "or null"."""
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return _resolve(choice, root)
    reference = schema.get("$ref")
    return root.get("$defs", {}).get(reference.rpartition("/")[2], {}) if reference else schema
