"""A run put together: everything is loaded once, before anything else, and can be built again in another process."""

import json
import os
import pickle
import re
import sys
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from process_executor import ProcessExecutor

from ghx_base.errors import OperationError
from ghx_bench.assembly import assemble, open_setup_elsewhere
from ghx_bench.catalogue import Catalogue
from ghx_bench.modes.resolver import Modes
from ghx_bench.project.config import EvalConfig
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.agents.controls.nop import NopProvider
from ghx_profiler.config import ModelService
from ghx_profiler.contracts import Executor
from ghx_profiler.errors import NotPicklableError
from ghx_profiler.evidence import Mode
from ghx_profiler.plan.blocks import Share
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import SuiteResult

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_scenarios_are_loaded_and_modes_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    take, resolve = Catalogue.take, Modes.resolve

    def counted_take(catalogue: Catalogue, ids: Sequence[str]) -> Sequence[EvalScenario]:
        asked.append(list(ids))
        return take(catalogue, ids)

    async def counted_resolve(modes: Modes, name: str) -> Mode:
        asked.append(name)
        return await resolve(modes, name)

    monkeypatch.setattr(Catalogue, "take", counted_take)
    monkeypatch.setattr(Modes, "resolve", counted_resolve)
    config = EvalConfig.model_validate(
        {
            "modes": ["baseline"],
            "provider": {"id": "nop"},
            "scenarios": {"ids": ["issue-triage-001"]},
            "execution": {"repetitions": 1, "warmup": False},
            "output": {"results_dir": str(tmp_path / "results")},
        }
    )

    async with assemble(Catalogue(config), environ=os.environ, project=Path.cwd()) as evaluation:
        result = await evaluation.run()

    assert result.measured == 1
    assert asked == [["issue-triage-001"], "baseline"]


def settings(results: Path, **changes: Any) -> EvalConfig:
    fields: dict[str, Any] = {
        "modes": ["baseline", "ghx"],
        "agents": ["reference", "nop"],
        "scenarios": {"ids": ["issue-triage-001"]},
        "execution": {"repetitions": 1, "warmup": False},
        "output": {"results_dir": str(results)},
    }
    return EvalConfig.model_validate({**fields, **changes})


async def run_with(config: EvalConfig, executor: Executor | None = None) -> SuiteResult:
    async with assemble(Catalogue(config), environ=os.environ, project=Path.cwd(), executor=executor) as evaluation:
        return await evaluation.run()


def facts_of(result: SuiteResult) -> list[dict[str, Any]]:
    """Return what the rows of a run say, without times, places, ids of sessions, and the port of the server."""
    told = (result.directory / "rows.jsonl").read_text().replace(result.run_id, "RUN")
    told = re.sub(r'"durationMs":\s*\d+', '"durationMs":0', re.sub(r"127\.0\.0\.1:\d+", "HOST", told))
    private = {"sessionId", "startedAt", "completedAt", "timing", "attempts", "machine"}
    rows = [json.loads(line) for line in told.splitlines()]
    return [{key: value for key, value in row.items() if key not in private} for row in rows]


@pytest.mark.nightly
async def test_a_worker_in_another_process_measures_a_scenario_as_this_one_does(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()

    here = await run_with(settings(tmp_path / "here"))
    elsewhere = await run_with(settings(tmp_path / "there"), ProcessExecutor(1, folder=str(tmp_path / "away")))

    assert facts_of(here) == facts_of(elsewhere)
    assert [(row["agent"], row["success"]) for row in facts_of(here)].count(("reference", True)) == 2
    assert here.measured == elsewhere.measured == 4
    units = [json.loads((each.directory / "run.json").read_text())["metricUnits"] for each in (here, elsewhere)]
    assert units[0] == units[1] != {}


AGENT = """
import os
from contextlib import asynccontextmanager
from ghx_profiler.agents.controls.nop import NopSession

class Agent:
    name = "mine"

    def __init__(self, mood):
        self.version = f"{mood} {os.getpid()}"

    @asynccontextmanager
    async def session(self, request):
        open(os.path.join(os.environ["SEEN"], str(os.getpid())), "w").close()
        yield NopSession()
"""


async def test_agents_scorers_and_modes_of_a_project_are_built_where_the_worker_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, away, seen = (tmp_path / name for name in ("project", "away", "seen"))
    for folder in (project / "scenarios", away, seen):
        folder.mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("SEEN", str(seen))
    (project / "agent.py").write_text(AGENT)
    (project / "scorers.py").write_text("SCORERS = {'anything': lambda data, params: True}\n")
    (project / "mine.yaml").write_text("name: mine\nextends: baseline\nenvironment: {MOOD: calm}\n")
    (project / "scenarios" / "own-001.json").write_text(json.dumps(a_scenario()))
    config = settings(
        tmp_path / "results",
        modes=["mine"],
        mode_files=["mine.yaml"],
        agents=[{"id": "./agent.py", "options": {"mood": "calm"}}],
        scenario_dirs=["scenarios"],
        scorers="scorers.py",
        scenarios={"ids": ["own-001"]},
    )

    result = await run_with(config, ProcessExecutor(1, folder=str(away)))

    [row] = read_rows(result.directory / "rows.jsonl")
    assert (row.agent, row.success) == ("mine", True)
    [worker] = (each.name for each in seen.iterdir())
    assert worker != str(os.getpid()), "the session was held in this process"
    assert row.agent_version == f"calm {os.getpid()}", "the version is read once, when the run is planned"


def a_scenario() -> dict[str, Any]:
    return {
        "id": "own-001",
        "name": "Own",
        "description": "A scenario of the project",
        "prompt": "Do nothing.",
        "timeoutMs": 60_000,
        "category": "repo",
        "difficulty": "basic",
        "fixture": {"repo": "{{fixture_repo}}", "requires": ["issue_for_triage"], "bindings": {}},
        "assertions": {
            "checkpoints": [
                {
                    "id": "asked",
                    "description": "The project's scorer is asked",
                    "task": "repo.view",
                    "input": {"owner": "{{owner}}", "name": "{{repo_name}}"},
                    "condition": {"type": "custom", "scorer": "anything"},
                }
            ]
        },
    }


async def test_a_mode_takes_the_solution_of_the_one_it_extends(tmp_path: Path) -> None:
    config = settings(tmp_path, modes=["mine"], mode_definitions=[{"name": "mine", "extends": "baseline"}])

    async with assemble(Catalogue(config), environ=os.environ, project=tmp_path) as evaluation:
        assert evaluation.plan.matrix.modes == ("mine",)


async def test_what_crosses_to_a_worker_has_no_secret_in_it(tmp_path: Path) -> None:
    mode = {"name": "mine", "extends": "baseline", "environment": {"KEY": "${MY_TOKEN}"}}
    config = settings(tmp_path, modes=["mine"], agents=["nop"], mode_definitions=[mode])
    environ = {**os.environ, "MY_TOKEN": "s3cr3t-of-mine"}

    async with assemble(Catalogue(config), environ=environ, project=tmp_path) as evaluation:
        assert evaluation.setup.modes["mine"].environment["KEY"] == "s3cr3t-of-mine"
        assert b"s3cr3t-of-mine" not in pickle.dumps(evaluation.spec)


async def test_an_agent_of_the_started_script_is_refused_only_where_it_would_have_to_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Scripted(NopProvider):
        name = "scripted"

    script = ModuleType("__main__")
    vars(script)["Scripted"] = Scripted
    monkeypatch.setitem(sys.modules, "__main__", script)
    config = settings(tmp_path / "results", modes=["baseline"], agents=["__main__:Scripted"])

    with pytest.raises(NotPicklableError, match="agent __main__:Scripted"):
        await run_with(config, ProcessExecutor(1))
    assert not (tmp_path / "results").exists()
    assert (await run_with(config)).measured == 1


@pytest.mark.parametrize(("limits", "most"), [({}, None), ({"sessions_at_once": 3, "requests_per_minute": 60}, 3)])
async def test_no_more_workers_are_opened_than_can_have_a_share_of_a_model_service(
    limits: dict[str, int], most: int | None, tmp_path: Path
) -> None:
    given: list[int | None] = []

    class Asked:
        @asynccontextmanager
        async def open(self, spec: Any, receive: Any) -> Any:
            given.append(spec.most_workers)
            raise OperationError("that was all")
            yield

    with pytest.raises(OperationError, match="that was all"):
        await run_with(settings(tmp_path, model_service=limits), Asked())
    assert given == [most]


@pytest.mark.slow
async def test_workers_have_shares_of_a_model_service_that_add_up_to_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[ModelService] = []
    monkeypatch.setattr("ghx_bench.agent_factory.ServiceQueue", seen.append)
    config = settings(tmp_path, model_service={"sessions_at_once": 5, "requests_per_minute": 7})
    async with assemble(Catalogue(config), environ=os.environ, project=Path.cwd()) as evaluation:
        for number in (1, 2, 3):
            async with open_setup_elsewhere(evaluation.spec, Share(number=number, count=3)):
                pass

    whole, *parts = seen
    assert (whole.sessions_at_once, whole.requests_per_minute) == (5, 7)
    assert [each.sessions_at_once for each in parts] == [2, 2, 1]
    assert [each.requests_per_minute for each in parts] == [3, 2, 2]
