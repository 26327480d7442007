"""Runs of workflows: attempts, jobs that are check runs, and what they add up to."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pull_worlds import Shop, make_shop

from ghx_twin.commands import repositories
from ghx_twin.commands.actions import checks, workflow_runs, workflows
from ghx_twin.queries.actions import checks as reported
from ghx_twin.queries.actions import workflow_runs as queries
from ghx_twin.queries.pulls import mergeability
from ghx_twin.refusals import ConflictRefusal, ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import CheckRun, Pull, RunAttempt, Workflow, WorkflowRun

Jobs = dict[str, str | None]


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def run(shop: Shop, pull: Pull, jobs: Jobs, event: str = "push", workflow: str = "CI") -> WorkflowRun:
    """Enter a run for the head of a pull request; jobs are by name, with their conclusions."""
    with shop.acting("bob") as act:
        known = workflows.create_or_update(act, shop.repository, name=workflow)
        made = workflow_runs.create(act, known, sha=pull.head_sha, event=event, branch=pull.head_ref)
        for name, conclusion in jobs.items():
            workflow_runs.add_job(act, made, name=name, conclusion=conclusion)
    return made


def outcome(shop: Shop, made: WorkflowRun) -> tuple[int, str, str | None]:
    latest = queries.latest_attempt(shop.world, made)
    return latest.number, latest.status, latest.conclusion


def jobs_of(shop: Shop, made: WorkflowRun) -> Jobs:
    return {job.name: job.conclusion for job in queries.jobs(shop.world, queries.latest_attempt(shop.world, made))}


def checked(shop: Shop, pull: Pull) -> list[tuple[str, str | None]]:
    found = reported.latest_check_runs(shop.world, shop.repository, pull.head_sha)
    return [(one.name, one.conclusion) for one in found]


@pytest.mark.parametrize(
    ("jobs", "status", "conclusion"),
    [
        ({"a": "success", "b": "skipped"}, "completed", "success"),
        ({"a": "skipped", "b": "skipped"}, "completed", "skipped"),
        ({"a": "success", "b": "cancelled"}, "completed", "cancelled"),
        ({"a": "cancelled", "b": "failure"}, "completed", "failure"),
        ({"a": "success", "b": None}, "in_progress", None),
        ({"a": None, "b": None}, "queued", None),
    ],
)
def test_an_attempt_is_as_far_as_its_jobs(shop: Shop, jobs: Jobs, status: str, conclusion: str | None) -> None:
    assert outcome(shop, run(shop, shop.open(), jobs)) == (1, status, conclusion)


def test_a_run_again_queues_every_job_and_only_those_count(shop: Shop) -> None:
    pull = shop.open()
    made = run(shop, pull, {"build": "success", "test": "failure"})

    with shop.acting("ann") as act:
        attempt = workflow_runs.rerun(act, made)

    assert (attempt.number, attempt.actor_id) == (2, shop.people["ann"].id)
    assert outcome(shop, made) == (2, "queued", None)
    assert checked(shop, pull) == [("build", None), ("test", None)]
    first = queries.attempt(shop.world, made, 1)
    assert [job.conclusion for job in queries.jobs(shop.world, first)] == ["success", "failure"]
    assert (first.status, first.conclusion) == ("completed", "failure")


def test_failed_jobs_alone_run_again_and_the_others_are_taken_over(shop: Shop) -> None:
    pull = shop.open()
    made = run(shop, pull, {"build": "success", "test": "failure", "slow": "cancelled", "docs": "skipped"})

    with shop.acting("ann") as act:
        workflow_runs.rerun_failed(act, made)

    assert jobs_of(shop, made) == {"build": "success", "test": None, "slow": None, "docs": "skipped"}
    assert outcome(shop, made) == (2, "in_progress", None)


def test_one_job_runs_again(shop: Shop) -> None:
    made = run(shop, shop.open(), {"build": "success", "test": "failure"})
    build, _ = shop.world.database.all(CheckRun)

    with shop.acting("ann") as act:
        workflow_runs.rerun_job(act, build)

    assert jobs_of(shop, made) == {"build": None, "test": "failure"}
    with shop.acting("ann") as act:
        workflow_runs.cancel(act, made)
    with pytest.raises(ForbiddenRefusal, match="Only jobs from the current attempt"), shop.acting("ann") as act:
        workflow_runs.rerun_job(act, build)


def test_jobs_end_when_somebody_says_so(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_checks=("test",))
    made = run(shop, pull, {"test": "failure"})
    with shop.acting("ann") as act:
        workflow_runs.rerun(act, made)
    assert mergeability.merge_state(shop.world, pull) == "BLOCKED"

    with shop.acting("bob") as act:
        checks.update_check_run(act, shop.world.database.all(CheckRun)[-1], conclusion="success")

    assert outcome(shop, made) == (2, "completed", "success")
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"


def test_what_runs_is_not_run_again_and_what_failed_nowhere_is_not_retried(shop: Shop) -> None:
    pull = shop.open()
    running, fine = run(shop, pull, {"test": None}), run(shop, pull, {"test": "success"})
    with shop.acting(None) as act:
        broken = workflow_runs.create(
            act,
            workflows.create_or_update(act, shop.repository, name="CI"),
            sha=pull.head_sha,
            conclusion="startup_failure",
        )

    for command, made, message in (
        (workflow_runs.rerun, running, "already running"),
        (workflow_runs.rerun_failed, running, "already running"),
        (workflow_runs.rerun_failed, fine, "cannot be retried"),
        (workflow_runs.rerun, broken, "cannot be retried"),
    ):
        with pytest.raises(ForbiddenRefusal, match=message), shop.acting("ann") as act:
            command(act, made)
    assert shop.world.database.count(RunAttempt) == 3


def test_a_run_is_cancelled_while_it_runs(shop: Shop) -> None:
    made = run(shop, shop.open(), {"build": "success", "test": None})
    with shop.acting("ann") as act:
        workflow_runs.cancel(act, made)
    assert jobs_of(shop, made) == {"build": "success", "test": "cancelled"}
    assert outcome(shop, made) == (1, "completed", "cancelled")
    with pytest.raises(ConflictRefusal), shop.acting("ann") as act:
        workflow_runs.cancel(act, made)


def test_a_run_without_jobs_can_be_cancelled(shop: Shop) -> None:
    made = run(shop, shop.open(), {})
    with shop.acting("ann") as act:
        workflow_runs.cancel(act, made)
    assert outcome(shop, made) == (1, "completed", "cancelled")


def test_a_run_goes_with_its_attempts_and_jobs_once_it_has_ended(shop: Shop) -> None:
    pull = shop.open()
    made = run(shop, pull, {"test": "failure"})
    with shop.acting("ann") as act:
        workflow_runs.rerun(act, made)
    with pytest.raises(ForbiddenRefusal), shop.acting("ann") as act:
        workflow_runs.delete(act, made)
    with shop.acting("ann") as act:
        workflow_runs.cancel(act, made)
        workflow_runs.delete(act, made)
    assert [shop.world.database.count(model) for model in (WorkflowRun, RunAttempt, CheckRun)] == [0, 0, 0]
    assert reported.rollup(shop.world, shop.repository, pull.head_sha) is None


def test_only_writers_run_things(shop: Shop) -> None:
    made = run(shop, shop.open(), {"test": "failure"})
    for command in (workflow_runs.rerun, workflow_runs.rerun_failed, workflow_runs.cancel, workflow_runs.delete):
        with pytest.raises(ForbiddenRefusal, match="Must have admin rights"), shop.acting("tri") as act:
            command(act, made)


def test_the_same_job_counts_once_for_each_workflow_and_event(shop: Shop) -> None:
    pull = shop.open()
    run(shop, pull, {"test": "failure"})
    run(shop, pull, {"test": "success"})
    run(shop, pull, {"test": "skipped"}, event="pull_request")
    run(shop, pull, {"test": "cancelled"}, workflow="Nightly")
    with shop.acting("bob") as act:
        checks.create_check_run(act, shop.repository, sha=pull.head_sha, name="test", conclusion="neutral")
    assert checked(shop, pull) == [
        ("test", "success"),
        ("test", "skipped"),
        ("test", "cancelled"),
        ("test", "neutral"),
    ]


def test_a_run_is_numbered_and_titled(shop: Shop) -> None:
    pull = shop.open(title="Make it rhyme")
    pushed, proposed = run(shop, pull, {}), run(shop, pull, {}, event="pull_request")
    assert [(one.number, one.title) for one in (pushed, proposed)] == [(1, "Edit feature"), (2, "Make it rhyme")]
    with pytest.raises(InvalidRefusal, match="is there already"), shop.acting(None) as act:
        workflow_runs.create(act, shop.world.database.all(Workflow)[0], sha=pull.head_sha, identity=pushed.id)


def test_files_on_the_default_branch_are_workflows(shop: Shop) -> None:
    folder = ".github/workflows"
    shop.write("other", {f"{folder}/other.yml": "name: Other\n"})
    shop.write("main", {f"{folder}/ci.yml": 'on: push\nname: "The CI" # quick\n', f"{folder}/README.md": "name: No\n"})
    shop.write("main", {f"{folder}/nightly.yaml": "on: schedule\n"})
    found = shop.world.database.all(Workflow)
    assert [(one.name, one.path, one.state) for one in found] == [
        ("The CI", f"{folder}/ci.yml", "active"),
        (f"{folder}/nightly.yaml", f"{folder}/nightly.yaml", "active"),
    ]
    shop.write("main", {f"{folder}/ci.yml": "name: Renamed\n"})
    assert queries.workflow(shop.world, shop.repository, "ci.yml").name == "Renamed"


@pytest.mark.parametrize(
    "given_", [{"name": " "}, {"path": "ci.yml"}, {"path": ".github/workflows/a/b.yml"}, {"state": "on"}]
)
def test_a_bad_workflow_is_refused(shop: Shop, given_: dict) -> None:
    with pytest.raises(InvalidRefusal), shop.acting("bob") as act:
        workflows.create_or_update(act, shop.repository, **{"name": "CI", **given_})


def test_a_repository_goes_with_its_workflows_and_runs(shop: Shop) -> None:
    run(shop, shop.open(), {"test": "failure"})
    with shop.acting(None) as act:
        repositories.delete(act, shop.repository)
    counts = [shop.world.database.count(model) for model in (Workflow, WorkflowRun, RunAttempt, CheckRun)]
    assert counts == [0, 0, 0, 0]


@given(conclusions=st.lists(st.sampled_from((*checks.CONCLUSIONS, None)), min_size=1, max_size=6))
def test_jobs_add_up_to_the_same_in_any_order(conclusions: list[str | None]) -> None:
    jobs = [
        CheckRun(
            id=number,
            repository_id=1,
            head_sha="",
            name=str(number),
            status="queued" if conclusion is None else "completed",
            conclusion=conclusion,
            started_at="",
        )
        for number, conclusion in enumerate(conclusions)
    ]
    status, conclusion = queries.sum_up_jobs(jobs)
    assert queries.sum_up_jobs(jobs[::-1]) == (status, conclusion)
    assert (status == "completed") == (None not in conclusions) == (conclusion is not None)
    assert conclusion is None or conclusion in conclusions
