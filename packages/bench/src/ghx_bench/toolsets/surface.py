"""What tool sets cost before they do anything, and what their answers cost on a fixed world: no model is asked."""

import re
import shlex
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import anyio
from pydantic import Field, JsonValue

from ghx_base.errors import ungrouped
from ghx_base.wire import Count, WireModel
from ghx_bench.modes.arguments import argument_sets
from ghx_bench.modes.resolver import Modes
from ghx_bench.toolsets.answers import (
    AnswerFigures,
    AnswerRatios,
    AnswerRow,
    compare_answers,
    digest_of,
    figures,
    judge,
)
from ghx_bench.toolsets.calls import WORLDS, Call, FixedWorld, OpenTools, open_fixed_world
from ghx_bench.toolsets.changes.tool_changes import pair_tools
from ghx_bench.toolsets.lint import LintFinding, lint_tools, lint_writes
from ghx_bench.toolsets.mode_settings import ModeSettings, SkillSurface, measure_skills
from ghx_bench.toolsets.questions import (
    AskedQuestion,
    Callers,
    QuestionTable,
    ToolCall,
    arguments_of,
    require_known_modes,
    values_of,
)
from ghx_bench.toolsets.sizes import Ruler, Size, total
from ghx_bench.toolsets.tool_lists import ListedTool, ServerSurface, measure_tools, read_tools
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.evidence import Mode

DEFAULT_LIMIT_TOKENS = 25_000
"""What some agents take of one answer: a longer one is an error to them ("exceeds maximum allowed tokens")."""

_WORD = re.compile(r"[a-z][a-z0-9_.-]*")
_MOST_WORDS = 3
_MOST_AT_ONCE = 3  # what they wait for are processes of their own


class HelpSize(WireModel):
    """What a program says of itself, or of one of its commands."""

    command: str
    size: Size
    digest: str | None = Field(default=None, exclude=True)


class ProgramSurface(WireModel):
    """What a program costs to be read about; an agent asks for it, and need not."""

    name: str
    version: str | None
    help: tuple[HelpSize, ...]
    """That of the program first, then of the commands that the table uses; a text that is the same counts once."""
    size: Size


class NotCalled(WireModel):
    """A read-only tool that no request was seen of, and why."""

    server: str
    tool: str
    reason: str


class ModeSurface(WireModel):
    """A mode, measured."""

    name: str
    instructions: Size
    instructions_text: str = Field(default="", exclude=True)
    servers: tuple[ServerSurface, ...] = ()
    programs: tuple[ProgramSurface, ...] = ()
    skills: tuple[SkillSurface, ...] = ()
    settings: ModeSettings | None = None
    """`None` of a list of tools in a file."""
    told: Size
    """What is in the context before the first call: instructions of the mode and of its servers, their tools, and the
    names and descriptions of skills."""
    lint: tuple[LintFinding, ...] | None = None
    """What is wrong with the tools of its servers; `None` where it has none."""
    read_only_called: Count = 0
    """Read-only tools that asked GitHub for something when they were called: the journal says whether they are.

    A tool that asked for nothing has proved nothing; it is among `not_called`.
    """
    not_called: tuple[NotCalled, ...] = ()
    column: str | None = None
    """The mode whose calls it is asked with, or the first of several; `None` where no answer was measured."""
    answers: AnswerFigures | None = None
    common: AnswerFigures | None = None
    """Of the questions that all measured modes answer."""
    against: AnswerRatios | None = None
    """Its answers compared with those of the first measured mode; `None` of that one."""
    rows: tuple[AnswerRow, ...] = ()
    by_schema_only: bool = False
    """Whether nothing was called, since there was only a list of its tools."""
    is_abridged: bool = False
    """Whether that list leaves out descriptions of arguments, so that its sizes are too small."""

    @property
    def tools(self) -> int:
        """How many tools its servers have."""
        return sum(len(each.tools) for each in self.servers)


class Surface(WireModel):
    """What `ghx-bench surface` has measured."""

    version: int = 1
    tokenizer: str
    tokens_are_estimated: bool
    limit_tokens: Count
    world: str
    common_questions: tuple[str, ...]
    modes: tuple[ModeSurface, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What modes are measured with."""

    table: QuestionTable
    ruler: Ruler
    limit_tokens: int = DEFAULT_LIMIT_TOKENS
    with_answers: bool = True
    """Whether the questions are asked; without, only schemas and lint are looked at."""


async def measure_modes(
    names: Sequence[str],
    modes: Modes,
    lineages: Mapping[str, Sequence[str]],
    measuring: Measuring,
    *,
    are_versions: bool = False,
) -> Surface:
    """Measure modes on copies of the fixed world, some at once: they do not see each other.

    `lineages` has for each mode the names whose calls it may use: its own, and of what it extends. Two modes that are
    versions of each other may use each other's, also for tools that were renamed between them.
    """
    table = measuring.table
    require_known_modes(table, modes.names)
    callers = {name: Callers(own=tuple(lineages[name])) for name in names}
    measured: dict[str, ModeSurface] = {}
    at_once = anyio.CapacityLimiter(_MOST_AT_ONCE)

    async def measure(name: str, fixed: FixedWorld) -> None:
        async with at_once:
            measured[name] = await _measure_mode(await modes.resolve(name), fixed, callers[name], measuring)

    with ungrouped():
        async with open_fixed_world(
            WORLDS / f"{table.world}.seed.yaml", agent=table.agent or "", waiting=modes.waiting
        ) as fixed:
            if are_versions:
                before, after = [await _measure_servers(await modes.resolve(name), fixed, measuring) for name in names]
                callers = dict(zip(names, _callers_of_versions(before, after, *callers.values()), strict=True))
            async with anyio.create_task_group() as beside:
                for name in names:
                    beside.start_soon(measure, name, fixed)
    return summarize([measured[name] for name in names], measuring)


async def _measure_servers(mode: Mode, fixed: FixedWorld, measuring: Measuring) -> tuple[ServerSurface, ...]:
    if not ToolSet.of(mode).mcp_servers:
        return ()
    async with fixed.open_tools(mode) as tools:
        listed = await tools.list_tools()
    return tuple(measure_tools(name, None, each, "", measuring.ruler) for name, each in listed.items())


def _callers_of_versions(
    before: Sequence[ServerSurface], after: Sequence[ServerSurface], first: Callers, second: Callers
) -> tuple[Callers, Callers]:
    """Let two versions use each other's calls, by the names that tools have in either."""
    renamed = {
        pair.before.name: pair.after.name
        for pair in pair_tools(before, after)
        if pair.before is not None and pair.after is not None and pair.before.name != pair.after.name
    }
    back = {new: old for old, new in renamed.items()}
    return (
        replace(first, other=second.own, renamed=back),
        replace(second, other=first.own, renamed=renamed),
    )


def summarize(measured: Sequence[ModeSurface], measuring: Measuring) -> Surface:
    """Return modes that were measured side by side, with what they have in common."""
    answered = [each for each in measured if each.answers is not None]
    ids = [{row.id for row in each.rows if row.outcome == "answered"} for each in answered]
    shared = set[str].intersection(*ids) if ids else set[str]()
    # What one mode's requests cannot be counted for counts for none: sums stand side by side.
    uncounted = {row.id for each in answered for row in each.rows if row.requests is None}

    def beside(mode: ModeSurface) -> ModeSurface:
        if mode.answers is None:
            return mode
        common = figures([row for row in mode.rows if row.id in shared], uncounted=uncounted)
        first = answered[0]
        against = None if mode is first else compare_answers(first.name, first.rows, mode.rows)
        return mode.model_copy(update={"common": common, "against": against})

    return Surface(
        version=1,
        tokenizer=measuring.ruler.tokenizer,
        tokens_are_estimated=measuring.ruler.is_estimate,
        limit_tokens=measuring.limit_tokens,
        world=measuring.table.world or "",
        common_questions=tuple(each.id for each in measuring.table.questions if each.id in shared),
        modes=tuple(map(beside, measured)),
    )


async def _measure_mode(mode: Mode, fixed: FixedWorld, callers: Callers, measuring: Measuring) -> ModeSurface:
    ruler, values = measuring.ruler, values_of(fixed.world)
    questions = measuring.table.questions if measuring.with_answers else ()
    async with fixed.open_tools(mode) as tools:
        listed = await tools.list_tools()
        servers = tuple(
            measure_tools(name, _server_version(mode, name), each, tools.servers[name].instructions, ruler)
            for name, each in listed.items()
        )
        chosen = callers.choose(
            questions, ToolSet.of(mode).tools, {tool.name for each in listed.values() for tool in each}
        )
        programs = [
            await _measure_program(tools, name, chosen, measuring) for name in ToolSet.of(mode).tools if tools.has_shell
        ]
    rows: dict[str, AnswerRow] = {}
    reads = deque(each for each in chosen if each.question.kind == "read" or not each.steps(values))
    while reads:
        async with fixed.open_tools(mode) as tools:
            while reads and not tools.is_stuck:
                each = reads.popleft()
                rows[each.question.id] = await _ask(each, tools, values, measuring)
    # Each change in a copy of its own, so that none meets what another has done.
    for each in chosen:
        if each.question.id not in rows:
            async with fixed.open_tools(mode) as tools:
                rows[each.question.id] = await _ask(each, tools, values, measuring)
    findings = [finding for name, each in listed.items() for finding in lint_tools(name, each)]
    writes, called, not_called = await _try_read_only(mode, fixed, listed)
    instructions = ruler.measure(mode.instructions or "")
    skills = measure_skills(mode, ruler)
    in_order = tuple(rows[each.question.id] for each in chosen)
    return ModeSurface(
        name=mode.name,
        instructions=instructions,
        instructions_text=mode.instructions or "",
        servers=servers,
        programs=tuple(programs),
        skills=skills,
        settings=ModeSettings.of(mode),
        told=total((instructions, *(each.size for each in servers), *(each.told for each in skills))),
        lint=(*findings, *writes) if listed else None,
        read_only_called=called,
        not_called=not_called,
        column=next((each.owner for each in chosen if each.owner is not None), None),
        answers=figures(in_order) if chosen else None,
        common=None,
        rows=in_order,
    )


async def _ask(
    asked_question: AskedQuestion, tools: OpenTools, values: Mapping[str, JsonValue], measuring: Measuring
) -> AnswerRow:
    question, steps = asked_question.question, asked_question.steps(values)
    if not steps:
        row = AnswerRow(id=question.id, kind=question.kind, outcome="none", reason=asked_question.reason)
        return (
            row if asked_question.lacking is None else row.model_copy(update={"lacking_tool": asked_question.lacking})
        )
    if not tools.has_shell and any(isinstance(each, str) for each in steps):
        return AnswerRow(id=question.id, kind=question.kind, outcome="none", reason="the mode has no shell")
    calls: list[Call] = []
    for step in steps:
        match step:
            case ToolCall():
                calls.append(await tools.mcp(step.tool, step.arguments, server=step.server))
            case str():
                calls.append(await tools.shell(step))
        if tools.is_stuck:
            break
    return judge(
        question, calls, measuring.ruler, limit_tokens=measuring.limit_tokens, column=asked_question.owner or ""
    )


async def _try_read_only(
    mode: Mode, fixed: FixedWorld, listed: Mapping[str, Sequence[ListedTool]]
) -> tuple[list[LintFinding], int, tuple[NotCalled, ...]]:
    """Call the tools that say that they are read-only, and look into the journal whether they are.

    All in one copy of the world: what a tool changes in it is found at that call, and does not hide other changes.
    """
    read_only = [(name, tool) for name, tools in listed.items() for tool in tools if tool.is_read_only]
    if not read_only:
        return [], 0, ()
    values = arguments_of(values_of(fixed.world))
    findings: list[LintFinding] = []
    idle: list[NotCalled] = []
    left = deque(read_only)
    while left:
        async with fixed.open_tools(mode) as tools:
            while left and not tools.is_stuck:
                server, tool = left.popleft()
                calls: list[Call] = []
                for each in argument_sets(tool.input_schema, values):
                    calls.append(await tools.mcp(tool.name, each, server=server))
                    if tools.is_stuck:
                        break
                if changing := [entry for each in calls for entry in each.changing]:
                    findings.append(lint_writes(server, tool.name, changing))
                if not any(each.requests for each in calls):
                    reason = "it asked GitHub for nothing, with arguments made from its schema"
                    if tools.ended:
                        reason = "its server ended when it was called, and had asked GitHub for nothing"
                    idle.append(NotCalled(server=server, tool=tool.name, reason=reason))
    return findings, len(read_only) - len(idle), tuple(idle)


async def _measure_program(
    tools: OpenTools, name: str, questions: Sequence[AskedQuestion], measuring: Measuring
) -> ProgramSurface:
    help_sizes: dict[str, HelpSize] = {}
    for command in (name, *_commands(name, questions)):
        text = (await tools.shell(f"{command} --help")).answer.text
        help_size = HelpSize(command=command, size=measuring.ruler.measure(text), digest=digest_of(text))
        help_sizes.setdefault(text, help_size)
    return ProgramSurface(
        name=name,
        version=_program_version(tools.mode, name),
        help=tuple(help_sizes.values()),
        size=total(each.size for each in help_sizes.values()),
    )


def _commands(program: str, questions: Sequence[AskedQuestion]) -> tuple[str, ...]:
    """Return the commands of a program that the table uses: its first words, up to a flag or a value."""
    commands: dict[str, None] = {}
    for each in questions:
        for step in each.steps({}):
            if isinstance(step, ToolCall) or not step.startswith(f"{program} "):
                continue
            words: list[str] = []
            for word in shlex.split(step)[:_MOST_WORDS]:
                if not _WORD.fullmatch(word):
                    break
                words.append(word)
            commands[" ".join(words)] = None
    return tuple(each for each in commands if each != program)


def _program_version(mode: Mode, name: str) -> str | None:
    for each in cast("list[dict[str, str | None]]", mode.facts.get("tools") or []):
        if each["name"] == name:
            return each["version"]
    return None


def _server_version(mode: Mode, name: str) -> str | None:
    servers = cast("dict[str, dict[str, str | None]]", mode.facts.get("mcp_servers") or {})
    return servers.get(name, {}).get("version")


def measure_tool_file(path: Path, measuring: Measuring) -> ModeSurface:
    """Measure a server that is not here by the list of its tools in a file."""
    tools = read_tools(path)
    server = measure_tools(path.stem, None, tools, "", measuring.ruler)
    return ModeSurface(
        name=path.name,
        instructions=measuring.ruler.measure(""),
        servers=(server,),
        told=server.size,
        lint=lint_tools(path.stem, tools),
        by_schema_only=True,
        is_abridged=any(each.is_abridged for each in tools),
    )
