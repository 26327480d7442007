"""The agent that does nothing."""

import pytest

from ghx_profiler.agents.controls.nop import NopProvider
from ghx_profiler.contracts import SessionProvider, SessionRequest
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.testing import SessionProviderContract, sample_cell


@pytest.mark.anyio
@pytest.mark.both_backends
async def test_nothing_is_done_and_nothing_is_said() -> None:
    request = SessionRequest(cell=sample_cell(), mode=Mode(name="sample-mode"))
    async with NopProvider().session(request) as session:
        answer, trace = await session.prompt("Change the world."), await session.trace()

    assert answer == Answer(text="")
    assert (trace.tool_calls, trace.summary.total_tool_calls, trace.summary.total_turns) == ((), 0, 1)
    assert trace.summary.total_tokens.total is None


def test_reports_know_it_for_a_control() -> None:
    assert NopProvider.control_kind == "nothing"


class TestNop(SessionProviderContract):
    def make_provider(self) -> SessionProvider:
        return NopProvider()

    # It can neither be slow nor fail, and tells nothing of its environment.
    test_a_cancelled_prompt_stops_and_can_be_traced = None
    test_a_failed_prompt_can_be_traced = None
    test_nothing_is_left_of_a_cancelled_session = None
    test_the_environment_belongs_to_the_session = None
