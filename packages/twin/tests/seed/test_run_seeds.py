"""What a seed says of workflows and their runs is what the world holds."""

from collections.abc import Generator

import pytest
from seeds import rich_world, world_of

from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.seed.building import SeedError
from ghx_twin.state.records import CheckRun, Repository, RunAttempt, Workflow
from ghx_twin.world import World


@pytest.fixture(scope="module")
def world() -> Generator[World]:
    with rich_world() as world:
        yield world


@pytest.fixture(scope="module")
def widgets(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def test_a_check_that_names_a_workflow_is_a_job_of_its_run(world: World) -> None:
    (job,) = world.database.all(CheckRun, name="nightly")
    origin = workflow_runs.origin(world, job)
    assert origin is not None
    workflow = workflow_runs.workflow_of(world, origin.run)
    assert (workflow.name, workflow.path) == ("Nightly", ".github/workflows/nightly.yml")
    assert (origin.run.event, origin.run.head_branch, origin.run.created_at) == (
        "schedule",
        "trunk",
        "2021-07-01T00:00:00Z",
    )
    assert (origin.attempt.number, origin.attempt.status, origin.attempt.conclusion) == (1, "completed", "failure")


def test_a_run_has_the_attempts_that_the_seed_tells_of(world: World, widgets: Repository) -> None:
    run = workflow_runs.run(world, widgets, 4711)
    assert (run.number, run.event, run.head_branch, run.title) == (12, "pull_request", "stacked", "Edit the poem")
    assert _login(world, run.actor_id) == "agent_1"
    first, second = world.database.all(RunAttempt, run_id=run.id)
    assert (first.status, first.conclusion, first.started_at) == ("completed", "failure", "2022-04-02T00:00:00Z")
    assert (second.status, second.conclusion, _login(world, second.actor_id)) == ("in_progress", None, "octo")
    assert [(job.name, job.status, job.conclusion) for job in workflow_runs.jobs(world, second)] == [
        ("compile", "completed", "success"),
        ("test", "queued", None),
    ]
    broken = workflow_runs.run(world, widgets, 4712)
    assert workflow_runs.latest_attempt(world, broken).conclusion == "startup_failure"
    assert workflow_runs.workflow_of(world, broken).state == "disabled_manually"


def test_a_workflow_is_the_one_of_its_file() -> None:
    with world_of(
        """
        users: [{login: o}]
        repositories:
          - name: o/x
            files: {.github/workflows/ci.yml: "name: CI"}
            workflows: [{name: CI, runs: [{commit: main, jobs: [{name: a}]}]}]
            checks: [{commit: main, name: b, workflow: CI, conclusion: failure}]
        """
    ) as world:
        (workflow,) = world.database.all(Workflow)
        assert (workflow.name, workflow.path) == ("CI", ".github/workflows/ci.yml")
        (attempt,) = world.database.all(RunAttempt)
        assert [job.name for job in workflow_runs.jobs(world, attempt)] == ["a", "b"]
        assert attempt.conclusion == "failure"


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ("[{commit: nowhere}]", "no branch or commit 'nowhere'"),
        ("[{commit: main, id: 5}, {commit: main, id: 5}]", "with the id 5 is there already"),
        ("[{commit: main, number: 2}, {commit: main, number: 2}]", "run 2 of CI is there already"),
        ("[{commit: main, actor: nobody}]", "nobody"),
        ("[{commit: main, jobs: [{name: ' '}]}]", "name is missing"),
    ],
)
def test_a_run_that_cannot_be_is_refused_with_its_place(runs: str, problem: str) -> None:
    seed = f"""
        users: [{{login: o}}]
        repositories: [{{name: o/x, files: {{a: a}}, workflows: [{{name: CI, runs: {runs}}}]}}]
        """
    with pytest.raises(SeedError, match=problem) as caught:
        world_of(seed)
    assert "repositories: o/x: workflows: 'CI': runs: " in str(caught.value)


def _login(world: World, identity: int) -> str:
    return lookup.user_by_id(world, identity).login
