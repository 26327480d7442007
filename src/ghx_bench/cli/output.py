"""What a command prints: JSON on one line, for programs; indented where somebody asked for everything."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from ghx_bench._base.commandline import DEBUG
from ghx_bench._base.errors import GhxBenchError
from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode
from ghx_bench.cli.usage import UsageError


def write_json(value: object, *, indented: bool = False) -> None:
    """Print a value as JSON."""
    if indented:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # What is no text, such as half of a surrogate pair, is replaced: one odd character must not cost the answer.
    print(text.encode("utf-8", "replace").decode())  # noqa: T201 - the command line


def answering(run: Callable[[], int], refusal: Mapping[str, Any]) -> int:
    """Run a command that answers in JSON whatever it is given; `refusal` is what it prints beside what is wrong."""
    try:
        return run()
    except GhxBenchError as error:
        if os.environ.get(DEBUG):
            raise
        code = error.error_code if isinstance(error, CapabilityError) else ErrorCode.VALIDATION
        write_json({**refusal, "error": {"code": code.value, "message": str(error)}})
        return error.exit_code


def chosen_fields(text: str, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the names of `--fields`; one that the output does not have is refused."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    known = field_names(schema)
    for name in names:
        if name not in known:
            raise UsageError(f"--fields: no field {shortened(name)}; {did_you_mean(name, known)}")
    if not names:
        raise UsageError(f"--fields: name some of {', '.join(known)}")
    return names


def field_names(schema: Mapping[str, Any]) -> list[str]:
    """Return what can be chosen of an output: the fields of its items if it is a list, its own if it need not be."""
    own = schema.get("properties", {})
    items = _resolved(own.get("items", {}), schema)
    inner = _resolved(items.get("items", {}), schema).get("properties", {})
    if inner and "items" in schema.get("required", ()):
        return list(inner)
    return list({**inner, **own})


def only(fields: Sequence[str], data: object) -> dict[str, Any]:
    """Keep the chosen fields of the data, or of each of its items."""
    whole = cast("dict[str, Any]", data)
    if isinstance(whole.get("items"), list):
        return {**whole, "items": [_kept(fields, item) for item in whole["items"]]}
    return _kept(fields, whole)


def _kept(fields: Iterable[str], value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in fields if name in value}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference, and look through "or null"."""
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return _resolved(choice, root)
    reference = schema.get("$ref")
    return root.get("$defs", {}).get(reference.rpartition("/")[2], {}) if reference else schema
