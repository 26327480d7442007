"""Read the arguments of `ghx run` into the input of a capability.

Flags are read by hand: their names and kinds are those of the capability, and `argparse` takes long to import.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel

from ghx_base.problems import describe_value, did_you_mean, listed, shortened
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.models import InputModel
from ghx_tools.cli.remote import full_name
from ghx_tools.cli.usage import UsageError, no_value

FlagKind = Literal["text", "array", "boolean", "object"]
"""How an input is written as a flag."""

_WITH_VALUE, _WITHOUT_VALUE = ("--input", "--fields"), ("--verbose", "--help", "-h")
_STDIN = "standard input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments behind the name of a capability: its inputs as flags, and options for the output."""

    given: dict[str, Any]
    input: str | None
    fields: str | None
    verbose: bool
    help: bool


def read_arguments(entry: Entry, words: Sequence[str], model: type[InputModel]) -> Arguments:
    """Return what `--issueNumber 1 --labels bug,ui --draft --fields id` says; names of inputs are as on the wire."""
    arguments: dict[str, Any] = {}
    options: dict[str, str] = {}
    rest = list(words)
    while rest:
        flag, attached, value = rest.pop(0).partition("=")
        if flag in _WITHOUT_VALUE:
            if attached:
                raise UsageError(no_value(flag))
            options[flag] = ""
            continue
        name = None if flag in _WITH_VALUE else _name_of(entry, flag)
        kind = "text" if name is None else _flag_kind(model, name)
        if not attached:
            value = _take_value(entry, flag, rest, kind)
        if name is None:
            options[flag] = value
            continue
        parsed = _parse_value(flag, value, kind)
        if isinstance(parsed, list) and isinstance(arguments.get(name), list):
            arguments[name] = [*arguments[name], *cast("list[Any]", parsed)]  # --labels bug --labels ui
        else:
            arguments[name] = parsed
    return Arguments(
        given=arguments,
        input=options.get("--input"),
        fields=options.get("--fields"),
        verbose="--verbose" in options,
        help=bool(options.keys() & {"--help", "-h"}),
    )


def read_object(text: str) -> dict[str, Any]:
    """Return the value of `--input`: an object of JSON, or `-` for one on standard input."""
    value, source = read_json(text, "--input")
    if not isinstance(value, dict):
        raise UsageError(f"{source} must be an object of JSON, got {describe_value(value)}")
    return cast("dict[str, Any]", value)


def read_json(text: str, source: str) -> tuple[object, str]:
    """Return a value of JSON, from standard input for `-`, and the source to name in messages about it."""
    if text == "-":
        source, text = _STDIN, "" if sys.stdin is None else sys.stdin.read()
    try:
        return json.loads(text, object_pairs_hook=_refuse_duplicates), source
    except RecursionError:
        raise UsageError(f"{source} is nested too deeply") from None
    except ValueError as error:
        is_no_json = source != _STDIN and text.strip() and text.lstrip()[0] not in '{["'
        hint = "; for what is in a file write - here, and < FILE at the end" if is_no_json else ""
        raise UsageError(f"{source} is not JSON: {error}{hint}") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # `json` takes the last of two equal keys; which of both was meant is not for us to guess.
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(shortened(name) for name in names if names.count(name) > 1)} is there twice")
    return members


def override(entry: Entry, values: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with flags in place of the same inputs of `given`, however either spells them."""
    replaced = {entry.signature.name_of(name) for name in flags}
    return {name: value for name, value in values.items() if entry.signature.name_of(name) not in replaced} | {**flags}


def add_repository(
    entry: Entry, given: Mapping[str, Any], default: Callable[[], tuple[str, str] | None]
) -> dict[str, Any]:
    """Return an input with owner and name of the repository where a capability wants them; `repo` may be both."""
    values = dict(given)
    whole = full_name(values["repo"]) if isinstance(values.get("repo"), str) else None
    if not entry.takes_repository:
        # An object with a node id is in one repository only: naming that as well, as agents do, changes nothing.
        if whole and any(name.endswith("Id") for name in entry.signature.required):
            del values["repo"]
        return values
    if whole and values.get("owner", whole[0]) == whole[0] and values.get("name", whole[1]) == whole[1]:
        del values["repo"]
        return {**values, "owner": whole[0], "name": whole[1]}
    if values.keys() & {"owner", "name", "repo"}:
        return values
    repository = default()
    return values if repository is None else {"owner": repository[0], "name": repository[1], **values}


def check_repository(entry: Entry, given: Mapping[str, Any]) -> None:
    """Raise `UsageError` if a call names no repository but needs one, or names one that it has no use for."""
    repository = given.get("repo")
    whole = full_name(repository) if isinstance(repository, str) else None
    if isinstance(repository, str) and not whole and "owner" not in given:
        raise UsageError(f"the repository is {shortened(repository)}; write -R owner/name")
    if not entry.takes_repository:
        if whole:
            remedy = f"write repo:{repository} into its query" if "query" in entry.signature.names else "leave it out"
            raise UsageError(f"{entry.id} takes no repository; {remedy}")
        return
    names = {entry.signature.name_of(name) for name in given}
    missing = [repr(name) for name in ("owner", "name") if name not in names]
    if missing and not whole:
        has_half = "owner" in names or "name" in names
        nowhere = "give -R owner/name: there is no git remote `origin` here that says it"
        hint = "give both, or -R owner/name" if has_half else nowhere
        raise UsageError(f"{entry.id}: missing {' and '.join(missing)}; {hint}")


def _name_of(entry: Entry, flag: str) -> str:
    if flag in {"-R", "--repo"}:
        return "repo"
    if not flag.startswith("--"):
        raise UsageError(f"unexpected {shortened(flag)}; inputs are given as --name value, or all in --input")
    name = entry.signature.name_of(flag[2:].replace("-", "_")) or entry.signature.name_of(flag[2:])
    if name is None:
        names = entry.signature.names
        hint = did_you_mean(flag[2:], [*names, "input", "fields", "verbose"], otherwise=f"known: {listed(names)}")
        raise UsageError(f"{entry.id} has no input {shortened(flag)}; {hint}")
    return name


def _take_value(entry: Entry, flag: str, rest: list[str], kind: FlagKind) -> str:
    """Remove the value of a flag from the words behind it and return it."""
    if rest and not _is_flag(entry, rest[0]):
        return rest.pop(0)
    if kind == "boolean":
        return "true"
    raise UsageError(f"{flag} needs a value (one that looks like a flag is written {flag}=VALUE)")


def _is_flag(entry: Entry, word: str) -> bool:
    # Only known flags are flags: a value may begin with hyphens, such as a list in Markdown.
    flag = word.partition("=")[0]
    if flag in {"-R", *_WITH_VALUE, *_WITHOUT_VALUE}:
        return True
    return flag.startswith("--") and entry.signature.name_of(flag[2:].replace("-", "_")) is not None


def _flag_kind(model: type[InputModel], name: str) -> FlagKind:
    # Read from the field: the JSON Schema of the model takes long to make.
    annotation = next((field.annotation for field in model.model_fields.values() if field.alias == name), None)
    for choice in _choices(annotation):
        kind = get_origin(choice) or choice  # `dict[str, str]` is no class, its origin is
        if kind in {tuple, list}:
            return "array"
        if kind is bool:
            return "boolean"
        if isinstance(kind, type) and issubclass(kind, (BaseModel, dict)):
            return "object"
    return "text"


def _choices(annotation: object) -> list[object]:
    """Return the members of a union, without metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _choices(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return [choice for each in get_args(annotation) for choice in _choices(each)]
    return [annotation]


def _parse_value(flag: str, value: str, kind: FlagKind) -> Any:
    if kind == "object" or (kind == "array" and value.lstrip().startswith(("[", "{"))):
        try:
            return json.loads(value)
        except ValueError as error:
            raise UsageError(f"{flag} is not JSON: {error}") from None
    if kind == "array":
        return [each.strip() for each in value.split(",") if each.strip()]
    return value
