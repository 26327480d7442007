from collections.abc import Iterator

import pytest
from pull_worlds import LINES, Shop, make_shop

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.pulls import merges
from ghx_twin.commands.repositories import refs
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup
from ghx_twin.queries.pulls import mergeability
from ghx_twin.queries.repositories import comparison
from ghx_twin.state.records import Event


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def delete(shop: Shop, branch: str) -> None:
    with shop.acting() as act:
        refs.delete(act, shop.repository, ref=f"refs/heads/{branch}")


def force(shop: Shop, branch: str, sha: str) -> None:
    with shop.acting() as act:
        refs.update(act, shop.repository, ref=f"refs/heads/{branch}", sha=sha, force=True)


def test_a_push_moves_the_head_and_a_forced_one_says_so(shop: Shop) -> None:
    pull = shop.open()
    before = shop.issue(pull).updated_at
    ahead = shop.write("feature", {"a": "a"})
    assert shop.fresh(pull).head_sha == ahead
    assert shop.issue(pull).updated_at > before
    assert shop.events(pull) == []

    with shop.acting() as act:
        other = shop.commit(act, shop.repository, shop.tip("main"), {"b": "b"})
    force(shop, "feature", other)
    assert shop.fresh(pull).head_sha == other == shop.ref("refs/pull/1/head")
    assert shop.events(pull) == ["head_ref_force_pushed"]


def test_a_head_reset_onto_its_base_closes_the_pull_request(shop: Shop) -> None:
    pull = shop.open()
    force(shop, "feature", shop.tip("main"))

    assert shop.issue(pull).state == "closed"
    assert shop.fresh(pull).merged_at is None


def test_a_push_of_the_head_into_the_base_merges(shop: Shop) -> None:
    pull = shop.open()
    old = shop.tip("main")
    with shop.acting("bob") as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=pull.head_sha)

    merged = shop.fresh(pull)
    assert (merged.merge_commit_sha, merged.base_sha) == (pull.head_sha, old)
    assert merged.merged_by_id == shop.people["bob"].id
    assert shop.events(pull) == ["merged", "closed"]
    assert [file.path for file in comparison.files(shop.world, merged)] == ["poem.txt"]


def test_a_merge_made_by_git_names_the_merge_commit(shop: Shop) -> None:
    pull = shop.open()
    old = shop.write("main", {"x": "x"})
    with shop.acting("bob") as act:
        git = act.git(shop.repository)
        tree, tip = git.merge(old, pull.head_sha), git.commit(old)
        assert tree is not None
        assert tip is not None
        merge = git.write_commit(
            tree=tree, parents=(old, pull.head_sha), message="m", author=tip.author, committer=tip.committer
        )
        after = shop.commit(act, shop.repository, merge, {"later": "x"})
        git.set_ref("refs/heads/main", after)
        git.set_ref("refs/heads/feature", None)
        updates = [
            RefUpdate("refs/heads/feature", pull.head_sha, None),
            RefUpdate("refs/heads/main", old, after),
        ]
        refs.record_push(act, shop.repository, updates)

    assert shop.fresh(pull).merge_commit_sha == merge
    assert shop.fresh(pull).merged_at is not None
    assert shop.events(pull) == ["merged", "closed", "head_ref_deleted"]


def test_a_push_to_head_and_base_at_once_is_a_merge(shop: Shop) -> None:
    pull = shop.open()
    old, base = shop.tip("feature"), shop.tip("main")
    with shop.acting() as act:
        sha = shop.commit(act, shop.repository, old, {"x": "x"})
        git = act.git(shop.repository)
        git.set_ref("refs/heads/main", sha)
        git.set_ref("refs/heads/feature", sha)
        updates = [RefUpdate("refs/heads/main", base, sha), RefUpdate("refs/heads/feature", old, sha)]
        refs.record_push(act, shop.repository, updates)

    assert shop.fresh(pull).merged_at is not None
    assert shop.fresh(pull).head_sha == sha


def test_a_deleted_base_closes_unless_it_was_merged_and_leads_further(shop: Shop) -> None:
    lower = shop.open("lower")
    shop.branch("upper", shop.tip("lower"))
    shop.write("upper", {"up": "x"})
    upper = shop.open("upper", "lower")
    shop.branch("lone")
    doomed = shop.open("feature", "lone")
    delete(shop, "lone")
    assert shop.issue(doomed).state == "closed"
    assert shop.events(doomed) == ["base_ref_deleted", "closed"]

    with shop.acting() as act:
        merges.merge(act, lower)
    delete(shop, "lower")
    assert shop.fresh(upper).base_ref == "main"
    assert shop.issue(upper).state == "open"
    assert shop.events(upper) == ["automatic_base_change_succeeded"]


def test_a_moved_base_can_bring_a_conflict_and_the_trial_merge_goes(shop: Shop) -> None:
    pull = shop.open()
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    shop.write("main", {"poem.txt": LINES.replace("line 15\n", "another 15\n")})

    assert mergeability.mergeable(shop.world, pull) == "CONFLICTING"
    assert mergeability.merge_state(shop.world, pull) == "DIRTY"
    assert shop.ref("refs/pull/1/merge") is None


def test_commits_that_reach_the_default_branch_point_at_issues_once_and_close_them(shop: Shop) -> None:
    with shop.acting() as act:
        named = issues.create(act, shop.repository, title="Named")
        promised = issues.create(act, shop.repository, title="Promised")
    shop.write("aside", {"a": "a"}, "See #1, fixes #2")
    assert shop.events(named) == shop.events(promised) == []
    with shop.acting("bob") as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=shop.tip("aside"))

    assert shop.events(named) == ["referenced"]
    assert shop.events(promised) == ["referenced", "closed"]
    event = shop.world.database.one(Event, issue_id=named.id)
    assert event is not None
    assert event.data == {"commit_sha": shop.tip("main"), "commit_repository_id": shop.repository.id}


def test_the_first_branch_that_is_pushed_to_an_empty_repository_is_its_default_branch(shop: Shop) -> None:
    with shop.acting("ann") as act:
        empty = repositories.create(act, owner=shop.people["ann"], name="empty")
        sha = shop.commit(act, empty, None, {"a": "a"})
        act.git(empty).set_ref("refs/heads/trunk", sha)
        refs.record_push(act, empty, [RefUpdate("refs/heads/trunk", None, sha)])

    assert lookup.repository(shop.world, None, "ann", "empty").default_branch == "trunk"
    assert shop.world.git(empty).head() == "refs/heads/trunk"
