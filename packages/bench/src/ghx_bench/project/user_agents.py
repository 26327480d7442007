"""Third-party agents: those of installed packages, and those in a user's Python file."""

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import ClassVar, cast

from pydantic import JsonValue

from ghx_base.documents.text import FlawedTextError
from ghx_base.documents.yamltext import load_yaml
from ghx_base.errors import FlagError, InputError
from ghx_base.problems import did_you_mean, listed, one_line
from ghx_bench.project.loop_agent import LOOP, RouteOptions
from ghx_bench.project.object_references import (
    DEFAULT_AGENT,
    explain_import,
    is_recipe_file,
    is_reference,
    load_object,
)
from ghx_profiler.agents.controls.replay import ReplayProvider
from ghx_profiler.agents.drivers.recipe import recipe_names
from ghx_profiler.config import AgentEntry
from ghx_profiler.contracts import SessionProvider
from ghx_profiler.control_kinds import CONTROLS
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import run_folder
from ghx_profiler.store.record import read_record
from ghx_profiler.store.traces import NoTraceError, parse_trace

ENTRY_POINTS = "ghx_bench.agents"
"""The group under which packages register agents: `name = "module:Class"`."""


_TASK = "task"
_HINT = f"; a function that is an agent itself is `async`, or calls its first parameter `{_TASK}`"


class BadAgentError(InputError):
    """An agent cannot be imported or created, or is not an agent."""

    code: ClassVar[str] = "BAD_AGENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFunction:
    """A function that is an agent itself, and the options that the bench does not keep for itself."""

    function: Callable[..., object]
    arguments: Mapping[str, JsonValue]


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
        indexes = [number for number, each in enumerate(chosen) if not agent or is_meant(each, agent)]
        if len(indexes) > 1:
            option_name = f"{names[0]}:{flag}"
            raise FlagError("--agent-option", f"{flag!r} may be for any of {listed(names)}; write {option_name!r}")
        if not indexes:
            raise FlagError("--agent-option", f"no agent {agent!r} in this run; {did_you_mean(agent, names)}")
        entry = chosen[indexes[0]]
        try:
            value = load_yaml(text) if text else ""
        except FlawedTextError as error:
            raise FlagError("--agent-option", f"{flag!r}: {error.flaws[0].reason}") from None
        chosen[indexes[0]] = entry.model_copy(update={"options": {**entry.options, option: value}})
    return tuple(chosen)


@cache
def installed_agents() -> Mapping[str, EntryPoint]:
    """Return the agents that installed packages bring, by name; none of them is imported."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def agent_at(reference: str, options: Mapping[str, JsonValue]) -> SessionProvider | AgentFunction:
    """Import the agent that a reference leads to, and make it with its options."""
    return _make_agent(load_object(reference, default=DEFAULT_AGENT), reference, options)


def require_known_agent(name: str, own: Sequence[AgentEntry]) -> None:
    """Refuse a name that neither the file nor any package has, with those of the file among the known."""
    others = (*(each.agent for each in CONTROLS.values()), LOOP, *recipe_names(), *installed_agents())
    if name not in others and not (is_reference(name) or is_recipe_file(name)):
        raise UnknownNameError("agent", name, known={*(each.name or each.id for each in own), *others})


def check_agent(entry: AgentEntry) -> None:
    """Raise `InputError` if an agent is not there, or is a function that cannot be called with its options.

    The file of an agent is executed. No instance is created: that can need more than the machine of a check has.
    """
    if is_recipe_file(entry.id):
        if not Path(entry.id).is_file():
            raise BadAgentError(f"{entry.id}: no such file")
    elif not is_reference(entry.id):
        require_known_agent(entry.id, ())
    else:
        # What the user's own code prints must not get between the lines of --json.
        with redirect_stdout(sys.stderr):
            agent = load_object(entry.id, default=DEFAULT_AGENT)
        if not callable(agent):
            _require_agent(agent, entry.id)
        elif is_agent_function(agent):
            _take_function(agent, entry.id, entry.options)


def installed_agent(entry: EntryPoint, options: Mapping[str, JsonValue]) -> SessionProvider | AgentFunction:
    """Import an agent of an installed package, and make it with its options."""
    place = f"agent {entry.name!r} ({entry.value})"
    try:
        agent = cast("object", entry.load())
    except (Exception, SystemExit) as error:
        # Plugin call: another package's module may raise anything while it is imported, and may even end the program.
        raise BadAgentError(one_line(f"{place}: cannot be imported ({explain_import(error)})")) from error
    return _make_agent(agent, place, options)


def is_agent_function(value: object) -> bool:
    """Return whether an object is a function that gets tasks, and not one that makes agents: by its first parameter.

    Of functions that are `async`, the name of that is left to the user.
    """
    if not inspect.isfunction(value):
        return False
    is_async = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value)
    return is_async or next(iter(inspect.signature(value).parameters), None) == _TASK


def _make_agent(value: object, place: str, options: Mapping[str, JsonValue]) -> SessionProvider | AgentFunction:
    """Call a class or a function with the options; an agent that is there already takes none."""
    if callable(value) and is_agent_function(value):
        return _take_function(value, place, options)
    if isinstance(value, type) or not hasattr(value, "session"):
        if not callable(value):
            raise BadAgentError(f"{place}: is {_name_with_article(value)}, neither an agent nor a class of one")
        agent = _construct(value, place, options)
        return _require_agent(agent, place, hint=_HINT if inspect.isfunction(value) else "")
    if options:
        reason = "is made already and takes no options; name its class, or leave them out"
        raise BadAgentError(f"{place}: {reason} (given: {listed(options)})")
    return _require_agent(value, place)


def _take_function(function: Callable[..., object], place: str, options: Mapping[str, JsonValue]) -> AgentFunction:
    """Return a function that is an agent; raise `BadAgentError` if it cannot be called with a task and its options."""
    arguments = {name: value for name, value in options.items() if name not in RouteOptions.model_fields}
    params = f"its task and options {listed(arguments)}" if arguments else "its task and no options"
    try:
        inspect.signature(function).bind(None, **arguments)
    except TypeError as error:
        raise BadAgentError(
            one_line(
                f"{place}: cannot be called with {params} ({error}); an agent takes its task first, then its options"
            )
        ) from None
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadAgentError(f"{place}: is a generator, which has many answers; return the one text")
    return AgentFunction(function=function, arguments=arguments)


def _construct(make: Callable[..., object], place: str, options: Mapping[str, JsonValue]) -> object:
    try:
        return make(**options)
    except (Exception, SystemExit) as error:
        # Plugin call: the user's own constructor.
        options_words = f" with options {listed(options)}" if options else " without options"
        # The first frame is this call: an error without another was raised by the call itself, not in the user's code.
        _ours, *theirs = traceback.extract_tb(error.__traceback__)
        where = f", {Path(theirs[-1].filename).name} line {theirs[-1].lineno}" if theirs else ""
        hint = _HINT if inspect.isfunction(make) and not theirs else ""
        raise BadAgentError(
            one_line(f"{place}: cannot be made{options_words} ({explain_import(error)}{where}){hint}")
        ) from error


def _require_agent(value: object, place: str, hint: str = "") -> SessionProvider:
    if not callable(getattr(value, "session", None)):
        raise BadAgentError(f"{place}: {_name_with_article(value)} is no agent: it has no method `session`{hint}")
    name = cast("object", getattr(value, "name", None))
    if not isinstance(name, str) or not name.strip():
        raise BadAgentError(
            f"{place}: {_name_with_article(value)} is no agent: give it a `name`, which goes on its rows"
        )
    return cast("SessionProvider", value)


def _name_with_article(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeio' else 'a'} {name}"


RUN, AGENT = "run", "agent"
"""The options of the replaying agent: the run whose sessions are made again, and whose of them where it has several."""


def replayed_run(choice: AgentEntry) -> Path | None:
    """Return the folder of the run that is replayed, if the agent is the one that does so."""
    run_name = choice.options.get(RUN)
    return Path(run_name) if choice.id == ReplayProvider.name and isinstance(run_name, str) else None


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
    run_name = options.get(RUN)
    if not isinstance(run_name, str):
        raise InputError(f"replay: name the run whose sessions are to be replayed, with --replay or its option `{RUN}`")
    directory = RunDirectory(run_folder(Path(run_name)))
    if not directory.record.is_file():
        raise InputError(f"replay: {run_name} is not the folder of a run")
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
