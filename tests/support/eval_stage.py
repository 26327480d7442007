"""Scenarios for tests of the line from a scenario to its score, on a world with two fixtures."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ghx_bench.fixtures.library import load_fixtures
from ghx_bench.scenario.condition_base import CustomScorer
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scoring.checkpoints import CheckpointScorer
from ghx_bench.stages.handles import StageHandles
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.evidence import Answer, Mode, Stage
from ghx_profiler.records.score import Score
from ghx_profiler.testing import sample_cell, sample_evidence
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.environment import client_from_environment

LIBRARY = load_fixtures()
MODE = Mode(name="sample-mode")
REPOSITORY = {"owner": "{{owner}}", "name": "{{repo_name}}"}
ISSUE = {**REPOSITORY, "issueNumber": "{{issue_number}}"}
PULL = {**REPOSITORY, "prNumber": "{{pr_number}}"}


def checkpoint(task: str, given: Mapping[str, Any], condition: Mapping[str, Any], id_: str = "check") -> dict[str, Any]:
    """Return a checkpoint as it stands in a file."""
    return {"id": id_, "description": f"{id_} holds", "task": task, "input": dict(given), "condition": dict(condition)}


def scenario(*checkpoints: Mapping[str, Any], allowed: object = None, **changes: Any) -> EvalScenario:
    """Return a scenario about an issue for triage and a pull request with review threads."""
    fields: dict[str, Any] = {
        "id": "staged-001",
        "name": "Staged",
        "description": "A task on GitHub",
        "prompt": "Look at {{repo}}#{{issue_number}} and {{repo}}#{{pr_number}} ({{run_id}}).",
        "timeoutMs": 60_000,
        "category": "issue",
        "difficulty": "basic",
        "fixture": {
            "repo": "{{fixture_repo}}",
            "requires": ["issue_for_triage", "pr_with_mixed_threads"],
            "bindings": {"issue_number": "issue_for_triage.number", "pr_number": "pr_with_mixed_threads.number"},
        },
        "assertions": {"checkpoints": list(checkpoints)},
        **({} if allowed is None else {"extensions": {"allowedChanges": allowed}}),
        **changes,
    }
    return EvalScenario.model_validate(fields)


def lifecycle_for(*scenarios: EvalScenario, repo: str | None = None) -> TwinLifecycle:
    """Return the lifecycle of a run of these scenarios."""
    return TwinLifecycle(repo, scenarios, LIBRARY)


def staged(
    lifecycle: TwinLifecycle, scenario: EvalScenario, **cell: Any
) -> AbstractAsyncContextManager[Stage[EvalScenario]]:
    """Open the stage of one attempt."""
    return lifecycle.cell(sample_cell(scenario_id=scenario.id, **cell), scenario, MODE)


def agent_on(stage: Stage[Any]) -> GitHubClient:
    """Return access to GitHub as the agent on a stage has it: by its environment alone."""
    return client_from_environment(stage.environment)


def handles_of(stage: Stage[Any]) -> StageHandles:
    handles = stage.handles
    assert isinstance(handles, StageHandles)
    return handles


def with_observer(stage: Stage[Any], observer: Callable[[], AbstractAsyncContextManager[GitHubClient]]) -> Stage[Any]:
    """Return the stage with another way for the bench to look at it."""
    return replace(stage, handles=replace(handles_of(stage), observer=observer))


async def scored(
    stage: Stage[EvalScenario], scorers: Mapping[str, CustomScorer] | None = None, *, answer: str | None = None
) -> Score:
    """Judge what is on a stage now, and what was said."""
    said = None if answer is None else Answer(text=answer)
    evidence = sample_evidence(scenario=stage.scenario, stage=stage, answer=said)
    return await CheckpointScorer(scorers or {}).score(evidence)


def folders_in(place: Path) -> Sequence[str]:
    """Name what is in a folder."""
    return sorted(each.name for each in place.iterdir())
