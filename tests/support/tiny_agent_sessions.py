"""Sessions of the small agent in tiny_acp_agent.py, whichever protocol it is driven by."""

import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import psutil
import pytest
from metered_conversations import StandingClock
from wire_clients import wait_until

from ghx_profiler.agents.drivers.installation import find_launch
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.drivers.recipe_provider import RecipeProvider
from ghx_profiler.agents.testing import Fault, Pace, Script, ScriptedEndpoint
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.records.causes import Cause, TransientError
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.testing import SessionProviderContract, sample_cell

P = TypeVar("P", bound=RecipeProvider)

TINY_AGENT = Path(__file__).with_name("tiny_acp_agent.py")
TINY_MODEL = {
    "wire": "openai-chat",
    "environment": {"TINY_URL": "${BASE_URL}", "TINY_KEY": "${KEY}", "TINY_MODEL": "${MODEL}"},
}
"""What a recipe of it says where a model tells it what to do."""

PATIENCE_S = 60
_PLAIN = Mode(name="some")


def request(tmp_path: Path, mode: Mode = _PLAIN, **environment: str) -> SessionRequest:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TINY_LOG": str(tmp_path / "log"),
        "GITHUB_TOKEN": "t0ken",
        **environment,
    }
    return SessionRequest(cell=sample_cell(), mode=mode, environment=variables, directory=work)


async def hold(agent: RecipeProvider, wanted: SessionRequest, prompt: str) -> tuple[Answer, SessionTrace]:
    with anyio.fail_after(PATIENCE_S):
        async with agent.session(wanted) as session:
            return await session.prompt(prompt), await session.trace()


@asynccontextmanager
async def with_model(kind: type[P], recipe: Recipe, script: Script) -> AsyncGenerator[tuple[P, ScriptedEndpoint]]:
    """Hold an agent that asks a scripted model what to do."""
    async with ScriptedEndpoint.open(script) as endpoint:
        agent = kind(recipe, find_launch(recipe, Path("nowhere")), endpoint.providers(key="the-real-key"))
        async with agent.run(Path("nowhere")):
            yield agent, endpoint


def log_of(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


class TinyAgentContract(SessionProviderContract):
    """The contract of providers, and what the two protocols do alike beyond it."""

    def metered(self, script: Script) -> AbstractAsyncContextManager[tuple[RecipeProvider, ScriptedEndpoint]]:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_request(self, environment: Mapping[str, str]) -> SessionRequest:
        return request(self.folder, **environment)

    def make_prompt(self) -> str:
        return "talk"

    def make_slow_prompt(self) -> str:
        return "hang"

    def make_failing_prompt(self) -> str:
        return "crash"

    def make_environment_prompt(self, variable: str) -> str:
        return f"environment {variable}"

    async def test_a_model_that_is_down_is_named_as_the_cause(self) -> None:
        down = Script(faults=(Fault(status=503),))
        async with self.metered(down) as (agent, _), agent.session(request(self.folder)) as session:
            with pytest.raises(TransientError, match="503"):
                await session.prompt("fail")
            trace = await session.trace()

        assert trace.cause is not None
        assert (trace.cause.kind, trace.cause.may_work_next_time) == (Cause.MODEL_PROVIDER, True)

    async def test_a_model_that_never_answers_is_to_blame_at_the_deadline(self) -> None:
        clock, silent = StandingClock(), Script(pace=Pace(before_first_s=PATIENCE_S))
        async with self.metered(silent) as (agent, _), agent.session(request(self.folder)) as session:
            tap = session.tap
            assert tap is not None
            tap.clock = clock
            async with anyio.create_task_group() as until_deadline:
                until_deadline.start_soon(session.prompt, "fail")
                await wait_until(lambda: tap.call_count == 1)
                clock.stands_at = 10
                until_deadline.cancel_scope.cancel()
            trace = await session.trace()

        assert trace.cause is not None
        assert (trace.cause.kind, trace.cause.may_work_next_time) == (Cause.MODEL_PROVIDER, True)
        assert "10.0 of 10.0 s" in trace.cause.message
