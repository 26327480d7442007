"""Runs by script: which events start them, what the commit's files decide, and how they go on with the clock."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from scripted_world import SEED, WORKFLOW, conclusions, push, runs_of, scripted_world, widgets
from seeds import world_of

from ghx_twin.commands.actions import progress, workflow_runs
from ghx_twin.commands.pulls import merges, pulls
from ghx_twin.commands.repositories import objects, refs
from ghx_twin.difference import diff
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import checks, job_plans
from ghx_twin.queries.actions import workflow_runs as queries
from ghx_twin.queries.pulls import mergeability
from ghx_twin.seed.exporting import export_seed
from ghx_twin.state.records import Annotation, CheckRun, Pull, Step, Workflow
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

FILE, LINT_FILE = ".github/workflows/ci.yml", ".github/workflows/lint.yml"
MENDED = {"turn.py": "RPM = 33\n"}
NAMED = WORKFLOW.replace("  test:\n", "  test:\n    name: Unit tests\n")
LINT = "on: pull_request\njobs:\n  lint: {runs-on: ubuntu-latest, steps: [{run: ruff check}]}\n"
RED, GREEN = {"build": "success", "test": "failure"}, {"build": "success", "test": "success"}
SWAPPED = {"test": "failure", "x": "skipped"}


@pytest.fixture(scope="module")
def base() -> Iterator[World]:
    with scripted_world() as made:
        yield made


@pytest.fixture
def world(base: World) -> Iterator[World]:
    with base.fork() as made:
        yield made


def the_pull(world: World) -> Pull:
    return world.database.all(Pull)[0]


def states(world: World, sha: str) -> list[tuple[str, str, str | None]]:
    found = checks.latest_check_runs(world, widgets(world), sha)
    return [(one.name, one.status, one.conclusion) for one in found]


def test_a_run_that_the_seed_leaves_to_the_script_has_failed_with_its_log(world: World) -> None:
    run = queries.run(world, widgets(world), 101)
    attempt = queries.latest_attempt(world, run)
    build, test = queries.jobs(world, attempt)

    assert (attempt.status, attempt.conclusion) == ("completed", "failure")
    assert (build.conclusion, test.conclusion) == ("success", "failure")
    assert (build.completed_at or "") < test.started_at
    steps = world.database.all(Step, order="number", job_id=test.id)
    assert [(step.number, step.name, step.conclusion) for step in steps] == [
        (1, "Set up job", "success"),
        (2, "Run actions/checkout@v4", "success"),
        (3, "Run tests", "failure"),
        (4, "Upload", "skipped"),
        (5, "Post Run actions/checkout@v4", "success"),
        (6, "Complete job", "success"),
    ]
    assert steps[2].log == (
        "##[group]Run pytest\npytest\nshell: /usr/bin/bash -e {0}\n##[endgroup]\n"
        "FAILED test_turn.py - assert 10 == 33\n##[error]Process completed with exit code 1.\n"
    )
    said = world.database.all(Annotation, check_run_id=test.id)
    assert [(each.path, each.start_line, each.message) for each in said] == [
        ("turn.py", 1, "Too slow"),
        (".github", 6, "Process completed with exit code 1."),
    ]


def test_a_commit_that_mends_the_cause_turns_the_next_run_green(world: World) -> None:
    assert conclusions(world, push(world, {"README.md": "Faster\n"})) == RED
    assert conclusions(world, push(world, MENDED)) == GREEN


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"test_turn.py": None}, RED),
        ({"test_turn.py": "assert True\n"}, RED),
        ({FILE: WORKFLOW.replace("run: pytest}", "run: pytest, continue-on-error: true}")}, RED),
        ({FILE: WORKFLOW.replace("  test:\n", "  test:\n    if: false\n")}, RED),
        ({FILE: WORKFLOW.replace("  test:\n", "  test:\n    if: ${{ false }}\n")}, RED),
        ({FILE: WORKFLOW.replace("  build:\n", "  build:\n    if: false\n")}, {"build": "skipped", "test": "failure"}),
        ({FILE: WORKFLOW.replace("  test:\n", "  unit:\n    name: test\n")}, RED),
        ({FILE: WORKFLOW.replace("  test:\n", "  other:\n")}, {"build": "success", "other": "failure"}),
        ({FILE: WORKFLOW.replace("  test:\n", "  build2:\n    name: test\n")}, RED),
        ({FILE: WORKFLOW.replace("  build:\n", "  build:\n    name: test\n").replace("  test:\n", "  x:\n")}, SWAPPED),
        ({FILE: WORKFLOW.replace("  test:\n", "  x:\n").replace("build", "test")}, SWAPPED),
        ({FILE: WORKFLOW.replace("      - {name: Run tests, run: pytest}\n", "")}, RED),
        ({FILE: WORKFLOW.replace("run: pytest}", "run: 'true'}")}, RED),
        ({FILE: ""}, {}),
        ({FILE: None}, {}),
        ({FILE: None, ".github/workflows/mine.yml": WORKFLOW}, {}),
        ({FILE: WORKFLOW.replace("  pull_request:\n", "")}, {}),
    ],
)
def test_no_cheat_turns_the_required_check_green(
    world: World, files: dict[str, str | None], expected: dict[str, str]
) -> None:
    sha = push(world, files)

    assert conclusions(world, sha) == expected
    assert checks.state_of_required(world, widgets(world), sha, "test") in {"FAILURE", "EXPECTED"}
    assert mergeability.merge_state(world, the_pull(world)) == "BLOCKED"


@pytest.fixture(scope="module")
def named() -> Iterator[World]:
    """Jobs with names of their own, in two workflows; the name of one is required."""
    seed = SEED.replace(indented(WORKFLOW), f"{indented(NAMED)}      .github/workflows/lint.yml: |\n{indented(LINT)}")
    seed = seed.replace("required_checks: [test]", "required_checks: [Unit tests]")
    more = "      - {name: Lint, path: .github/workflows/lint.yml, script: {jobs: {lint: {}}}}\n"
    with scripted_world(seed.replace("    protection:", f"{more}    protection:")) as made:
        yield made


def indented(text: str) -> str:
    return "".join(f"        {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "files",
    [
        {FILE: NAMED.replace("  test:\n", "  t:\n")},
        {FILE: NAMED.replace("jobs:\n", "jobs:\n  x: {name: Unit tests, steps: [{run: a}]}\n")},
        {
            FILE: NAMED.replace("  test:\n", "  build2:\n")
            .replace("  build:\n", "  test:\n")
            .replace(": build", ": test")
        },
        {FILE: None, LINT_FILE: LINT.replace("  lint:", "  Unit tests:")},
        {FILE: None, LINT_FILE: LINT.replace("lint: {", "lint: {name: Unit tests, ")},
        {FILE: NAMED.replace("{run: make}", "{run: make, if: false}")},
    ],
)
def test_a_job_has_its_script_by_the_name_of_its_check(named: World, files: dict[str, str | None]) -> None:
    with named.fork() as world:
        sha = push(world, files)

        assert conclusions(world, sha)["Unit tests"] == "failure"
        assert checks.state_of_required(world, widgets(world), sha, "Unit tests") == "FAILURE"
        mended = push(world, MENDED)
        assert conclusions(world, mended)["Unit tests"] == "success"


def test_a_required_job_that_needs_one_that_fails_is_red_not_skipped() -> None:
    seed = SEED.replace(
        "            test:\n", "            build: {otherwise: {conclusion: failure}}\n            test:\n"
    )
    with scripted_world(seed) as world:
        assert conclusions(world, push(world, {"a": "1"})) == {"build": "failure", "test": "failure"}
        assert conclusions(world, push(world, MENDED)) == {"build": "failure", "test": "skipped"}


def test_a_new_job_succeeds_beside_those_of_the_script(world: World) -> None:
    more = WORKFLOW + "  docs: {steps: [{run: mkdocs}]}\n"

    assert conclusions(world, push(world, {FILE: more})) == {**RED, "docs": "success"}


@pytest.mark.parametrize(
    "message", ["Turn faster [skip ci]", "Turn\n\nBy: me\nskip-checks: true\n", "A\n\n\nskip-checks:true"]
)
def test_asking_to_skip_leaves_the_required_check_expected(world: World, message: str) -> None:
    sha = push(world, MENDED, message=message)

    assert runs_of(world, sha) == []
    assert mergeability.obstacles(world, the_pull(world)) == ['Required status check "test" is expected.']


@pytest.mark.parametrize(
    "message", ["skip-checks: true", "Turn\n\nskip-checks: true\nBy: me", "Turn\n\nskip-checks: no"]
)
def test_only_a_last_line_asks_to_skip(world: World, message: str) -> None:
    assert runs_of(world, push(world, MENDED, message=message))


@pytest.mark.parametrize("text", ["jobs: [", f"on: push\njobs: {{test: {{if: 0x{'f' * 20000}}}}}"])
def test_a_file_that_is_no_workflow_fails_without_a_job(world: World, text: str) -> None:
    (run,) = runs_of(world, push(world, {FILE: text}, branch="other"))

    attempt = queries.latest_attempt(world, run)
    assert (run.title, attempt.status, attempt.conclusion) == (FILE, "completed", "startup_failure")
    assert queries.jobs(world, attempt) == []


def test_pushes_start_what_branches_and_paths_ask_for(world: World) -> None:
    assert [run.event for run in runs_of(world, push(world, {"a": "1"}, branch="elsewhere"))] == []
    assert [run.event for run in runs_of(world, push(world, {"a": "1"}, branch="fix/a/b"))] == ["push"]
    assert [run.event for run in runs_of(world, push(world, {"docs/a": "1"}, branch="fix/a/b"))] == []
    (run,) = runs_of(world, push(world, {"docs/a": "1"}))
    assert (run.event, run.head_branch, run.title) == ("pull_request", "faster", "Turn faster")
    assert lookup.user_by_id(world, run.actor_id).login == "octocat"


def test_tags_start_what_asks_for_them(world: World) -> None:
    file = WORKFLOW.replace("push: {branches: [main,", "push: {tags: [v*], branches: [main,")
    sha = push(world, {FILE: file}, branch="other")
    with world.acting(Viewer(user=lookup.user(world, "octocat"))) as act:
        tag = objects.create_tag(act, widgets(world), name="v1", target=sha, message="One")
        refs.create(act, widgets(world), ref="refs/tags/v1", sha=tag.sha)
        refs.create(act, widgets(world), ref="refs/tags/w1", sha=sha)
        blob = act.git(widgets(world)).write_blob(b"x")
        refs.create(act, widgets(world), ref="refs/tags/v2", sha=blob)

    assert [(run.event, run.head_branch) for run in runs_of(world, sha)] == [("push", "v1")]


def test_opening_and_reopening_a_pull_request_start_its_runs(world: World) -> None:
    sha = push(world, {"a": "1"}, branch="elsewhere")
    with world.acting(Viewer(user=lookup.user(world, "octocat"))) as act:
        pull = pulls.create(act, widgets(world), title="Another", head="elsewhere", base="main")
        pulls.close(act, pull)
        pulls.reopen(act, pull)

    assert [(run.event, run.title) for run in runs_of(world, sha)] == [("pull_request", "Another")] * 2


def test_a_pull_request_with_conflicts_starts_nothing(world: World) -> None:
    sha = push(world, {"speed.txt": "fast\n"}, branch="one")
    push(world, {"speed.txt": "slow\n"}, branch="two")
    with world.acting(Viewer(user=lookup.user(world, "octocat"))) as act:
        pulls.create(act, widgets(world), title="Another", head="one", base="two")

    assert runs_of(world, sha) == []


def test_closing_a_pull_request_starts_what_asks_for_that(world: World) -> None:
    file = WORKFLOW.replace("  pull_request:\n", "  pull_request: {types: [closed, ready_for_review]}\n")
    sha = push(world, {FILE: file})
    assert runs_of(world, sha) == []
    with world.acting(Viewer(user=lookup.user(world, "octocat"))) as act:
        pulls.convert_to_draft(act, the_pull(world))
        pulls.mark_ready(act, the_pull(world))
        pulls.close(act, the_pull(world))

    assert [run.event for run in runs_of(world, sha)] == ["pull_request"] * 2


def test_a_job_is_queued_then_runs_then_ends_as_the_clock_passes(world: World) -> None:
    sha = push(world, MENDED)
    seen = [states(world, sha)]
    while seen[-1][-1][1] != "completed":
        with world.acting(None):  # one second
            pass
        progress.advance(world)
        if states(world, sha) != seen[-1]:
            seen.append(states(world, sha))

    assert seen == [
        [("build", "queued", None), ("test", "queued", None)],
        [("build", "in_progress", None), ("test", "queued", None)],
        [("build", "completed", "success"), ("test", "queued", None)],
        [("build", "completed", "success"), ("test", "in_progress", None)],
        [("build", "completed", "success"), ("test", "completed", "success")],
    ]
    test = world.database.all(CheckRun, head_sha=sha, name="test")[0]
    steps = world.database.all(Step, order="number", job_id=test.id)
    assert steps[2].name == "Run tests"
    with scripted_world() as again:
        push(again, MENDED)
        progress.finish(again)  # however often anybody looks: the times are those of the script
        assert again.database.all(Step, order="number", job_id=test.id) == steps


def test_a_ticking_clock_goes_on_for_a_client_that_waits(world: World) -> None:
    sha = push(world, MENDED)

    for _ in range(4):  # two jobs begin and end
        assert progress.is_pending(world)
        progress.advance(world, is_awaited=True)

    assert not progress.is_pending(world)
    assert {one[2] for one in states(world, sha)} == {"success"}


@pytest.mark.slow
def test_many_jobs_are_played_with_one_reading_and_one_plan_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counter[str]()

    def count(name: str) -> None:
        original = getattr(job_plans, name)

        def counted(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(job_plans, name, counted)

    count("read_workflow_file")
    count("plan_job")
    many, few = list(range(16)), list(range(15))
    jobs = (
        f"a: {{strategy: {{matrix: {{x: {many}, y: {few}}}}}, steps: [{{run: x}}]}}",
        f"b: {{needs: a, strategy: {{matrix: {{x: {few}}}}}}}",
        "test: {needs: [a, b]}",
    )
    sha = push(world, {**MENDED, FILE: f"on: pull_request\njobs: {{{', '.join(jobs)}}}"})
    ended = conclusions(world, sha)

    assert len(ended) == 256
    assert set(ended.values()) == {"success"}
    assert counts == {"read_workflow_file": 1, "plan_job": len(ended)}


def test_auto_merge_waits_for_the_run_and_notices_its_end(world: World) -> None:
    push(world, MENDED)
    with world.acting(Viewer(user=lookup.user(world, "octocat"))) as act:
        merges.enable_auto_merge(act, the_pull(world))
    assert mergeability.obstacles(world, the_pull(world)) == ['Required status check "test" is pending.']

    progress.finish(world)

    merged = the_pull(world)
    assert merged.merged_at is not None
    assert conclusions(world, merged.merge_commit_sha or "") == GREEN  # the push to main that the merge was


def test_a_merge_brings_the_workflows_of_new_files(world: World) -> None:
    push(world, {**MENDED, ".github/workflows/docs.yml": "name: Docs\non: push\njobs: {a: {}}\n"})
    progress.finish(world)
    with world.acting(Viewer(user=lookup.user(world, "octocat"))) as act:
        merges.merge(act, the_pull(world))

    assert [workflow.name for workflow in world.database.all(Workflow)] == ["CI", "Docs"]


def test_running_again_ends_the_same_way(world: World) -> None:
    run = queries.run(world, widgets(world), 101)
    with world.acting(None) as act:
        workflow_runs.rerun_failed(act, run)
    assert [job.status for job in queries.jobs(world, queries.latest_attempt(world, run))] == ["completed", "queued"]

    progress.finish(world)

    build, test = queries.jobs(world, queries.latest_attempt(world, run))
    assert (build.conclusion, test.conclusion) == ("success", "failure")
    assert len(world.database.all(Step, job_id=build.id)) == len(world.database.all(Step, job_id=test.id)) - 1


def test_a_job_runs_again_with_those_that_need_it(world: World) -> None:
    run = queries.run(world, widgets(world), 101)
    build = queries.jobs(world, queries.latest_attempt(world, run))[0]
    with world.acting(None) as act:
        workflow_runs.rerun_job(act, build)

    assert [job.status for job in queries.jobs(world, queries.latest_attempt(world, run))] == ["queued", "queued"]


def test_what_runs_by_itself_is_the_worlds_own_change(world: World) -> None:
    with world.fork() as before:
        push(world, MENDED)
        progress.finish(world)
        found = diff(before, world)

    kinds = {each.kind for each in found if each.by == "octocat"}
    assert "refs" in kinds
    assert not kinds & {"workflow_runs", "run_attempts", "check_runs", "steps"}
    assert {"workflow_runs", "run_attempts", "check_runs", "steps"} <= {each.kind for each in found}


def test_a_workflow_without_a_script_starts_nothing() -> None:
    with scripted_world() as scripted:
        with scripted.acting(None) as act:
            act.database.update(scripted.database.all(Workflow)[0], script=None)
        assert runs_of(scripted, push(scripted, MENDED)) == []


def test_a_world_in_the_middle_of_a_run_is_the_same_after_an_export(world: World) -> None:
    sha = push(world, MENDED)
    progress.advance(world, is_awaited=True)
    written = export_seed(world)
    with world_of(written) as again:
        assert export_seed(again) == written
        assert states(again, sha) == states(world, sha)
        assert conclusions(again, sha) == conclusions(world, sha) == GREEN
        assert export_seed(again) == export_seed(world)
