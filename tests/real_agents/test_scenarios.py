"""Real agents on the emulator: real tools, real MCP sessions, and a model that decides as the solution says."""

import json
from pathlib import Path

import pytest
from agent_rows import assert_all_passed
from scripted_sessions import REAL_KEY

from ghx_bench.scoring.github_metrics import EVAL_METRICS
from ghx_profiler.agents.drivers.recipe import Recipe, recipe_names
from ghx_profiler.agents.testing import Pace
from ghx_profiler.agents.tools.toolset import server_tool_of
from ghx_profiler.reports import generate_report

from .conftest import RealAgents, find_processes, with_mark

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

MODES = ("baseline", "ghx", "ghx-mcp")
SCENARIOS = ("issue-triage-001", "pr-reply-threads-001", "repo-release-notes-001")
SHELLS = {"bash", "Bash", "shell", "exec_command", "run_shell_command", "developer__shell"}
SKILL, DESCRIPTION = "tune-xylophones", "Use this where reports are about the xylophone-4711."
WEB = {"webfetch", "websearch", "WebFetch", "WebSearch", "web_search", "web_fetch", "google_web_search"}


@pytest.mark.parametrize("agent", recipe_names())
async def test_an_agent_passes_in_every_mode_and_its_tokens_are_those_of_the_script(
    agent: str, agents: RealAgents
) -> None:
    recipe = with_mark(agents.install(agent), agents.mark())

    ran = await agents.run(recipe, modes=MODES, scenarios=SCENARIOS)

    assert_all_passed(ran, len(MODES) * len(SCENARIOS))
    assert not find_processes(agents.mark())
    assert {key for call in ran.endpoint.calls for key in call.keys} == {REAL_KEY}
    for row in ran.rows:
        category = {"baseline": "gh_cli", "ghx": "ghx", "ghx-mcp": "mcp"}[row.mode]
        assert row.tool_calls.by_category.keys() >= {category}, row.mode
        assert row.tool_calls.failed == 0
    for file in ran.directory.rglob("*"):
        assert not file.is_file() or REAL_KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("agent", ["claude-print", "codex-exec", "opencode-run"])
async def test_what_a_command_says_of_its_tokens_is_what_the_meter_counts_without_side_calls(
    agent: str, agents: RealAgents
) -> None:
    ran = await agents.run(agents.install(agent), modes=["ghx-mcp"])

    (row,) = ran.rows
    assert row.reported is not None
    assert row.model_calls is not None
    own, side = row.reported.tokens, row.model_calls.side_tokens
    assert own is not None
    for part in ("input", "cache_read", "total"):
        assert getattr(own, part) == getattr(row.tokens, part) - getattr(side, part), part


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
async def test_tokens_of_a_title_that_takes_its_time_are_counted(agent: str, agents: RealAgents) -> None:
    ran = await agents.run_cases(agents.install(agent), {"slow": {"side_pace": Pace(before_first_s=1.5)}})

    (row,) = ran.rows
    assert row.success, row.error
    assert row.tokens == ran.claimed(row)


@pytest.mark.parametrize("agent", recipe_names())
async def test_what_the_mode_tells_its_agent_is_in_the_first_request(agent: str, agents: RealAgents) -> None:
    told = "Beware of the word xylophone-4711."
    mode = {"name": "told", "extends": "baseline", "instructions": told}

    ran = await agents.run(agents.install(agent), modes=["told"], mode_definitions=[mode])

    first = next(call for call in ran.endpoint.calls if not call.is_side)
    assert told in json.dumps(first.body, ensure_ascii=False)
    assert_all_passed(ran, 1)


async def run_with_skill(recipe: Recipe, agents: RealAgents, folder: Path) -> str:
    """Run an agent in a mode with a skill, and return its first request."""
    (folder / "skill").mkdir()
    head = f"---\nname: {SKILL}\ndescription: {DESCRIPTION}\n---\n"
    (folder / "skill" / "SKILL.md").write_text(f"{head}\nListen first.\n")
    mode = {"name": "skilled", "extends": "baseline", "skills": [str(folder / "skill")]}
    ran = await agents.run(recipe, modes=["skilled"], mode_definitions=[mode])
    assert_all_passed(ran, 1)
    return json.dumps(next(call for call in ran.endpoint.calls if not call.is_side).body, ensure_ascii=False)


@pytest.mark.parametrize("agent", recipe_names())
async def test_a_skill_of_the_mode_is_told_to_the_model_as_the_agent_does_it(
    agent: str, agents: RealAgents, tmp_path: Path
) -> None:
    first = await run_with_skill(agents.install(agent), agents, tmp_path)

    assert SKILL in first
    assert DESCRIPTION in first


@pytest.mark.parametrize("agent", recipe_names())
async def test_an_agent_without_shell_and_web_offers_its_model_neither(agent: str, agents: RealAgents) -> None:
    mode = {"name": "bare", "extends": "ghx-mcp", "shell": False, "web": False}

    ran = await agents.run(agents.install(agent), modes=["bare"], mode_definitions=[mode])

    first = next(call for call in ran.endpoint.calls if not call.is_side)
    own = {name for name in first.tools_offered if server_tool_of(name, ["ghx"]) is None}
    assert not own & (SHELLS | WEB)
    assert_all_passed(ran, 1)


async def test_four_sessions_at_once_do_not_get_in_each_others_way(agents: RealAgents) -> None:
    ran = await agents.run(agents.install("goose"), modes=["baseline", "ghx-mcp"], repetitions=2, concurrency=4)

    assert_all_passed(ran, 4)


async def test_several_agents_make_one_run_with_one_report(agents: RealAgents) -> None:
    names = ("goose", "codex", "claude")
    recipes = [agents.install(name) for name in names]

    ran = await agents.run(*recipes, modes=MODES, scenarios=["issue-triage-001", "pr-reply-threads-001"])

    assert_all_passed(ran, 18)
    report = generate_report([ran.directory], metrics=EVAL_METRICS).directory
    summary = json.loads((report / "data" / "summary.json").read_text())
    assert (summary["rows"], summary["control"]) == (18, False)
    assert set(summary["modes"]) == {f"{agent} / {mode}" for agent in names for mode in MODES}
    planned = [each for each in summary["comparisons"] if each["family"] == "primary"]
    compared = {(each["a"], each["b"]) for each in planned}
    # Two modes next to the reference with each agent, and two agents next to the first in each mode.
    assert len(compared) == 12
    assert all(len(set(a.split(" / ")) & set(b.split(" / "))) == 1 for a, b in compared)
    # All passed, and twice is not often enough for anything else.
    assert {each["verdict"] for each in planned} == {"inconclusive", "not estimable"}
    text = (report / "report.md").read_text()
    assert f"{len(planned)} planned comparisons of 3 agents in 3 modes" in text
