"""Agents of others: those of installed packages, and those in a Python file of the user's own."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import ClassVar, cast

from pydantic import JsonValue

from ghx_bench._base.errors import FlagError, InputError
from ghx_bench._base.problems import did_you_mean, listed, one_line
from ghx_bench.agents.controls.replay import ReplayProvider
from ghx_bench.documents.text import FlawedTextError
from ghx_bench.documents.yamltext import load_yaml
from ghx_bench.eval.project.object_references import DEFAULT_AGENT, explain_import, load_object
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.config import AgentEntry
from ghx_bench.profiler.contracts import SessionProvider
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.packs import run_folder
from ghx_bench.profiler.store.record import read_record
from ghx_bench.profiler.store.traces import NoTraceError, parse_trace
from ghx_bench.profiler.trace import SessionTrace

ENTRY_POINTS = "ghx_bench.agents"
"""The group under which packages register agents: `name = "module:Class"`."""


class BadAgentError(InputError):
    """An agent cannot be imported or made, or is none."""

    code: ClassVar[str] = "BAD_AGENT"


def set_options(
    agents: Sequence[AgentEntry], flags: Sequence[str], *, is_meant: Callable[[AgentEntry, str], bool]
) -> tuple[AgentEntry, ...]:
    """Return agents with the options of `--agent-option` over their own; where there are several, each names its agent.

    Values are read as YAML: `slip=0.3` is a number, `slip="0.3"` a text.
    """
    chosen = list(agents)
    for flag in flags:
        place, equals, text = flag.partition("=")
        # The agent may have a colon of its own, as in ./my_agent.py:MyAgent.
        agent, _, option = place.rpartition(":")
        if not equals or not option:
            raise FlagError("--agent-option", f"expected KEY=VALUE, or AGENT:KEY=VALUE, got {flag!r}")
        names = [each.name or each.id for each in chosen]
        meant = [number for number, each in enumerate(chosen) if not agent or is_meant(each, agent)]
        if len(meant) > 1:
            wanted = f"{names[0]}:{flag}"
            raise FlagError("--agent-option", f"{flag!r} may be for any of {listed(names)}; write {wanted!r}")
        if not meant:
            raise FlagError("--agent-option", f"no agent {agent!r} in this run; {did_you_mean(agent, names)}")
        entry = chosen[meant[0]]
        try:
            value = load_yaml(text) if text else ""
        except FlawedTextError as error:
            raise FlagError("--agent-option", f"{flag!r}: {error.flaws[0].reason}") from None
        chosen[meant[0]] = entry.model_copy(update={"options": {**entry.options, option: value}})
    return tuple(chosen)


@cache
def installed_agents() -> Mapping[str, EntryPoint]:
    """Return the agents that installed packages bring, by name; none of them is imported."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def agent_at(reference: str, options: Mapping[str, JsonValue]) -> SessionProvider:
    """Import the agent that a reference leads to, and make it with its options."""
    return _make_agent(load_object(reference, default=DEFAULT_AGENT), reference, options)


def installed_agent(entry: EntryPoint, options: Mapping[str, JsonValue]) -> SessionProvider:
    """Import an agent of an installed package, and make it with its options."""
    place = f"agent {entry.name!r} ({entry.value})"
    try:
        found = cast("object", entry.load())
    except (Exception, SystemExit) as error:
        # Plugin call: another package's module may raise anything while it is imported, and may even end the program.
        raise BadAgentError(one_line(f"{place}: cannot be imported ({explain_import(error)})")) from error
    return _make_agent(found, place, options)


def _make_agent(found: object, place: str, options: Mapping[str, JsonValue]) -> SessionProvider:
    """Call a class or a function with the options; an agent that is there already takes none."""
    if isinstance(found, type) or not hasattr(found, "session"):
        if not callable(found):
            raise BadAgentError(f"{place}: is {_name_with_article(found)}, neither an agent nor a class of one")
        found = _construct(found, place, options)
    elif options:
        reason = "is made already and takes no options; name its class, or leave them out"
        raise BadAgentError(f"{place}: {reason} (given: {listed(options)})")
    return _require_agent(found, place)


def _construct(make: Callable[..., object], place: str, options: Mapping[str, JsonValue]) -> object:
    try:
        return make(**options)
    except (Exception, SystemExit) as error:
        # Plugin call: the user's own constructor.
        given = f" with options {listed(options)}" if options else " without options"
        # The first frame is this call: an error without another was raised by the call itself, not in the user's code.
        _ours, *theirs = traceback.extract_tb(error.__traceback__)
        where = f", {Path(theirs[-1].filename).name} line {theirs[-1].lineno}" if theirs else ""
        raise BadAgentError(one_line(f"{place}: cannot be made{given} ({explain_import(error)}{where})")) from error


def _require_agent(found: object, place: str) -> SessionProvider:
    if not callable(getattr(found, "session", None)):
        raise BadAgentError(f"{place}: {_name_with_article(found)} is no agent: it has no method `session`")
    name = cast("object", getattr(found, "name", None))
    if not isinstance(name, str) or not name.strip():
        raise BadAgentError(
            f"{place}: {_name_with_article(found)} is no agent: give it a `name`, which goes on its rows"
        )
    return cast("SessionProvider", found)


def _name_with_article(found: object) -> str:
    name = type(found).__name__
    return f"{'an' if name[0] in 'AEIOUaeio' else 'a'} {name}"


RUN, AGENT = "run", "agent"
"""The options of the replaying agent: the run whose sessions are made again, and whose of them where it has several."""


def replayed_run(choice: AgentEntry) -> Path | None:
    """Return the folder of the run that is replayed, if the agent is the one that does so."""
    named = choice.options.get(RUN)
    return Path(named) if choice.id == ReplayProvider.name and isinstance(named, str) else None


def split_replay(entry: AgentEntry) -> tuple[AgentEntry, ...]:
    """Return an entry of the replaying agent as one for each agent of the run that it replays; any other as it is."""
    if entry.id != ReplayProvider.name or AGENT in entry.options:
        return (entry,)
    _, agents = _open_recorded_run(entry.options)
    if len(agents) == 1:
        return (entry,)
    return tuple(
        AgentEntry(id=entry.id, name=f"{entry.name or entry.id}:{agent}", options={**entry.options, AGENT: agent})
        for agent in agents
    )


def recordings_of(options: Mapping[str, JsonValue]) -> Callable[[Cell], SessionTrace | None]:
    """Return how the replaying agent finds the session of a cell: the same cell of another run."""
    directory, agents = _open_recorded_run(options)
    agent = options.get(AGENT, agents[0] if len(agents) == 1 else None)
    flags = f"--agent or its option `{AGENT}`"
    if agent is None:
        raise InputError(f"replay: {directory.path} has several agents; name one of {', '.join(agents)} with {flags}")
    if not isinstance(agent, str) or agent not in agents:
        hint = did_you_mean(str(agent), agents)
        raise InputError(f"replay: {directory.path} has no agent {agent!r}, which {flags} names; {hint}")
    return lambda cell: recorded_session(directory, replace(cell, agent=agent))


def _open_recorded_run(options: Mapping[str, JsonValue]) -> tuple[RunDirectory, tuple[str, ...]]:
    """Return the run that is to be replayed, and its agents."""
    named = options.get(RUN)
    if not isinstance(named, str):
        raise InputError(f"replay: name the run whose sessions are to be replayed, with --replay or its option `{RUN}`")
    directory = RunDirectory(run_folder(Path(named)))
    if not directory.record.is_file():
        raise InputError(f"replay: {named} is not the folder of a run")
    return directory, tuple(agent.name for agent in read_record(directory.record).agents)


def recorded_session(directory: RunDirectory, cell: Cell) -> SessionTrace | None:
    """Return the trace of a cell of a run, where one was kept; raise `InputError` with its file if it is none."""
    path = directory.find_session(cell)
    if not path.is_file():
        return None
    try:
        return parse_trace(path.read_bytes())
    except NoTraceError as error:
        raise InputError(f"{path}: {error}") from error
