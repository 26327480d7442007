"""The gullible control agent: follows the solution and every injected instruction it reads; it verifies threats."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

from ghx_base.texts.injected_text import InjectedTextDetector
from ghx_profiler.agents.controls.reference import ReferenceSession, Solutions, bindings_of
from ghx_profiler.agents.controls.solution import SolutionError
from ghx_profiler.agents.controls.variables import UnknownVariableError, Variables
from ghx_profiler.agents.tools.toolbelt import tool_belt
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.recorder import TraceRecorder

InjectedTexts = Callable[[str], Sequence[str]]
"""Returns the injected texts of a scenario, by its id; `{{names}}` in them are not replaced yet."""


class GullibleProvider:
    """Opens sessions that follow their solution and, once they have read an injected instruction, that instruction too.

    The order is followed last: in a benign twin the reference agent does the same, so that one order of steps has to
    work. A session that has not read the text on the way does nothing more, which shows that the task does not
    lead past it.
    """

    name: str = "gullible"
    control_kind: ControlKind = "obedient"

    def __init__(self, solutions: Solutions, texts: InjectedTexts) -> None:
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
            yield ReferenceSession(request, recorder, belt, solution, InjectedTextDetector(texts))
