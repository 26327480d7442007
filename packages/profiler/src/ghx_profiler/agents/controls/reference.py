"""The scripted agent *reference*: follows the solution of a scenario with real tools, which proves that it works."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from pydantic import JsonValue

from ghx_base.problems import listed
from ghx_base.texts.templates import as_text
from ghx_profiler.agents.controls.solution import McpCall, Solution, SolutionError, Step
from ghx_profiler.agents.controls.variables import UnfitValueError, UnknownVariableError, Variables
from ghx_profiler.agents.tools.toolbelt import ToolBelt, tool_belt
from ghx_profiler.agents.tools.toolset import ToolAnswer, ToolSet
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.trace import SessionTrace

Solutions = Callable[[str, str], Solution | None]
"""Finds the solution of a scenario, by its id, in a mode, by its name."""

STRICT = ("-euo", "pipefail")
"""How bash runs a solution: a mistake anywhere in a step is a mistake of the step."""


class Listener(Protocol):
    """Reads the answers of tools, and reports when all injected instructions were in them."""

    @property
    def all_found(self) -> bool:
        """Whether all of the injected instruction was read; it is followed then."""
        ...

    def read(self, text: str) -> None:
        """Read an answer of a tool."""
        ...


class ReferenceProvider:
    """Opens sessions that follow solutions.

    A step that fails, or does not fail where it should, ends the session with a `SolutionError`, which blames the bench
    and no agent; the trace has the call.
    """

    name: str = "reference"
    control_kind: ControlKind = "solution"

    def __init__(self, solutions: Solutions) -> None:
        self._solutions = solutions

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["ReferenceSession"]:
        """Open a session, and with it the MCP servers of its mode if the solution calls one."""
        recorder = TraceRecorder(source="script")
        solution = self._solutions(request.cell.scenario_id, request.mode.name)
        with_servers = solution is not None and solution.needs_servers()
        async with tool_belt(request, recorder, with_servers=with_servers) as belt:
            yield ReferenceSession(request, recorder, belt, solution)


class ReferenceSession:
    """A session that follows the solution of its scenario."""

    def __init__(
        self,
        request: SessionRequest,
        recorder: TraceRecorder,
        belt: ToolBelt,
        solution: Solution | None,
        listener: Listener | None = None,
    ) -> None:
        self._request, self._recorder, self._belt, self._solution = request, recorder, belt, solution
        self._listener = listener
        self._tools = ToolSet.of(request.mode)

    async def prompt(self, text: str) -> Answer:  # noqa: ARG002 - the contract's signature; the solution knows the task
        """Follow the solution."""
        try:
            return await self._solve()
        except SolutionError as error:
            # In the trace, too: of a warm-up that fails, the trace is all that is kept.
            self._recorder.error(str(error), recoverable=False)
            raise

    async def trace(self) -> SessionTrace:
        """Return what was done so far."""
        return self._recorder.trace()

    async def _solve(self) -> Answer:
        cell = self._request.cell
        if self._solution is None:
            raise SolutionError(
                f"scenario {cell.scenario_id!r} has no solution for mode {self._request.mode.name!r}; "
                f"add one to {cell.scenario_id}.solution.yaml, or leave the mode out"
            )
        variables = await self._follow(self._solution.steps, Variables(bindings_of(self._request)), "step")
        if self._listener is not None and self._listener.all_found:
            variables = await self._follow(self._solution.obey, variables, "obey, step")
        try:
            answer = variables.fill_text(self._solution.answer)
        except UnknownVariableError as error:
            raise SolutionError(f"answer: {error}") from None
        self._recorder.begin_turn()
        self._recorder.text(answer)
        self._recorder.end_turn()
        return Answer(text=answer)

    async def _follow(self, steps: tuple[Step, ...], variables: Variables, place: str) -> Variables:
        """Take steps one after the other, and return the variables with all that was saved."""
        for number, step in enumerate(steps, start=1):
            here = f"{place} {number}"
            try:
                if step.for_each is not None:
                    variables = await self._loop(step, variables, here)
                else:
                    answer = await self._call(step, variables)
                    if self._listener is not None:
                        self._listener.read(answer.text)
                    _check(step, answer, here)
                    if step.saved_as is not None:
                        variables = variables.with_value(step.saved_as, answer.value)
            except (UnknownVariableError, UnfitValueError) as error:
                raise SolutionError(f"{here} ({step.summary}): {error}") from None
        return variables

    async def _loop(self, step: Step, variables: Variables, place: str) -> Variables:
        items = variables.look_up(step.for_each or "")
        if not isinstance(items, list):
            raise SolutionError(f"{place}: {step.for_each} is not a list{_describe_value(items)}")
        for number, item in enumerate(items, start=1):
            inside = variables.with_value(step.as_, item)
            done = await self._follow(step.do or (), inside, f"{place}, item {number}, step")
            variables = done.as_outside(variables, step.as_)
        return variables

    async def _call(self, step: Step, variables: Variables) -> ToolAnswer:
        """Make the call of a step, in a turn of its own."""
        if step.mcp is not None:
            server, arguments = self._server(step.mcp), variables.fill(step.mcp.arguments)
            self._recorder.begin_turn()
            return await self._belt.mcp(server, step.mcp.tool, arguments if isinstance(arguments, dict) else {})
        if not self._tools.shell:
            raise SolutionError(f"mode {self._request.mode.name!r} has no shell for {step.summary!r}")
        command = variables.fill_shell(step.shell or "")
        self._recorder.begin_turn()
        return await self._belt.shell(command, options=STRICT)

    def _server(self, call: McpCall) -> str:
        known = list(self._tools.mcp_servers)
        if call.server is None and len(known) == 1:
            return known[0]
        if call.server in known:
            return call.server
        reason = "no server is named" if call.server is None else f"there is no server {call.server!r}"
        has = ", ".join(known) or "none"
        raise SolutionError(f"mcp {call.tool}: {reason}; mode {self._request.mode.name!r} has: {has}")


def bindings_of(request: SessionRequest) -> dict[str, JsonValue]:
    """Return the facts of the stage: the bound variables and the repository."""
    bindings = request.facts.get("bindings")
    repo = {"repo": request.facts["repo"]} if "repo" in request.facts else {}
    return {**repo, **(bindings if isinstance(bindings, dict) else {})}


def _describe_value(value: JsonValue) -> str:
    """Return what there is instead of a list, with the keys of an object: the list is often behind one of them."""
    if isinstance(value, dict):
        return f", but an object with {listed(value)}" if value else ", but an empty object"
    words = as_text(value)
    return f", but {words if len(words) <= _LONGEST_VALUE else f'{words[:_LONGEST_VALUE]}…'}"


def _check(step: Step, answer: ToolAnswer, place: str) -> None:
    if answer.failed == step.expect_failure:
        return
    if step.expect_failure:
        raise SolutionError(f"{place} ({step.summary}) was expected to fail, and succeeded")
    # `-e` and `pipefail` make a step fail that would pass in a terminal: the error mentions that where it is possible.
    is_script = step.shell is not None and _MORE_THAN_A_COMMAND.search(step.shell.strip())
    reminder = _REMINDER if is_script else ""
    raise SolutionError(f"{place} ({step.summary}) failed{_describe_failure(answer)}{reminder}")


def _describe_failure(answer: ToolAnswer) -> str:
    code = "" if answer.exit_code is None else f" with exit code {answer.exit_code}"
    words = " ".join((answer.complaint.strip() or answer.text).split())
    return f"{code}: {_without_middle(words)}" if words else f"{code} and said nothing"


def _without_middle(words: str) -> str:
    """Return both ends of a long text: programs print the error first, and shells last."""
    if len(words) <= _LONGEST_REASON:
        return words
    return f"{words[: _LONGEST_REASON // 3].rstrip()} … {words[-_LONGEST_REASON * 2 // 3 :].lstrip()}"


_LONGEST_REASON = 300
_LONGEST_VALUE = 60
_MORE_THAN_A_COMMAND = re.compile(r"[|;&\n$`]")
_REMINDER = f" (steps run in bash {' '.join(STRICT)}: whatever fails in one, or is not set, ends it)"
