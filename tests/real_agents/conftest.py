"""What tests of real agents share: agents in the cache of the repository, and the times of their sessions."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_sessions import Ran, run_scripted

from ghx_bench.agents.drivers.installation import AGENTS_FOLDER, install_agent
from ghx_bench.agents.drivers.recipe import Recipe, built_in_recipe
from ghx_bench.profiler.row import ProfileRow

AGENTS = Path(__file__).parents[2] / AGENTS_FOLDER
TIMES: list[str] = []


class RealAgents:
    """Installs agents, and runs them with a scripted model."""

    def __init__(self, results: Path) -> None:
        self._results = results

    def install(self, name: str) -> Recipe:
        """Return the recipe of an agent that is installed then."""
        recipe = built_in_recipe(name)
        install_agent(recipe, AGENTS, say=TIMES.append)
        return recipe

    async def run(self, *recipes: Recipe, modes: Sequence[str], **settings: Any) -> Ran:
        """Run agents, and take down how long their sessions took."""
        ran = await run_scripted(recipes, self._results, agents_folder=AGENTS, modes=modes, **settings)
        _note_times(ran.rows)
        return ran


@pytest.fixture
def agents(tmp_path: Path) -> RealAgents:
    """Agents, whose results are the test's own."""
    return RealAgents(tmp_path)


def _note_times(rows: Iterable[ProfileRow]) -> None:
    for row in rows:
        took = {each.label: each.duration_ms / 1000 for each in row.timing.segments}
        parts = "  ".join(f"{label} {took.get(label, 0):5.1f} s" for label in ("session", "prompt", "close"))
        TIMES.append(f"{row.agent:13}{row.mode:14}{row.scenario_id:24}{parts}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TIMES:
        terminalreporter.section("times of agents")
        for line in TIMES:
            if "installed already" not in line:
                terminalreporter.write_line(line)
