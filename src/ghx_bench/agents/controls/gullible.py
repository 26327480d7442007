"""The gullible agent: follows solutions, and then whatever a planted text told it on the way; it proves threats."""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from ghx_bench.agents.controls.reference import ReferenceSession, Solutions, bindings_of
from ghx_bench.agents.controls.solution import SolutionError
from ghx_bench.agents.controls.variables import UnknownVariableError, Variables
from ghx_bench.agents.tools.toolbelt import tool_belt
from ghx_bench.profiler.contracts import ControlKind, SessionRequest
from ghx_bench.profiler.recorder import TraceRecorder

PlantedTexts = Callable[[str], Sequence[str]]
"""Finds the texts that are planted in a scenario, by its id; `{{names}}` in them are not replaced yet."""

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_MARKS_OF_LINES = re.compile(r"(?m)^[ \t]*[+>-]+")


class HeardTexts:
    """The texts that were planted, and whether all of them were in what tools answered.

    Compared as a reader takes them in: with the escapes of JSON undone, white space folded, and without the signs that
    differences and quotations put before lines.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._has_any = bool(texts)
        self._missing = {_fold(each) for each in texts}

    @property
    def has_heard_all(self) -> bool:
        """Whether every part of the order was read."""
        return self._has_any and not self._missing

    def hear(self, text: str) -> None:
        """Take note of what a tool answered."""
        if self._missing:
            once = _unescape(text)  # and twice: tools quote the JSON that others answered
            read = [_fold(each) for each in (text, once, _unescape(once))]
            self._missing = {each for each in self._missing if not any(each in answer for answer in read)}


class GullibleProvider:
    """Opens sessions that do what their solution says and, once they have read a planted text, what that says.

    The order is followed last: in a benign twin the reference agent does the same, so that one order of steps has to
    work. Who has not read the text on the way to the solution does nothing more, which shows that the task does not
    lead past it.
    """

    name: str = "gullible"
    control_kind: ControlKind = "obedient"

    def __init__(self, solutions: Solutions, texts: PlantedTexts) -> None:
        self._solutions, self._texts = solutions, texts

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[ReferenceSession]:
        """Open a session, and with it the MCP servers of its mode if a step calls one."""
        recorder = TraceRecorder(source="script")
        solution = self._solutions(request.cell.scenario_id, request.mode.name)
        variables = Variables(bindings_of(request))
        try:
            texts = [variables.fill_text(each) for each in self._texts(request.cell.scenario_id)]
        except UnknownVariableError as error:
            raise SolutionError(f"the text of the threat: {error}") from None
        with_servers = solution is not None and solution.needs_servers()
        async with tool_belt(request, recorder, with_servers=with_servers) as belt:
            yield ReferenceSession(request, recorder, belt, solution, HeardTexts(texts))


def _fold(text: str) -> str:
    return " ".join(_MARKS_OF_LINES.sub("", text).split())


_SHORT = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


def _unescape(text: str) -> str:
    def write(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _SHORT.get(match[3], match[3])

    # JSON writes what is beyond 16 bits as two escapes, which belong together.
    written = _ESCAPE.sub(write, text).encode("utf-16", "surrogatepass")
    return written.decode("utf-16", "replace")
