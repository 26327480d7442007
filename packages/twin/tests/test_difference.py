"""What differs between two moments: which object, which field, before, after, by whom."""

from collections.abc import Generator
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from random_commands import Step, base_world, perform, steps
from seeds import rich_world

from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.actions import variables
from ghx_twin.commands.issues import comments, labels
from ghx_twin.commands.pulls import merges, pulls, reviews
from ghx_twin.commands.repositories import refs
from ghx_twin.commands.repositories.contents import put
from ghx_twin.difference import Difference, diff
from ghx_twin.queries import lookup
from ghx_twin.state.records import Label, Repository, Token, WorkflowRun
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with base_world() as world:
        yield world


@pytest.fixture
def world(base: World) -> Generator[World]:
    with base.fork() as fork:
        yield fork


def viewer(world: World, login: str) -> Viewer:
    return Viewer(user=lookup.user(world, login))


def widgets(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def telling(differences: tuple[Difference, ...]) -> list[Difference]:
    return [each for each in differences if not each.is_bookkeeping]


def test_equal_worlds_do_not_differ(base: World, world: World) -> None:
    assert diff(base, world) == ()
    assert diff(base.snapshot(), world.snapshot()) == ()
    assert diff(base, base) == ()


def test_a_run_again_is_told_by_its_attempt_and_jobs(world: World) -> None:
    assert perform(world, [("run", 3, 0, 1)]) == ["run"]
    before = world.snapshot()
    assert perform(world, [("rerun", 1, 0, 1)]) == ["rerun"]
    found = telling(diff(before, world))
    (run,) = world.database.all(WorkflowRun)
    assert [(each.change, each.kind, each.name, each.by) for each in found] == [
        ("created", "run_attempts", f"acme/widgets run {run.id} attempt 2", "bob"),
        ("created", "check_runs", "acme/widgets check build", "bob"),
        ("created", "check_runs", "acme/widgets check test", "bob"),
    ]
    assert {each.repository for each in found} == {"acme/widgets"}
    attempt, _, job = (each.after for each in found)
    assert isinstance(attempt, dict)
    assert (attempt["run"], attempt["actor"], attempt["status"]) == (f"acme/widgets run {run.id}", "bob", "in_progress")
    assert isinstance(job, dict)
    assert (job["attempt"], job["status"]) == (f"acme/widgets run {run.id} attempt 2", "queued")


def test_a_changed_field_is_told_with_both_values_and_who(base: World, world: World) -> None:
    with world.acting(viewer(world, "ann")) as act:
        issues.update(act, lookup.issue(world, widgets(world), 1), title="New")
    changed, event = telling(diff(base, world))
    assert (changed.change, changed.kind, changed.name, changed.repository) == (
        "changed",
        "issues",
        "acme/widgets#1",
        "acme/widgets",
    )
    assert (changed.field, changed.before, changed.after, changed.by) == ("title", "It breaks", "New", "ann")
    assert changed.at == world.database.now()
    assert (event.change, event.kind, event.name, event.by) == (
        "created",
        "events",
        "acme/widgets#1 event renamed",
        "ann",
    )


def test_times_and_counters_are_marked_as_bookkeeping(base: World, world: World) -> None:
    with world.acting(viewer(world, "bob")) as act:
        issues.create(act, widgets(world), title="One")
    found = diff(base, world)
    assert [(each.kind, each.field) for each in found if each.is_bookkeeping] == [("repositories", "next_number")]
    (made,) = telling(found)
    assert isinstance(made.after, dict)
    assert (made.name, made.after["author"], made.after["repository"]) == ("acme/widgets#4", "bob", "acme/widgets")
    assert (made.field, made.before) == (None, None)


def test_references_are_told_by_name(base: World, world: World) -> None:
    with world.acting(viewer(world, "ann")) as act:
        issue = lookup.issue(world, widgets(world), 1)
        issues.set_assignees(act, issue, [lookup.user(world, "bob")])
        issues.add_labels(act, issue, [lookup.label(world, widgets(world), "bug")])
        issues.update(act, issue, milestone=lookup.milestone(world, widgets(world), 1))
    found = {each.kind: each for each in telling(diff(base, world)) if each.kind != "events"}
    assert found["assignees"].name == "acme/widgets#1 assignee bob"
    assert found["issue_labels"].name == "acme/widgets#1 label bug"
    assert (found["issues"].field, found["issues"].after) == ("milestone", "acme/widgets milestone Soon")
    assert {each.repository for each in found.values()} == {"acme/widgets"}


def test_a_deleted_object_is_told_with_what_it_was(base: World, world: World) -> None:
    with world.acting(viewer(world, "ann")) as act:
        labels.delete(act, lookup.label(world, widgets(world), "bug"))
    (gone,) = telling(diff(base, world))
    assert isinstance(gone.before, dict)
    assert (gone.change, gone.name, gone.by, gone.after) == ("deleted", "acme/widgets label bug", "ann", None)
    assert gone.before["color"] == "d73a4a"


def test_a_new_value_of_a_secret_is_told_even_within_a_second(world: World) -> None:
    with world.acting(None) as act:
        variables.put_secret(act, variables.Home(widgets(world)), name="KEY", encrypted_value=None)
    with world.fork() as before, world.acting(None, at=before.database.now()) as act:
        variables.put_secret(act, variables.Home(widgets(world)), name="KEY", encrypted_value=None)
        earlier = before.snapshot()
    (changed,) = telling(diff(earlier, world))
    assert (changed.kind, changed.field, changed.name) == ("secrets", "updated_at", "acme/widgets secret KEY")


def test_moved_refs_are_told_with_who_moved_them(base: World, world: World) -> None:
    with world.acting(viewer(world, "bob")) as act:
        put(act, widgets(world), path="new", content=b"x", message="New", branch="one")
    refs = [each for each in diff(base, world) if each.kind == "refs"]
    (moved,) = telling(tuple(refs))
    git = world.git(widgets(world))
    assert (moved.change, moved.name, moved.by) == ("changed", "acme/widgets refs/heads/one", "bob")
    assert (moved.before, moved.after) == (base.git(widgets(base)).ref("refs/heads/one"), git.ref("refs/heads/one"))
    assert {each.field: each.by for each in refs if each.is_bookkeeping} == {
        "refs/pull/2/head": "bob",
        "refs/pull/2/merge": "bob",
    }


def test_the_head_of_a_new_pull_request_is_by_who_opened_it_whatever_happened_since(base: World, world: World) -> None:
    with world.acting(viewer(world, "bob")) as act:
        put(act, widgets(world), path="new.txt", content=b"new", message="New", branch="one")
        tip = world.git(widgets(world)).ref("refs/heads/one") or ""
        refs.create(act, widgets(world), ref="refs/heads/fourth", sha=tip)
    with world.acting(viewer(world, "bob")) as act:
        opened = pulls.create(act, widgets(world), title="Fourth", head="fourth", base="main")
        number, at = lookup.issue_of(world, opened).number, act.now
    with world.acting(viewer(world, "ann")) as act:
        comments.create(act, lookup.issue_of(world, opened), "Thanks")
        pulls.close(act, opened)

    head = next(each for each in diff(base, world) if each.field == f"refs/pull/{number}/head")

    assert (head.change, head.by, head.at) == ("created", "bob", at)


def test_a_merge_tells_commit_branch_and_closed_issue(base: World, world: World) -> None:
    with world.acting(viewer(world, "ann")) as act:
        merges.merge(act, lookup.pull(world, widgets(world), 2))
    found = {(each.kind, each.name, each.field): each for each in telling(diff(base, world))}
    assert found["issues", "acme/widgets#1", "state"].after == "closed"
    assert found["pulls", "acme/widgets#2", "merged_by"].after == "ann"
    assert found["refs", "acme/widgets refs/heads/main", "refs/heads/main"].by == "ann"


def test_a_new_and_a_deleted_repository_are_told_whole(base: World, world: World) -> None:
    with world.acting(viewer(world, "eve")) as act:
        repositories.create(act, owner=lookup.user(world, "eve"), name="own", auto_init=True)
        repositories.delete(act, lookup.repository(world, None, "eve", "widgets"))
    found = diff(base, world)
    names = {(each.change, each.name) for each in found}
    assert {("created", "eve/own"), ("created", "eve/own refs/heads/main"), ("deleted", "eve/widgets")} <= names
    assert ("deleted", "eve/widgets refs/heads/main") in names
    assert {each.by for each in found if each.repository == "eve/own"} == {"eve"}


def test_tokens_are_never_shown(base: World, world: World) -> None:
    with world.acting(None) as act:
        users.create_token(act, lookup.user(world, "bob"), token="secret-one")
    middle = world.snapshot()
    with world.acting(None) as act:
        act.database.update(act.database.all(Token)[0], token="secret-two")
    (made,), (changed,) = diff(base, middle), diff(middle, world)
    assert made.name == f"token {world.database.all(Token)[0].id} of bob"
    assert changed.field == "token"
    assert "secret" not in repr((asdict(made), asdict(changed)))


def test_who_is_only_named_for_what_happened_since_the_worlds_parted(base: World, world: World) -> None:
    with world.acting(viewer(world, "bob")) as act:
        comments.create(act, lookup.issue(world, widgets(world), 1), "one")
    with base.fork() as other, other.acting(viewer(other, "ann")) as act:
        issues.update(act, lookup.issue(other, widgets(other), 1), body="Body")
    with base.fork() as other:
        with other.acting(viewer(other, "ann")) as act:
            issues.update(act, lookup.issue(other, widgets(other), 1), body="Body")
        found = {(each.change, each.kind): each.by for each in telling(diff(world, other))}
    assert found == {("changed", "issues"): "ann", ("deleted", "comments"): None}


def test_worlds_that_never_were_one_can_be_compared(base: World) -> None:
    with rich_world() as other:
        assert diff(base, other)
        assert diff(other, base)


@settings(max_examples=25)
@given(wanted=steps())
def test_whatever_happened_every_difference_is_named_and_nothing_is_left_out(base: World, wanted: list[Step]) -> None:
    with base.fork() as world:
        perform(world, wanted)
        found = diff(base, world)
        assert bool(found) == ((world.snapshot().refs != base.snapshot().refs) or _records(world) != _records(base))
        for each in found:
            assert each.at is not None, each
            assert not each.name.startswith(each.kind), each
        assert len({(each.kind, each.id, each.field, each.name) for each in found}) == len(found)


def _records(world: World) -> list[list[object]]:
    from ghx_twin.state.records import RECORDS

    return [list(world.database.all(model)) for model in RECORDS]


def test_requests_and_labels_of_a_pull_request_have_names(base: World, world: World) -> None:
    with world.acting(viewer(world, "ann")) as act:
        pull = lookup.pull(world, widgets(world), 2)
        reviews.request_reviews(act, pull, users=[lookup.user(world, "ann")])
        labels.create(act, widgets(world), name="new")
    names = [each.name for each in telling(diff(base, world)) if each.kind != "events"]
    assert names == ["acme/widgets label new", "acme/widgets#2 review request ann"]
    assert world.database.one(Label, name="new") is not None
