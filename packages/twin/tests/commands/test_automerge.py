from collections.abc import Callable, Iterator

import pytest
from authors import changes_without_author
from pull_worlds import LINES, Shop, make_shop
from scripted_world import SEED, push, runs_of, scripted_world

from ghx_twin.commands import issues
from ghx_twin.commands.actions import checks, progress, workflow_runs, workflows
from ghx_twin.commands.pulls import merges, pulls, reviews
from ghx_twin.commands.repositories import refs, rulesets
from ghx_twin.difference import diff
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup
from ghx_twin.queries.pulls import mergeability
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import CheckRun, Event, Issue, Pull, Review, WorkflowRun
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def approve(shop: Shop, pull: Pull, by: str = "bob") -> None:
    with shop.acting(by) as act:
        reviews.create(act, pull, event="APPROVE")


def promise(shop: Shop, pull: Pull, **arguments) -> Pull:
    with shop.acting("bob") as act:
        return merges.enable_auto_merge(act, pull, **arguments)


def test_a_promised_merge_happens_when_the_last_obstacle_is_gone(shop: Shop) -> None:
    pull = shop.open()
    shop.setting(allow_auto_merge=True)
    shop.protect(required_approvals=1, required_checks=("ci",))
    promise(shop, pull, method="squash", title="Later")
    approve(shop, pull, "adm")
    assert shop.fresh(pull).merged_at is None
    with shop.acting("ann") as act:
        checks.create_check_run(act, shop.repository, sha=pull.head_sha, name="ci", conclusion="success")

    merged = shop.fresh(pull)
    assert merged.merged_by_id == shop.people["bob"].id
    assert merged.auto_merge is not None  # what was promised can still be read
    with shop.world.acting(None) as act:
        assert merges.disable_auto_merge(act, merged).auto_merge is not None
    commit = shop.world.git(shop.repository).commit(shop.tip("main"))
    assert commit is not None
    assert commit.message.startswith("Later")
    assert shop.events(pull) == ["auto_squash_enabled", "merged", "closed"]


def test_a_merge_is_promised_only_where_allowed_and_needed(shop: Shop) -> None:
    pull = shop.open()
    with pytest.raises(Refusal, match="Auto merge is not allowed"):
        promise(shop, pull)
    shop.setting(allow_auto_merge=True)
    with pytest.raises(Refusal, match="in clean status"):
        promise(shop, pull)
    shop.protect(required_approvals=1)
    assert promise(shop, pull).auto_merge is not None
    with shop.acting() as act:
        assert merges.disable_auto_merge(act, pull).auto_merge is None
    with shop.acting() as act:
        assert merges.disable_auto_merge(act, pull).auto_merge is None  # nothing is promised, and nothing said
    promise(shop, pull)
    with shop.acting() as act:
        pulls.close(act, pull)
    assert shop.fresh(pull).auto_merge is None


def test_a_promised_rebase_that_has_become_impossible_disturbs_nobody(shop: Shop) -> None:
    shop.write("feature", {"poem.txt": LINES.replace("line 3\n", "three\n")}, "First")
    shop.write("feature", {"poem.txt": LINES.replace("line 3\n", "drei\n")}, "Second")
    pull = shop.open()
    shop.setting(allow_auto_merge=True)
    shop.protect(required_approvals=1)
    promise(shop, pull, method="rebase")
    shop.write("main", {"poem.txt": LINES.replace("line 3\n", "drei\n"), "more.txt": "x\n"})
    assert mergeability.mergeable(shop.world, pull) == "MERGEABLE"
    approve(shop, pull, "bob")

    assert shop.fresh(pull).merged_at is None
    with pytest.raises(Refusal, match="This branch can't be rebased"), shop.acting("bob") as act:
        merges.merge(act, pull, method="rebase")


def report_success(act: Act, shop: Shop, sha: str) -> None:
    checks.create_check_run(act, shop.repository, sha=sha, name="ci", conclusion="success")


def end_check(act: Act, shop: Shop, _pull: Pull) -> None:
    checks.update_check_run(act, shop.world.database.all(CheckRun, name="ci")[-1], conclusion="success")


def dismiss(act: Act, shop: Shop, pull: Pull) -> None:
    (review,) = shop.world.database.all(Review, pull_id=pull.id, state="CHANGES_REQUESTED")
    reviews.dismiss(act, review, "Done")


def delete_run(act: Act, shop: Shop, _pull: Pull) -> None:
    workflow_runs.delete(act, shop.world.database.all(WorkflowRun)[-1])


def push_head(act: Act, shop: Shop, pull: Pull) -> None:
    """Push a commit that has passed on another branch already."""
    refs.push(act, shop.repository, [RefUpdate("refs/heads/feature", pull.head_sha, shop.tip("tried"))])


def prepare_check(shop: Shop, pull: Pull) -> None:
    with shop.acting("ann") as act:
        checks.create_check_run(act, shop.repository, sha=pull.head_sha, name="ci", status="in_progress")


def prepare_request(shop: Shop, pull: Pull) -> None:
    with shop.acting("ann") as act:
        report_success(act, shop, pull.head_sha)
    with shop.acting("adm") as act:
        reviews.create(act, pull, event="REQUEST_CHANGES", body="No")
    with shop.acting("tri") as act:
        reviews.create(act, pull, event="COMMENT", body="Hm")
    shop.protect(required_checks=("ci",), required_approvals=1)
    approve(shop, pull, "bob")


def prepare_run(shop: Shop, pull: Pull) -> None:
    with shop.acting("ann") as act:
        report_success(act, shop, pull.head_sha)
        workflow = workflows.create_or_update(act, shop.repository, name="CI")
        run = workflow_runs.create(act, workflow, sha=pull.head_sha, event="push", branch="feature")
        workflow_runs.add_job(act, run, name="ci", conclusion="failure")


def prepare_branch(shop: Shop, pull: Pull) -> None:
    with shop.acting("ann") as act:
        sha = shop.commit(act, shop.repository, pull.head_sha, {"more.txt": "x\n"})
        refs.create(act, shop.repository, ref="refs/heads/tried", sha=sha)
        report_success(act, shop, sha)


def prepare_draft(shop: Shop, pull: Pull) -> None:
    with shop.acting("ann") as act:
        report_success(act, shop, pull.head_sha)
        pulls.convert_to_draft(act, pull)


def prepare_nothing(_shop: Shop, _pull: Pull) -> None:
    pass


TRIGGERS: dict[str, tuple[Callable[[Shop, Pull], None], Callable[[Act, Shop, Pull], object]]] = {
    "a status is reported": (
        prepare_nothing,
        lambda act, shop, pull: checks.create_status(
            act, shop.repository, sha=pull.head_sha, state="success", context="ci"
        ),
    ),
    "a check is reported": (prepare_nothing, lambda act, shop, pull: report_success(act, shop, pull.head_sha)),
    "a check ends": (prepare_check, end_check),
    "a request for changes is dismissed": (prepare_request, dismiss),
    "a run is deleted": (prepare_run, delete_run),
    "a draft is ready": (prepare_draft, lambda act, _shop, pull: pulls.mark_ready(act, pull)),
    "the head is pushed to": (prepare_branch, push_head),
}


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_whatever_sets_off_an_auto_merge_it_is_by_the_user_who_enabled_it(shop: Shop, trigger: str) -> None:
    prepare, set_off = TRIGGERS[trigger]
    shop.setting(allow_auto_merge=True, delete_branch_on_merge=True)
    shop.protect(required_checks=("ci",))
    with shop.acting("ann") as act:
        closed = issues.create(act, shop.repository, title="It breaks")
    pull = shop.open(body=f"Fixes #{closed.number}")
    prepare(shop, pull)
    promise(shop, shop.fresh(pull))
    assert shop.fresh(pull).merged_at is None
    after = shop.world.database.last_change()

    with shop.world.fork() as before:
        shop.world.seal()
        with shop.acting("adm") as act:
            set_off(act, shop, shop.fresh(pull))
        found = {(each.kind, each.name, each.field): (each.by, each.caused_by) for each in diff(before, shop.world)}

    bob = shop.people["bob"]
    assert changes_without_author(shop.world, after=after) == []
    name, whole = f"acme/widgets#{shop.issue(pull).number}", f"acme/widgets#{closed.number}"
    for change in (
        ("refs", "acme/widgets refs/heads/main", "refs/heads/main"),
        ("refs", "acme/widgets refs/heads/feature", "refs/heads/feature"),
        ("pulls", name, "merged_at"),
        ("issues", name, "state"),
        ("issues", whole, "state"),
    ):
        assert found[change] == ("bob", "adm"), change
    assert shop.ref("refs/heads/feature") is None
    assert shop.fresh(pull).merged_by_id == bob.id
    told = [
        *shop.world.database.all(Event, issue_id=pull.issue_id),
        *shop.world.database.all(Event, issue_id=closed.id),
    ]
    named = {event.event: event.actor_id for event in told}
    assert {named[each] for each in ("merged", "closed", "head_ref_deleted")} == {bob.id}
    assert {one.closed_by_id for one in shop.world.database.all(Issue, state="closed")} == {bob.id}


def test_an_auto_merge_that_a_run_sets_off_is_by_the_user_who_enabled_it() -> None:
    with scripted_world(SEED.replace("collaborators: {reader: read}", "collaborators: {reader: write}")) as world:
        reader = Viewer(user=lookup.user(world, "reader"))
        push(world, {"turn.py": "RPM = 33\n"})
        with world.acting(reader) as act:
            merges.enable_auto_merge(act, world.database.all(Pull)[0])
        with world.fork() as before:
            world.seal()
            progress.finish(world)
            found = {(each.kind, each.field, each.by, each.caused_by) for each in diff(before, world)}

        merged = world.database.all(Pull)[0]
        assert merged.merged_by_id == reader.id
        assert ("refs", "refs/heads/main", "reader", "octocat") in found, "octocat's push started the run"
        assert ("pulls", "merged_at", "reader", "octocat") in found
        assert ("check_runs", "conclusion", None, "octocat") in found
        # The merge is a push to main by whoever enabled it, and starts a run in turn.
        (run,) = runs_of(world, merged.merge_commit_sha or "")
        assert run.actor_id == reader.id


def test_an_auto_merge_whose_commits_a_rule_refuses_stops_neither_run_nor_request(shop: Shop) -> None:
    pull = shop.open()
    shop.setting(allow_auto_merge=True)
    shop.protect(required_checks=("ci",))
    with shop.acting(None) as act:
        rulesets.create(
            act,
            shop.repository,
            name="Tickets",
            conditions={"ref_name": {"include": ["refs/heads/main"], "exclude": []}},
            rules=[{"type": "commit_message_pattern", "parameters": {"operator": "contains", "pattern": "Edit"}}],
        )
    promise(shop, pull, title="No such word", message="")
    main = shop.tip("main")

    with shop.acting("ann") as act:
        report_success(act, shop, pull.head_sha)

    assert shop.fresh(pull).merged_at is None
    assert shop.tip("main") == main
    assert [each.conclusion for each in shop.world.database.all(CheckRun)] == ["success"]
