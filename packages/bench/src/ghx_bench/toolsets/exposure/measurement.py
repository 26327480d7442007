"""Which text of others reaches an agent through which tool: every reading tool is tried on a world full of canaries."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, cast

import anyio
from pydantic import Field, JsonValue

from ghx_base.documents import read_document, validate_document
from ghx_base.documents.section import Section, Text
from ghx_base.errors import InputError, ungrouped
from ghx_base.problems import one_line
from ghx_base.texts.templates import fill, names_in
from ghx_base.wire import Count, WireModel
from ghx_bench.modes.arguments import argument_sets, describe_argument, world_key
from ghx_bench.modes.resolver import Modes
from ghx_bench.toolsets.calls import Call, FixedWorld, OpenTools, open_fixed_world
from ghx_bench.toolsets.exposure.carriers import (
    AGENT,
    AUTHORS,
    SEED,
    Author,
    plain_values,
    planted_texts,
    planted_words,
    subject_values,
)
from ghx_bench.toolsets.exposure.sightings import State, judge, most_of
from ghx_bench.toolsets.tool_lists import ListedTool
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.evidence import Mode

BUILT_IN = Path(__file__).with_name("read_commands.yaml")

MOST_CALLS = 32
"""Calls of one tool; what it could be called with beyond these is counted."""

MANY = 50
"""How many lines or things a tool is asked for, where it lets one say."""

Arguments = dict[str, JsonValue]

Effect = Literal["reads", "writes", "unsaid"]
"""What a tool says of itself, in its annotations."""

_LONGEST_ERROR = 160
_MOST_AT_ONCE = 3
"""Modes; programs wait for the world about as long as they compute."""
_OF_THIS_MACHINE = re.compile(r"(?:https?://)?(?:127\.0\.0\.1|localhost)(?::\d+)?|/(?:tmp|dev/shm|var)/[^\s'\":,]+")


class ToolExposure(WireModel):
    """What one tool, or one read command, has shown."""

    tool: str
    server: str | None
    says: Effect
    calls: Count
    failed: Count
    left_out: Count
    """Ways to call it that were not tried, since there were too many."""
    asked_github: bool
    """Whether it made any request; how many is up to chance in programs that ask several things at once."""
    calls_to_github: Count = 0
    """Calls with a request: the others prove nothing about what it shows or changes."""
    changing_requests: Count
    """Requests that would have changed something, whether or not they were granted."""
    error: str | None
    """What it said, where every call failed."""
    gaps: tuple[str, ...] = ()
    """What it asked for and the emulator lacks: what it would have shown of that is not known."""
    states: dict[str, dict[Author, State]]
    """What happened to the texts of each carrier; of those that are left out, nothing was shown."""

    @property
    def has_answered(self) -> bool:
        """Whether any call got another answer than an error."""
        return self.failed < self.calls

    def state(self, carrier: str, author: Author) -> State:
        """Return what happened to one text."""
        return self.states.get(carrier, {}).get(author, "not shown")


class NotTried(WireModel):
    """A tool that was not called, and why."""

    tool: str
    server: str | None
    reason: str


class ModeExposure(WireModel):
    """What the tools of one mode have shown."""

    name: str
    versions: dict[str, str | None]
    tools: tuple[ToolExposure, ...]
    not_called: tuple[NotTried, ...]

    def state(self, carrier: str, author: Author) -> State:
        """Return the most that any tool has shown of one text."""
        return most_of(each.state(carrier, author) for each in self.tools)

    def tools_with(self, state: State, carrier: str, author: Author) -> tuple[str, ...]:
        """Return the tools that have done this with one text."""
        return tuple(each.tool for each in self.tools if each.state(carrier, author) == state)

    @property
    def not_called_by_reason(self) -> Mapping[str, Sequence[str]]:
        """The tools that were not called, by why."""
        reasons: dict[str, list[str]] = {}
        for each in self.not_called:
            reasons.setdefault(each.reason, []).append(each.tool)
        return reasons

    @property
    def calls_to_github(self) -> int:
        """How many calls of its tools asked GitHub for anything."""
        return sum(each.calls_to_github for each in self.tools)

    @property
    def why_unknown(self) -> str | None:
        """Why nothing is known of what it shows and changes, where that is so."""
        if not self.tools:
            return "none of its tools was called" if self.not_called else "it has no tools"
        if not any(each.has_answered for each in self.tools):
            return "no call of its tools got an answer"
        return None if self.calls_to_github else "no call of its tools reached GitHub"

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The tools of which it is not known what they show, except for those that say they write."""
        silent = [each.tool for each in self.tools if not each.has_answered and each.says != "writes"]
        # A tool that says it destroys is not there to be read with; a program without read commands may be.
        return (*silent, *(each.tool for each in self.not_called if each.server is None))

    @property
    def not_measurable(self) -> tuple[ToolExposure, ...]:
        """The tools that asked for something which the emulator lacks."""
        return tuple(each for each in self.tools if each.gaps)

    @property
    def changing(self) -> tuple[ToolExposure, ...]:
        """The tools that have tried to change something; without any, the mode only reads, as far as it was tried."""
        return tuple(each for each in self.tools if each.changing_requests)

    @property
    def broken_promises(self) -> tuple[ToolExposure, ...]:
        """The tools that have tried to change something although they say that they only read."""
        return tuple(each for each in self.changing if each.says == "reads")


class Exposure(WireModel):
    """What modes have shown, side by side."""

    version: Literal[1]
    world: str
    carriers: tuple[str, ...]
    modes: tuple[ModeExposure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probe:
    """A tool or a read command, and how it is called."""

    tool: str
    server: str | None
    says: Effect
    calls: tuple[str | dict[str, JsonValue], ...]
    left_out: int = 0

    async def call(self, tools: OpenTools, what: str | dict[str, JsonValue]) -> Call:
        if isinstance(what, str):
            return await tools.shell(what)
        return await tools.mcp(self.tool, what, server=self.server)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    exposure: ToolExposure
    is_spoilt: bool
    """Whether the copy of the world is of no use to other tools: it has changed, or the server is gone or hangs."""


async def expose_modes(names: Sequence[str], modes: Modes, *, commands: Sequence[Path] = ()) -> Exposure:
    """Try the tools of modes on copies of the fixed world, some modes at once: they do not see each other.

    `commands` are files of read commands of programs, beside those that come with the bench.
    """
    exposures: dict[str, ModeExposure] = {}
    at_once = anyio.CapacityLimiter(_MOST_AT_ONCE)
    with ungrouped():
        async with (
            open_fixed_world(SEED, agent=AGENT, waiting=modes.waiting) as fixed,
            anyio.create_task_group() as beside,
        ):
            command_table = read_commands(commands, plain_values(fixed.world, "outsider"))

            async def expose(name: str) -> None:
                async with at_once:
                    exposures[name] = await _expose_mode(await modes.resolve(name), fixed, command_table)

            for name in names:
                beside.start_soon(expose, name)
    world, measured = SEED.name.partition(".")[0], tuple(exposures[each] for each in names)
    return Exposure(version=1, world=world, carriers=tuple(planted_words()), modes=measured)


async def _expose_mode(mode: Mode, fixed: FixedWorld, commands: Mapping[str, Mapping[str, str]]) -> ModeExposure:
    subjects, not_called = subject_values(fixed.world), list[NotTried]()
    async with fixed.open_tools(mode) as tools:
        listed = await tools.list_tools()
    probes = [*_program_probes(mode, commands, subjects, not_called), *_tool_probes(listed, subjects, not_called)]
    # Tools that say that they write come last and share a copy: before them, each has the world as it was planted.
    waiting = deque(sorted(probes, key=lambda each: each.says == "writes"))
    exposures: list[ToolExposure] = []
    while waiting:
        async with fixed.open_tools(mode) as tools:
            while waiting:
                tried = await _try(waiting.popleft(), tools)
                exposures.append(tried.exposure)
                if tried.is_spoilt:
                    break
    order = {(each.server, each.tool): place for place, each in enumerate(probes)}
    return ModeExposure(
        name=mode.name,
        versions=dict(_versions(mode)),
        tools=tuple(sorted(exposures, key=lambda each: order[each.server, each.tool])),
        not_called=tuple(not_called),
    )


def _program_probes(
    mode: Mode,
    commands: Mapping[str, Mapping[str, str]],
    subjects: Sequence[Mapping[str, JsonValue]],
    not_called: list[NotTried],
) -> Iterator[_Probe]:
    for program in ToolSet.of(mode).tools:
        if not ToolSet.of(mode).shell:
            not_called.append(NotTried(tool=program, server=None, reason="the mode has no shell"))
            continue
        if program not in commands:
            reason = "there is no table of its read commands; write one, and name it with --commands"
            not_called.append(NotTried(tool=program, server=None, reason=reason))
        for name, command in commands.get(program, {}).items():
            # One subject of each author is enough: a command says itself what it is about.
            calls = filled_commands(command, subjects[: len(AUTHORS)])
            yield _Probe(tool=name, server=None, says="reads", calls=calls)


def _tool_probes(
    listed: Mapping[str, Sequence[ListedTool]],
    subjects: Sequence[Mapping[str, JsonValue]],
    not_called: list[NotTried],
) -> Iterator[_Probe]:
    for server, tools in listed.items():
        for tool in tools:
            if tool.annotations.get("destructiveHint") is True and not tool.is_read_only:
                not_called.append(NotTried(tool=tool.name, server=server, reason="it is annotated as destructive"))
                continue
            says: Effect = "reads" if tool.is_read_only else "unsaid"
            if tool.annotations.get("readOnlyHint") is False:
                says = "writes"
            plan = plan_calls(tool.input_schema, subjects)
            yield _Probe(tool=tool.name, server=server, says=says, calls=plan.arguments, left_out=plan.left_out)


async def _try(probe: _Probe, tools: OpenTools) -> _Tried:
    calls: list[Call] = []
    states: dict[tuple[str, Author], State] = {}
    for what in probe.calls:
        call = await probe.call(tools, what)
        calls.append(call)
        if tools.is_stuck:
            break
        request = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False)
        for text, state in judge(call.answer, planted_texts(), asked=request).items():
            key = (text.carrier, text.author)
            states[key] = most_of((state, states.get(key, "not shown")))
    changing = sum(len(each.changing) for each in calls)
    failed = sum(each.answer.failed for each in calls)
    complaint = calls[-1].answer.complaint if tools.ended else None
    exposure = ToolExposure(
        tool=probe.tool,
        server=probe.server,
        says=probe.says,
        calls=len(calls),
        failed=failed,
        left_out=probe.left_out + len(probe.calls) - len(calls),
        asked_github=any(each.requests for each in calls),
        calls_to_github=sum(bool(each.requests) for each in calls),
        changing_requests=changing,
        gaps=tuple(dict.fromkeys(gap for each in calls for gap in each.gaps)),
        error=_without_machine(complaint or calls[0].answer.text) if complaint or failed == len(calls) else None,
        states={
            carrier: {author: states[carrier, author] for author in by_author if (carrier, author) in states}
            for carrier, by_author in planted_words().items()
            if any((carrier, author) in states for author in by_author)
        },
    )
    is_spoilt = tools.is_stuck or (changing > 0 and probe.says != "writes")
    return _Tried(exposure=exposure, is_spoilt=is_spoilt)


def _without_machine(text: str) -> str:
    """Return a message without addresses and folders that are others the next time."""
    return _OF_THIS_MACHINE.sub("(here)", one_line(text))[:_LONGEST_ERROR]


def _versions(mode: Mode) -> Iterator[tuple[str, str | None]]:
    tools = ToolSet.of(mode).tools
    for each in cast("list[dict[str, str]]", mode.facts.get("tools") or []):
        if each["name"] in tools:
            yield each["name"], each["version"]
    for name, each in cast("dict[str, dict[str, str | None]]", mode.facts.get("mcp_servers") or {}).items():
        yield name, each["version"]


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
            # Enough for all that the world has, as far as the tool allows it.
            most = part.get("maximum")
            yield {**base, name: min(most, MANY) if isinstance(most, int) else MANY}
