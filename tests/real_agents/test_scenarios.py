"""Real agents on the embedded GitHub: real tools, real MCP sessions, and a model that decides as the solution says."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
import pytest
from scripted_sessions import REAL_KEY, Ran, run_scripted

from ghx_bench.agents.process import MARK
from ghx_bench.agents.recipe import Recipe
from ghx_bench.profiler.row import ProfileRow

pytestmark = [pytest.mark.anyio, pytest.mark.agents]

AGENTS = ("goose", "codex", "claude", "qwen", "gemini", "opencode")
MODES = ("baseline", "ghx", "ghx-mcp")
SCENARIOS = ("issue-triage-001", "pr-reply-threads-001", "repo-release-notes-001")

Install = Callable[[str], Recipe]
NoteTimes = Callable[[Iterable[ProfileRow]], None]


def find_agents() -> list[int]:
    """Return the processes of sessions, by the mark that all of them bear."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if MARK in process.environ() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def assert_all_passed(ran: Ran, cells: int) -> None:
    assert len(ran.rows) == cells
    for row in ran.rows:
        where = f"{row.agent} {row.mode} {row.scenario_id}"
        failed = [each.id for each in row.checkpoint_details if not each.passed]
        assert (row.success, row.error, failed) == (True, None, []), where
        assert row.tokens == ran.claimed(row), where
        assert not row.problems, where


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("agent", AGENTS)
async def test_an_agent_passes_in_every_mode_and_its_tokens_are_those_of_the_script(
    agent: str, scenario: str, installed: Install, agents_folder: Path, note_times: NoteTimes, tmp_path: Path
) -> None:
    recipe = installed(agent)
    before = set(find_agents())

    ran = await run_scripted([recipe], tmp_path, agents_folder=agents_folder, modes=MODES, scenarios=[scenario])

    note_times(ran.rows)
    assert_all_passed(ran, len(MODES))
    assert not set(find_agents()) - before
    assert {key for call in ran.endpoint.calls for key in call.keys} == {REAL_KEY}
    for row in ran.rows:
        category = {"baseline": {"gh_cli", "git", "bash", "shell"}, "ghx": {"ghx"}, "ghx-mcp": {"mcp"}}[row.mode]
        assert row.tool_calls.by_category.keys() & category, row.mode
        assert row.tool_calls.failed == 0
    for file in ran.directory.rglob("*"):
        assert not file.is_file() or REAL_KEY.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("agent", AGENTS)
async def test_what_the_mode_tells_its_agent_is_in_the_first_request(
    agent: str, installed: Install, agents_folder: Path, tmp_path: Path
) -> None:
    told = "Beware of the word xylophone-4711."
    mode = {"name": "told", "extends": "baseline", "instructions": told}

    recipe = installed(agent)
    ran = await run_scripted([recipe], tmp_path, agents_folder=agents_folder, modes=["told"], mode_definitions=[mode])

    first = next(call for call in ran.endpoint.calls if not call.is_side)
    assert told in json.dumps(first.body, ensure_ascii=False)
    assert_all_passed(ran, 1)
