"""What a scripted model decides next: the step of a solution that follows the tool results in the request."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from ghx_base.wire import JsonObject
from ghx_profiler.agents.controls.solution import Solution, Step
from ghx_profiler.agents.controls.variables import UnfitValueError, UnknownVariableError, Variables


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShell:
    """Run a command, with whichever shell the agent offers."""

    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallServerTool:
    """Call a tool of an MCP server, under whichever name the agent offers it."""

    tool: str
    arguments: JsonObject
    server: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """End the turn with a text."""

    text: str


Decision = RunShell | CallServerTool | Say


def decide(solution: Solution, bindings: Mapping[str, JsonValue], results: Sequence[str]) -> Decision:
    """Return the step after as many steps as there are results.

    A function of the request alone: an agent that asks again, asks something else in between, or runs next to others
    cannot get the script out of step.
    """
    left = list(results)
    try:
        variables = _walk(solution.steps, Variables(bindings), left)
        return Say(text=variables.fill_text(solution.answer))
    except _NextStep as found:
        return found.decision
    except (UnknownVariableError, UnfitValueError) as error:
        return Say(text=f"The script cannot go on: {error}")


class _NextStep(Exception):  # noqa: N818 - no error: it ends the walk at the step that comes next
    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self.decision = decision


def _walk(steps: Iterable[Step], variables: Variables, left: list[str]) -> Variables:
    for step in steps:
        if step.for_each is not None:
            items = variables.look_up(step.for_each)
            if not isinstance(items, list):
                raise UnfitValueError(f"{step.for_each} is not a list")
            for item in items:
                inside = _walk(step.do or (), variables.with_value(step.as_, item), left)
                variables = inside.as_outside(variables, step.as_)
            continue
        if not left:
            raise _NextStep(_decide_step(step, variables))
        result = left.pop(0)
        if step.saved_as is not None:
            variables = variables.with_value(step.saved_as, find_value(result))
    return variables


def _decide_step(step: Step, variables: Variables) -> Decision:
    if step.mcp is None:
        return RunShell(command=variables.fill_shell(step.shell or ""))
    arguments = cast("JsonObject", variables.fill(cast("JsonValue", step.mcp.arguments)))
    return CallServerTool(tool=step.mcp.tool, arguments=arguments, server=step.mcp.server)


_OPENING = re.compile(r"[\[{]")


def find_value(text: str) -> JsonValue:
    """Return the longest JSON value in a tool's output as an agent passed it on; the text itself without one.

    The longest, because some agents repeat the command before its output, and a command may have JSON in it.
    """
    decoder, longest, value = json.JSONDecoder(), 0, cast("JsonValue", text.strip())
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        try:
            candidate, end = cast("tuple[JsonValue, int]", decoder.raw_decode(text, opening.start()))
        except ValueError:
            at = opening.end()
            continue
        if end - opening.start() > longest:
            longest, value = end - opening.start(), candidate
        at = end
    # Some agents wrap the output in JSON of their own.
    if isinstance(value, dict) and isinstance(inner := value.get("output"), str):
        return find_value(inner)
    return value


def _with(key: str, **others: JsonValue) -> Callable[[str], JsonObject]:
    return lambda command: {key: command, **others}


_SHELLS: Mapping[str, Callable[[str], JsonObject]] = {
    "bash": _with("command", description="Run a command"),
    "Bash": _with("command", description="Run a command"),
    "exec_command": _with("cmd"),
    "shell_command": _with("command"),
    "run_shell_command": _with("command", description="Run a command", is_background=False),
    "run_commands": lambda command: {"commands": [command]},
    "execute_command": _with("command", requires_approval=False),
    "shell": _with("command"),
    "developer__shell": _with("command"),
}
"""The shells of agents, by name, and the arguments that each wants."""


def find_tool(decision: RunShell | CallServerTool, offered: Sequence[str]) -> tuple[str, JsonObject] | None:
    """Return the offered tool that a decision refers to, and its arguments; `None` if it is missing."""
    match decision:
        case RunShell(command=command):
            name = next((each for each in _SHELLS if each in offered), None)
            name = name or next((each for each in offered if each.endswith("shell")), None)
            return None if name is None else (name, _SHELLS.get(name, _with("command"))(command))
        case CallServerTool(tool=tool, arguments=arguments, server=server):
            matches = [each for each in offered if re.search(rf"(?:^|[_./]){re.escape(tool)}$", each)]
            # With several servers, the same tool may be offered by more than one.
            name = next((each for each in matches if server is not None and server in each), None)
            name = name or next(iter(matches), None)
            return None if name is None else (name, arguments)
