"""What tests of real agents share: agents in the cache of the repository, and the times of their sessions."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from ghx_bench.agents.installation import AGENTS_FOLDER, install_agent
from ghx_bench.agents.recipe import Recipe, built_in_recipe
from ghx_bench.profiler.row import ProfileRow

AGENTS = Path(__file__).parents[2] / AGENTS_FOLDER
TIMES: list[str] = []


@pytest.fixture(scope="session")
def agents_folder() -> Path:
    """The folder in which agents are installed."""
    return AGENTS


@pytest.fixture(scope="session")
def installed() -> Callable[[str], Recipe]:
    """Return the recipe of an agent, which is then installed."""

    def install(name: str) -> Recipe:
        recipe = built_in_recipe(name)
        install_agent(recipe, AGENTS, say=TIMES.append)
        return recipe

    return install


@pytest.fixture
def note_times() -> Callable[[Iterable[ProfileRow]], None]:
    """Take down how long the sessions of rows took."""

    def note(rows: Iterable[ProfileRow]) -> None:
        for row in rows:
            took = {each.label: each.duration_ms / 1000 for each in row.timing.segments}
            parts = "  ".join(f"{label} {took.get(label, 0):5.1f} s" for label in ("session", "prompt", "close"))
            TIMES.append(f"{row.agent:9}{row.mode:10}{row.scenario_id:24}{parts}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TIMES:
        terminalreporter.section("times of agents")
        for line in dict.fromkeys(each for each in TIMES if "installed already" not in each):
            terminalreporter.write_line(line)
