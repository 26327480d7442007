"""The read commands that programs are tried with, and the arguments that tools of MCP servers are called with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, cast

from pydantic import Field, JsonValue

from ghx_base.documents import read_document, validate_document
from ghx_base.documents.section import Section, Text
from ghx_base.errors import InputError
from ghx_base.texts.templates import fill, names_in
from ghx_bench.modes.arguments import argument_sets, describe_argument, world_key

BUILT_IN = Path(__file__).with_name("read_commands.yaml")

MOST_CALLS = 32
"""Calls of one tool; what it could be called with beyond these is counted."""

MANY = 50
"""How many lines or things a tool is asked for, where it lets one say."""

Arguments = dict[str, JsonValue]


class ReadCommands(Section):
    """Read commands by program, then by the name that a table shows; `{{names}}` stand for what is in the world."""

    version: Literal[1]
    programs: dict[Text, dict[Text, Text]] = Field(description="Commands by program.")


@cache
def built_in_commands() -> Mapping[str, Mapping[str, str]]:
    """Return the read commands that come with the bench."""
    return validate_document(read_document(BUILT_IN), ReadCommands).programs


def read_commands(files: Sequence[Path], values: Mapping[str, JsonValue]) -> Mapping[str, Mapping[str, str]]:
    """Return the built-in commands and those in files; raise `InputError` where one names what no world has."""
    programs = dict(built_in_commands())
    for path in files:
        programs |= validate_document(read_document(path), ReadCommands).programs
    for program, commands in programs.items():
        for name, command in commands.items():
            if unknown := [each for each in names_in(command) if each not in values]:
                names = f"{{{{{unknown[0]}}}}}"
                raise InputError(
                    f"the read command {name!r} of {program} names {names}, which the world does not have; it "
                    f"has {', '.join(sorted(values))}"
                )
    return programs


def filled_commands(command: str, subjects: Sequence[Mapping[str, JsonValue]]) -> tuple[str, ...]:
    """Return a command for each of the subjects, each once."""
    return tuple(dict.fromkeys(str(fill(f"{command} ", each.__getitem__)).rstrip() for each in subjects))


class CallPlan(NamedTuple):
    """What a tool is called with, and how many other ways there were."""

    arguments: tuple[Arguments, ...]
    left_out: int


def plan_calls(schema: Mapping[str, JsonValue], subjects: Sequence[Mapping[str, JsonValue]]) -> CallPlan:
    """Return the arguments to call a tool with: what it requires, of each subject, then with each option of its own."""
    plans: dict[str, Arguments] = {}
    bases = [each for values in subjects for each in argument_sets(schema, values)]
    options = [each for values in subjects for each in _with_options(schema, values)]
    for each in (*bases, *options):
        plans.setdefault(json.dumps(each, sort_keys=True), each)
    arguments = tuple(islice(plans.values(), MOST_CALLS))
    return CallPlan(arguments, len(plans) - len(arguments))


def _with_options(schema: Mapping[str, JsonValue], values: Mapping[str, JsonValue]) -> Iterator[Arguments]:
    """Yield the first arguments with one optional one added: each value of a choice, a switch, what the world has."""
    properties = cast("dict[str, JsonValue]", schema.get("properties") or {})
    base = next(iter(argument_sets(schema, values)))
    for name, property_schema in properties.items():
        if name in base:
            continue
        part = describe_argument(property_schema)
        if part.get("type") == "boolean":
            yield {**base, name: True}
        elif world_key(name) in values or "enum" in part:
            # Without its default, which is what the call without it has had already.
            bare = {key: value for key, value in part.items() if key != "default"}
            for each in argument_sets({"properties": {name: bare}, "required": [name]}, values):
                yield {**base, name: each[name]}
        elif part.get("type") == "integer":
            yield {**base, name: _many(part)}


def _many(part: Mapping[str, JsonValue]) -> int:
    """Return how many of something to ask for: enough for all that the world has, as far as the tool allows it."""
    most = part.get("maximum")
    return min(most, MANY) if isinstance(most, int) else MANY
