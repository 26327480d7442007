"""What agents reached for that is not there: commands, flags, fields, tools and arguments that they made up."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ghx_profiler.analyzers.finding_shapes import UNKNOWN, number, result, table
from ghx_profiler.analyzers.session_view import read_session
from ghx_profiler.evidence import Evidence
from ghx_profiler.failures import outcome_of_call
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell import Command, CommandResolver, label_of, names_of, resolve_command, script_of

ANALYZER = "desire_paths"
PATHS = "paths"
"""The finding with one line for each thing, under `HEADERS`."""

HEADERS = ("kind", "made up", "at", "suggested", "calls")

Kind = Literal["program", "command", "flag", "field", "tool", "capability", "argument"]

_LONGEST_TEXT = 20_000
_MOST_PATHS = 50
_MOST_NAMED = 3

_KINDS: Mapping[str, Kind] = {
    "command": "command",
    "choice": "command",
    "flag": "flag",
    "option": "flag",
    "field": "field",
    "tool": "tool",
    "capability": "capability",
    "input": "argument",
    "argument": "argument",
    "parameter": "argument",
    "property": "argument",
    "properties": "argument",
    "key": "argument",
}
"""What messages call the thing that is not there."""

_QUOTED = r"""["'`][^"'`\s]{1,80}["'`]"""
_DASHED = r"--?[A-Za-z][\w-]{0,79}"
_BARE = r"[A-Za-z_][\w.-]{0,79}"
_NOUN = r"(?P<noun>" + "|".join(sorted(_KINDS, key=len, reverse=True)) + r")(?:\(s\)|s)?"
_NAMES = rf"(?P<names>(?:{_QUOTED}|{_DASHED})(?:,\s*(?:{_QUOTED}|{_DASHED}))*)"
_BARE_NAMES = rf"(?P<bare>{_BARE}(?:,\s*{_BARE})*)"

# A word that denies, the kind of thing, and its name: "unknown flag: --x", "no capability 'x'", "Unknown JSON field: x"
# "unknown flags for gh-axi issue list: --x", "unexpected additional properties ["x"]". A name stands in quotes, begins
# with a dash or comes after a colon: "no command line" denies nothing.
_DENIED = re.compile(
    r"(?i)\b(?:unknown|unrecogni[sz]ed|undefined|no such|no|unexpected"
    r"|invalid(?=\s+(?:sub)?(?:command|flag|option|choice)))"
    rf"\s+(?:(?:json|shorthand|additional|keyword|\w+(?=\s+sub))\s+)?(?:sub-?)?{_NOUN}"
    r"(?:\s+(?:for|in|of|on)\s+(?P<at>[^:\n\"'`]{1,60}))?\s*"
    rf"(?:(?:--|=)?\s*\[?{_NAMES}|:\s*(?:\[?{_NAMES.replace('names', 'named')}|{_BARE_NAMES}))"
)
# The kind of thing, its name, and that it is not there: "Tool x not found", "Field 'x' doesn't exist on type 'Y'".
_ABSENT = re.compile(
    rf"(?i)\b(?P<noun>tool|command|field|capability)\s+(?P<names>{_QUOTED}|{_BARE})\s+"
    r"(?:(?:was\s+|is\s+)?not\s+found|is\s+unknown|does(?:n't|\s+not)\s+exist(?:\s+on\s+type\s+[\"'`](?P<at>\w+)[\"'`])?)"
)
_NO_PROGRAM = re.compile(r"(?m)^(?:[^\n:]{1,80}: )*(?P<names>[\w.+-]{1,80}): (?:command )?not found$")
_NO_COMMAND = re.compile(r"""["'`](?P<names>[^"'`\s]{1,80})["'`] is not an? (?P<at>[\w-]{1,40}) command""")
# Of validators: JSON Schema in Python, zod in Node, pydantic.
_EXTRA = re.compile(
    r"""\((?P<names>(?:["'][^"'\n]{1,80}["'],?\s?)+)(?:was|were) unexpected\)"""
    r"""|"keys":\s*\[(?P<keys>[^\]]{1,200})\]"""
    r"""|^(?P<line>[\w.-]{1,80})\n\s+(?:Extra inputs are not permitted|Unexpected keyword argument)""",
    re.MULTILINE,
)
_OF_COMMAND = re.compile(r"""^[^\n]*?["'`][^"'`\n]{1,80}["'`] for "(?P<at>[^"\n]{1,60})\"""")
_USAGE = re.compile(r"(?im)^usage:\s+(?P<at>[\w.-]+(?: [a-z][\w-]*)*)")
_SUGGESTED = re.compile(r"""(?i)(?:did you mean|most similar command is)(?: this)?\??[\s"'`]*(?P<name>[\w.-]{1,80})""")
_NAME = re.compile(rf"{_DASHED}|[A-Za-z_](?:[\w./-]*\w)?")


@dataclass(frozen=True, slots=True)
class HallucinatedCommand:
    """One thing that is not there."""

    kind: Kind
    name: str
    at: str
    """The command or the tool that was to have it."""
    suggested: str = ""
    """What the message offers instead."""


@dataclass(frozen=True, slots=True)
class HallucinatedCommandAnalyzer:
    """Collects what an agent took to exist and does not, from the messages of calls that failed.

    - `made_up`: how many calls used such a name.
    - `paths`: each of them, its place, the suggestion of the message, and the number of calls.
    """

    resolve: CommandResolver = resolve_command

    @property
    def name(self) -> str:
        """The name of its results."""
        return ANALYZER

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return the hallucinated commands; unknown if no call has an outcome."""
        view = read_session(evidence, self.resolve)
        commands = [tuple(paths_in(call.event, self.resolve)) for call in view.calls if call.outcome.failed]
        calls = sum(map(bool, commands)) if view.has_outcomes else None
        counts = Counter(path for paths in commands for path in dict.fromkeys(paths))
        lines = [(*_columns(path), count) for path, count in counts.most_common(_MOST_PATHS)]
        names = ", ".join(f"{path.kind} {path.name}" for path, _ in counts.most_common(_MOST_NAMED))
        summary = f"made up: {names}{' and more' if len(counts) > _MOST_NAMED else ''}" if counts else ""
        if calls is None:
            summary = f"{UNKNOWN} whether anything was made up"
        findings = {"made_up": number(calls, "calls"), PATHS: table(HEADERS, lines)}
        return result(self.name, findings, summary)


def _columns(path: HallucinatedCommand) -> tuple[str, str, str, str]:
    return path.kind, path.name, path.at, path.suggested


def paths_in(call: ToolCallEvent, resolve: CommandResolver = resolve_command) -> Iterator[HallucinatedCommand]:
    """Yield the missing names that a failed call used, each once per place."""
    if not outcome_of_call(call).failed:
        return
    text = _text_of(call)
    suggestion = _SUGGESTED.search(text)
    suggested = suggestion["name"].rstrip(".") if suggestion else ""
    seen: set[tuple[Kind, str]] = set()
    for kind, name, at in _denials(text):
        # In a shell, an argument that is not an option is a value, and a denied one does not belong to the program.
        is_shell = script_of(call) is not None
        if kind == "argument" and name.startswith("-"):
            kind = "flag"  # noqa: PLW2901 - argparse calls options arguments
        elif kind == "flag" and len(name) == 1:
            name = f"-{name}"  # noqa: PLW2901 - pflag and getopt print letters without their dash
        elif kind == "tool" and is_shell:
            continue
        if (kind, name) not in seen:
            seen.add((kind, name))
            place = "" if kind == "program" else at or _place_of(call, name, text, resolve)
            yield HallucinatedCommand(kind, name, place, suggested)


def _denials(text: str) -> Iterator[tuple[Kind, str, str]]:
    """Yield the kind, name and place, if given, of everything that a text reports as missing."""
    yield from _unknown_things(text)
    for match in _ABSENT.finditer(text):
        for name in _NAME.findall(match["names"]):
            yield _KINDS[match["noun"].lower()], name, match["at"] or ""
    for match in _NO_PROGRAM.finditer(text):
        yield "program", match["names"], ""
    for match in _NO_COMMAND.finditer(text):
        yield "command", match["names"], match["at"]
    for match in _EXTRA.finditer(text):
        names = match["names"] or (match["keys"] if "unrecognized_keys" in text else "") or match["line"] or ""
        for name in _NAME.findall(names):
            yield "argument", name, ""


def _unknown_things(text: str) -> Iterator[tuple[Kind, str, str]]:
    for match in _DENIED.finditer(text):
        names = match["names"] or match["named"] or match["bare"]
        kind, at = _KINDS[match["noun"].lower()], (match["at"] or "").strip()
        line = text[text.rfind("\n", 0, match.start()) + 1 :]
        if kind == "command" and (owner := _OF_COMMAND.match(line)):
            at = owner["at"]
        elif kind == "argument":
            at = ""  # "in object"
        for name in _NAME.findall(names):
            yield kind, name, at


def _text_of(call: ToolCallEvent) -> str:
    """Return what a call answered, with the quotes of JSON inside it unescaped."""
    output = call.output if isinstance(call.output, str) else json.dumps(call.output, ensure_ascii=False)
    shown_output = output if call.output else ""
    return f"{shown_output}\n{call.error or ''}"[:_LONGEST_TEXT].replace('\\"', '"').replace("\\n", "\n")


def _place_of(call: ToolCallEvent, name: str, text: str, resolve: CommandResolver) -> str:
    """Return the command that was expected to have a name: from its usage, or from the script; else the tool."""
    script = script_of(call)
    if script is None:
        return call.name
    if name.startswith("-") and (usage := _USAGE.search(text)):
        return usage["at"]
    holding = [each for each in script.commands if _holds(each, name)]
    place = resolve(holding[0]) or UNKNOWN if holding else label_of(names_of(call, resolve))
    return f"{place} ".partition(f" {name} ")[0].rstrip()  # a command that is not there is not a part of its place


def _holds(command: Command, name: str) -> bool:
    return any(name in word for word in command.arguments)
