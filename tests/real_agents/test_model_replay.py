"""A real agent with recorded answers: the same work without a model, and a change that it notices."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench_command import ghx_bench, rows_of, run_in
from traffic_project import calls_in, change_title, record_run

from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER
from ghx_profiler.agents.drivers.recipe import recipe_names
from ghx_profiler.records.causes import Cause

from .conftest import AGENTS, RealAgents

pytestmark = pytest.mark.agents

ONCE: dict[str, Any] = {"repetitions": 1, "warmup": False, "retries": 0}


@pytest.mark.parametrize("agent", recipe_names())
def test_an_agent_repeats_its_work_from_a_recording_and_a_changed_title_is_named(
    agent: str, agents: RealAgents, tmp_path: Path
) -> None:
    agents.install(agent)
    (tmp_path / AGENTS_FOLDER).parent.mkdir(parents=True)
    (tmp_path / AGENTS_FOLDER).symlink_to(AGENTS)

    def choose(url: str) -> list[Any]:
        base = url if agent in ("claude", "claude-print", "gemini") else f"{url}/v1"
        return [{"id": agent, "options": {"base_url": base, "key_env": "MY_KEY"}}]

    record_run(tmp_path, agents=choose, execution=ONCE)
    recorded = tmp_path / "recorded"
    again = ghx_bench(tmp_path, "run", "--replay-model", "recorded", "--no-report")

    assert again.returncode == 0, again.stderr
    (before,), (after,) = rows_of(recorded), rows_of(run_in(tmp_path))
    assert after.success
    assert (before.checkpoint_details, before.tokens) == (after.checkpoint_details, after.tokens)
    assert calls_in(recorded) == calls_in(run_in(tmp_path))
    assert after.model_calls is not None
    assert "divergence" not in (after.model_calls.replayed or {})
    assert json.loads((run_in(tmp_path) / "run.json").read_text())["agents"][0]["controlKind"] == "replay"

    run_in(tmp_path).rename(tmp_path / "again")
    change_title(tmp_path)
    ghx_bench(tmp_path, "run", "--replay-model", "recorded", "--no-report")
    (diverged,) = rows_of(run_in(tmp_path))
    assert diverged.cause == Cause.REPLAY_DIVERGED
    assert "half a minute" in (diverged.error or "")
    assert "ten seconds" in (diverged.error or "")
