"""Runs wait for the environments that their jobs name, until reviewers and wait timers let them go on."""

from collections.abc import Iterator

import pytest
from seeds import world_of

from ghx_twin.commands.actions import progress, run_deployments
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.deployments import statuses_of
from ghx_twin.queries.actions.environment_gates import may_review, waiting_jobs
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import Deployment, RunAttempt, WorkflowRun
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

SEED = """\
users: [{login: octocat}, {login: chief}, {login: mate}]
repositories:
  - name: octocat/widgets
    collaborators: {chief: write, mate: write}
    files:
      .github/workflows/release.yml: |
        on: {push: {branches: [main, wild]}}
        jobs:
          build: {runs-on: x, steps: [{run: make}]}
          deploy: {needs: build, runs-on: x, environment: {name: live}, steps: [{run: make install}]}
          tell: {needs: deploy, runs-on: x, steps: [{run: mail}]}
    history: [{branch: wild, message: Wild, files: {a: a}}]
    protection: [{pattern: main, allow_force_pushes: true}]
    environments:
      - {name: live, reviewers: [chief], prevent_self_review: true}
    workflows:
      - name: Release
        path: .github/workflows/release.yml
        script: {jobs: {}}
        runs: [{id: 7, commit: main, actor: octocat}]
"""


@pytest.fixture
def world() -> Iterator[World]:
    with world_of(SEED) as made:
        yield made


def jobs(world: World, run: WorkflowRun) -> dict[str, str]:
    attempt = workflow_runs.latest_attempt(world, run)
    return {job.name: job.conclusion or job.status for job in workflow_runs.jobs(world, attempt)}


def run_of(world: World) -> WorkflowRun:
    (found,) = world.database.all(WorkflowRun, id=7)
    return found


def review(world: World, login: str, state: str = "approved") -> list[Deployment]:
    run = run_of(world)
    with world.acting(Viewer(user=lookup.user(world, login))) as act:
        ids = [place.id for _, place in waiting_jobs(world, run)]
        return run_deployments.review(act, run, ids, state=state, comment="As you say")


def states(world: World) -> list[str]:
    (deployment,) = world.database.all(Deployment)
    return [status.state for status in reversed(statuses_of(world, deployment))]


def test_a_run_waits_for_approval_and_then_goes_on(world: World) -> None:
    run = run_of(world)
    progress.finish(world)
    assert jobs(world, run) == {"build": "success", "deploy": "waiting", "tell": "queued"}
    assert workflow_runs.latest_attempt(world, run).status == "waiting"
    assert world.database.all(Deployment) == []

    (made,) = review(world, "chief")
    progress.finish(world)

    assert set(jobs(world, run).values()) == {"success"}
    assert (made.sha, made.environment, made.run_id) == (run.head_sha, "live", run.id)
    assert states(world) == ["queued", "in_progress", "success"]


def test_a_rejected_run_fails_and_what_needs_it_is_skipped(world: World) -> None:
    progress.finish(world)

    review(world, "chief", "rejected")
    progress.finish(world)

    assert jobs(world, run_of(world)) == {"build": "success", "deploy": "failure", "tell": "skipped"}
    assert states(world) == ["failure"]
    assert workflow_runs.latest_attempt(world, run_of(world)).conclusion == "failure"


def test_only_reviewers_decide_and_not_on_their_own_runs(world: World) -> None:
    progress.finish(world)

    for login in ("mate", "octocat"):
        with pytest.raises(ForbiddenRefusal):
            review(world, login)
    with world.acting(None) as act:
        attempt = act.database.all(RunAttempt, run_id=7)[0]
        act.database.update(attempt, actor_id=lookup.user(world, "chief").id)
    place = waiting_jobs(world, run_of(world))[0][1]
    assert not may_review(world, Viewer(user=lookup.user(world, "chief")), run_of(world), place)


def test_an_environment_that_nothing_waits_for_is_not_reviewed(world: World) -> None:
    progress.finish(world)
    review(world, "chief")
    progress.finish(world)

    with pytest.raises(InvalidRefusal):
        review(world, "chief")


def test_a_wait_timer_holds_a_job_for_its_minutes() -> None:
    with world_of(SEED.replace("reviewers: [chief], prevent_self_review: true", "wait_timer: 30")) as world:
        progress.finish(world)
        (build, deploy, _) = workflow_runs.jobs(world, workflow_runs.latest_attempt(world, run_of(world)))

        assert jobs(world, run_of(world))["deploy"] == "success"
        assert (build.completed_at or "") < deploy.started_at
        minutes = int(deploy.started_at[14:16]) - int((build.completed_at or "")[14:16])
        assert minutes % 60 == 30


def test_a_branch_that_the_policy_does_not_take_fails() -> None:
    policy = "deployment_branch_policy: {protected_branches: true, custom_branch_policies: false}"
    seed = SEED.replace("reviewers: [chief], prevent_self_review: true", policy)
    with world_of(seed) as world:
        progress.finish(world)
        assert jobs(world, run_of(world))["deploy"] == "success"
    with world_of(seed.replace("commit: main,", "commit: wild,")) as world:
        progress.finish(world)
        assert jobs(world, run_of(world))["deploy"] == "failure"


def test_a_deployment_and_how_it_goes_is_by_the_user_who_started_the_run() -> None:
    with world_of(SEED.replace("actor: octocat", "actor: mate")) as world:
        progress.finish(world)
        (deployment,) = review(world, "chief")
        progress.finish(world)

        mate = lookup.user(world, "mate").id
        assert len(statuses_of(world, deployment)) == 3
        assert {each.creator_id for each in (deployment, *statuses_of(world, deployment))} == {mate}
