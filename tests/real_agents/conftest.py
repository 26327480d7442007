"""What tests of real agents share: agents in the cache of the repository, cases as modes, and what sessions took."""

import fcntl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from scripted_sessions import MODEL, MakeAgent, Ran, run_scripted

from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER, install_agent
from ghx_profiler.agents.drivers.loop import LoopProvider
from ghx_profiler.agents.drivers.loop_limits import ModelRoute
from ghx_profiler.agents.drivers.recipe import Recipe, built_in_recipe, recipe_names
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.config import Budget, Budgets
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.records.row import ProfileRow

AGENTS = Path(__file__).parents[2] / AGENTS_FOLDER
ALL_AGENTS = (*recipe_names(), "loop")
MARK = "TEST_MARK"
"""The variable by which the processes of a session are found."""
NOTE = "session of an agent"


class RealAgents:
    """Installs agents, and runs them with a scripted model; `note` is told of each of their sessions."""

    def __init__(self, results: Path, note: Callable[[str], None]) -> None:
        self.results = results
        self._note = note

    def install(self, name: str) -> Recipe:
        """Return the recipe of an agent that is installed then; one process installs, others wait for it."""
        recipe = built_in_recipe(name)
        AGENTS.mkdir(parents=True, exist_ok=True)
        with (AGENTS / "tests.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            install_agent(recipe, AGENTS, report=lambda _: None)
        return recipe

    def find(self, name: str) -> Recipe | MakeAgent:
        """Return what an agent is run by: its recipe, or what makes the agent `loop`, which has none."""
        return make_loop("openai-chat") if name == "loop" else self.install(name)

    async def run(self, *agents: Recipe | MakeAgent, modes: Sequence[str], **settings: Any) -> Ran:
        """Run agents, and take down how long their sessions took and what they sent."""
        ran = await run_scripted(agents, self.results, agents_folder=AGENTS, modes=modes, **settings)
        for line in _describe_sessions(ran.rows):
            self._note(line)
        return ran

    async def run_cases(
        self, agent: Recipe | MakeAgent, cases: Mapping[str, Mapping[str, Any]], concurrency: int = 2, **settings: Any
    ) -> Ran:
        """Run an agent once in each case: cases are modes like `baseline`, with scripts of their own.

        The processes of a case are found by its mark.
        """
        modes = [{"name": case, "extends": "baseline", "environment": {MARK: self.mark(case)}} for case in cases]
        return await self.run(
            agent, modes=tuple(cases), mode_definitions=modes, scripts=cases, concurrency=concurrency, **settings
        )

    def mark(self, case: str = "") -> str:
        """Return the mark of a case, with which those of all cases begin."""
        return f"{self.results}/{case}"


@pytest.fixture
def agents(tmp_path: Path, record_property: Callable[[str, object], None]) -> RealAgents:
    """Agents, whose results are the test's own."""
    return RealAgents(tmp_path, lambda line: record_property(NOTE, line))


def make_loop(wire: WireKind, session_budget: Budget | None = None) -> MakeAgent:
    """Return what makes the agent `loop`, with the model of the script."""
    budgets = Budgets(session=session_budget or Budget())

    def make(providers: Mapping[WireKind, ModelProvider]) -> LoopProvider:
        return LoopProvider({MODEL: ModelRoute(wire=wire, model=MODEL)}, {wire: providers[wire]}, budgets=budgets)

    return make


def with_mark(recipe: Recipe, mark: str) -> Recipe:
    """Return a recipe whose processes can be found by a mark in their environment."""
    return recipe.model_copy(update={"environment": {**recipe.environment, MARK: mark}})


def find_processes(mark: str) -> list[psutil.Process]:
    """Return what runs with a mark, or with one that begins so."""
    return [process for process in psutil.process_iter() if _has_mark(process, mark)]


def _has_mark(process: psutil.Process, mark: str) -> bool:
    with suppress(psutil.Error):
        return process.environ().get(MARK, "").startswith(mark) and process.status() != psutil.STATUS_ZOMBIE
    return False


def _describe_sessions(rows: Iterable[ProfileRow]) -> Iterator[str]:
    """Yield how long each session took, and how much its conversation sent to the model, call by call added up."""
    for row in rows:
        took = {each.label: each.duration_ms / 1000 for each in row.timing.segments}
        parts = "  ".join(f"{label} {took.get(label, 0):5.1f} s" for label in ("session", "prompt", "close"))
        sent = 0 if row.token_anatomy is None else sum(row.token_anatomy.model_dump().values())
        calls = 0 if row.model_calls is None else row.model_calls.total - row.model_calls.side
        asked = f"{calls:3} calls {sent / 1000:6.0f} KB"
        yield f"{row.agent:13} {row.mode:18} {row.scenario_id:24}{parts}  {asked}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, [])]
    lines = [line for each in reports if each.when == "call" for name, line in each.user_properties if name == NOTE]
    if lines:
        terminalreporter.section("sessions of agents")
        for line in sorted(lines):
            terminalreporter.write_line(line)
