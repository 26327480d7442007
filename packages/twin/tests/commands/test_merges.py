from collections.abc import Iterator

import pytest
from pull_worlds import LINES, Shop, make_shop

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.actions import checks
from ghx_twin.commands.pulls import merges, pulls, reviews
from ghx_twin.commands.pulls.merges import Method
from ghx_twin.git.objects import Commit
from ghx_twin.queries import lookup
from ghx_twin.queries.pulls import mergeability
from ghx_twin.queries.pulls.reviews import review_decision
from ghx_twin.refusals import ConflictRefusal, NotAllowedRefusal, RoleRefusal
from ghx_twin.state.records import Event, Pull


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def merge(shop: Shop, pull: Pull, by: str = "bob", **arguments) -> Commit:
    with shop.acting(by) as act:
        sha = merges.merge(act, pull, **arguments)
    commit = shop.world.git(shop.repository).commit(sha)
    assert commit is not None
    assert shop.tip("main") == sha
    return commit


def refusal(shop: Shop, pull: Pull, by: str = "bob", **arguments) -> str:
    before = shop.world.snapshot()
    with pytest.raises(NotAllowedRefusal) as caught:
        merge(shop, pull, by, **arguments)
    after = shop.world.snapshot()
    assert (after.records, after.refs) == (before.records, before.refs)
    return caught.value.message


def approve(shop: Shop, pull: Pull, by: str = "bob") -> None:
    with shop.acting(by) as act:
        reviews.create(act, pull, event="APPROVE")


def test_a_merge_commit_has_both_parents_and_githubs_words(shop: Shop) -> None:
    pull = shop.open(title="Add things")
    base = shop.write("main", {"x": "x"})
    commit = merge(shop, pull)

    assert commit.message == "Merge pull request #1 from acme/feature\n\nAdd things"
    assert commit.parents == (base, pull.head_sha)
    assert commit.author.name == "Bob"
    assert (commit.committer.name, commit.committer.email) == ("GitHub", "noreply@github.com")
    merged = shop.fresh(pull)
    assert (merged.merge_commit_sha, merged.base_sha) == (commit.sha, base)
    assert merged.merged_by_id == shop.people["bob"].id
    assert shop.text("x") == "x"
    assert "line 15 of feature" in (shop.text("poem.txt") or "")
    assert shop.ref("refs/pull/1/merge") is None


def test_one_squashed_commit_keeps_its_own_message(shop: Shop) -> None:
    shop.write("feature", {"a": "a"}, "Add a\n\nBecause b.\n")
    commit = merge(shop, shop.open(title="Title"), method="squash")

    assert commit.message == "Add a (#1)\n\nBecause b."
    assert commit.author.name == "Ann"
    assert len(commit.parents) == 1


def test_several_squashed_commits_are_listed_under_the_title(shop: Shop) -> None:
    shop.write("feature", {"a": "a"}, "Add a")
    shop.write("feature", {"b": "b"}, "Add b\n\nWith words")
    commit = merge(shop, shop.open(title="Title"), method="squash")

    assert commit.message == "Title (#1)\n\n* Add a\n\n* Add b\n\nWith words"


def test_other_authors_of_squashed_commits_are_named(shop: Shop) -> None:
    shop.write("feature", {"a": "a"}, "Add a")
    pull = shop.open(title="Title", by="bob")
    commit = merge(shop, pull, method="squash")

    assert commit.author.name == "Bob"
    assert commit.message.endswith(f"Co-authored-by: Ann <{shop.people['ann'].id}+ann@users.noreply.github.com>")


def test_who_is_named_in_squashed_commits_is_named_once_more_at_the_end(shop: Shop) -> None:
    own = f"{shop.people['ann'].id}+ann@users.noreply.github.com"
    helped = f"co-authored-by: Cleo <cleo@example.com>\nCo-authored-by: Ann <{own}>"
    shop.write("feature", {"a": "a"}, f"Add a\n\n{helped}")
    shop.write("feature", {"b": "b"}, "Add b\n\nCo-authored-by: Cleo C. <CLEO@example.com>")
    commit = merge(shop, shop.open(title="Title"), method="squash")

    told, _, named = commit.message.partition("\n\n---------\n\n")
    assert told.startswith("Title (#1)\n\n* Add a\n\n")
    assert told.endswith("\n\n* Add b\n\nCo-authored-by: Cleo C. <CLEO@example.com>")
    assert named == "Co-authored-by: Cleo <cleo@example.com>"


def test_the_only_squashed_commit_names_nobody_twice(shop: Shop) -> None:
    shop.write("feature", {"a": "a"}, "Add a\n\nCo-authored-by: Cleo <cleo@example.com>")
    commit = merge(shop, shop.open(title="Title"), method="squash")

    assert commit.message == "Add a (#1)\n\nCo-authored-by: Cleo <cleo@example.com>"


def test_rebased_commits_keep_their_authors_and_get_the_merger_as_committer(shop: Shop) -> None:
    shop.write("feature", {"a": "a"}, "Add a")
    shop.write("feature", {"b": "b"}, "Add b")
    pull = shop.open()
    base = shop.write("main", {"x": "x"})
    tip = merge(shop, pull, method="rebase")

    added = shop.world.git(shop.repository).commits_between(base, tip.sha)
    assert [commit.message for commit in added] == ["Add a", "Add b"]
    assert {commit.author.name for commit in added} == {"Ann"}
    assert {commit.committer.name for commit in added} == {"Bob"}
    assert shop.fresh(pull).merge_commit_sha == tip.sha


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_title_and_message_may_be_given(shop: Shop, method: Method) -> None:
    commit = merge(shop, shop.open(), method=method, title="Mine", message="Body")
    assert commit.message == "Mine\n\nBody"


def test_an_empty_message_leaves_the_title_alone(shop: Shop) -> None:
    assert merge(shop, shop.open(), message="").message == "Merge pull request #1 from acme/feature"


@pytest.mark.parametrize(
    ("method", "setting", "words"),
    [("merge", "allow_merge_commit", "Merge commits are"), ("squash", "allow_squash_merge", "Squash merges are"),
     ("rebase", "allow_rebase_merge", "Rebase merges are")],
)  # fmt: skip
def test_a_method_that_is_not_allowed_is_refused(shop: Shop, method: Method, setting: str, words: str) -> None:
    pull = shop.open()
    shop.setting(**{setting: False})
    assert refusal(shop, pull, method=method) == f"{words} not allowed on this repository."


def test_drafts_conflicts_closed_and_merged_ones_are_refused(shop: Shop) -> None:
    draft, closed, done = shop.open("one", draft=True), shop.open("two"), shop.open("three")
    assert refusal(shop, draft) == "Pull Request is still a draft"
    with shop.acting() as act:
        pulls.close(act, closed)
    assert refusal(shop, closed) == "Pull Request is not mergeable"
    merge(shop, done)
    assert refusal(shop, done) == "Pull Request is not mergeable"
    conflicting = shop.open("four")
    shop.write("main", {"poem.txt": LINES.replace("line 15\n", "another 15\n")})
    assert refusal(shop, conflicting) == "Pull Request is not mergeable"


def test_another_head_than_expected_is_a_conflict(shop: Shop) -> None:
    pull = shop.open()
    with pytest.raises(ConflictRefusal, match="Head branch was modified"):
        merge(shop, pull, expected_head="1" * 40)
    merge(shop, pull, expected_head=pull.head_sha)


def test_merging_takes_write_access(shop: Shop) -> None:
    pull = shop.open()
    for login in ("rea", "tri"):
        with pytest.raises(RoleRefusal):
            merge(shop, pull, login)


def test_required_reviews_block_until_enough_writers_approve(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_approvals=1)
    needed = "At least 1 approving review is required by reviewers with write access."

    assert refusal(shop, pull) == needed
    approve(shop, pull, "rea")
    assert review_decision(shop.world, pull) == "REVIEW_REQUIRED"
    assert mergeability.merge_state(shop.world, pull) == "BLOCKED"
    assert refusal(shop, pull) == needed
    approve(shop, pull, "bob")
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    merge(shop, pull)


def test_a_request_for_changes_blocks_over_approvals(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_approvals=1)
    approve(shop, pull, "bob")
    with shop.acting("adm") as act:
        reviews.create(act, pull, event="REQUEST_CHANGES", body="No")
    assert "Changes have been requested" in refusal(shop, pull)


def test_administrators_are_held_only_where_the_rules_say_so(shop: Shop) -> None:
    first, second = shop.open("one"), shop.open("two", "main")
    shop.protect(required_approvals=2, enforce_admins=True)
    assert refusal(shop, first, "adm") == "At least 2 approving reviews are required by reviewers with write access."
    shop.protect(enforce_admins=False)
    merge(shop, first, "adm")
    assert refusal(shop, second) == "Pull Request is not mergeable"  # both edit line 15


def test_required_checks_block_until_they_pass(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_checks=("ci", "lint"))
    assert refusal(shop, pull) == "2 of 2 required status checks are expected."
    with shop.acting("bob") as act:
        checks.create_status(act, shop.repository, sha=pull.head_sha, state="failure", context="ci")
    assert refusal(shop, pull) == "2 of 2 required status checks have not succeeded: 1 expected, 1 failing."
    with shop.acting("bob") as act:
        checks.create_status(act, shop.repository, sha=pull.head_sha, state="success", context="ci")
        checks.create_check_run(act, shop.repository, sha=pull.head_sha, name="lint", conclusion="skipped")
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    merge(shop, pull)


def test_one_required_check_is_named(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_checks=("ci",))
    assert refusal(shop, pull) == 'Required status check "ci" is expected.'


def test_strict_checks_want_the_branch_up_to_date(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_checks=("ci",), strict_checks=True)
    with shop.acting("bob") as act:
        checks.create_status(act, shop.repository, sha=pull.head_sha, state="success", context="ci")
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    shop.write("main", {"x": "x"})
    assert mergeability.merge_state(shop.world, pull) == "BEHIND"
    assert "out of date" in refusal(shop, pull)


def test_failing_checks_that_are_not_required_only_make_it_unstable(shop: Shop) -> None:
    pull = shop.open()
    with shop.acting("bob") as act:
        checks.create_status(act, shop.repository, sha=pull.head_sha, state="failure")
    assert mergeability.merge_state(shop.world, pull) == "UNSTABLE"
    merge(shop, pull)


def test_the_head_branch_goes_where_that_is_the_habit(shop: Shop) -> None:
    pull = shop.open()
    shop.setting(delete_branch_on_merge=True)
    merge(shop, pull)

    assert shop.ref("refs/heads/feature") is None
    assert shop.ref("refs/pull/1/head") == pull.head_sha
    assert shop.events(pull) == ["merged", "closed", "referenced", "head_ref_deleted"]


def test_a_merge_into_the_default_branch_closes_what_it_promised(shop: Shop) -> None:
    with shop.acting() as act:
        for title in ("One", "Two", "Three"):
            issues.create(act, shop.repository, title=title)
    shop.write("feature", {"a": "a"}, "Do it\n\nCloses #2")
    pull = shop.open(body="Fixes #1")
    commit = merge(shop, pull)

    states = [lookup.issue(shop.world, shop.repository, number).state for number in (1, 2, 3)]
    assert states == ["closed", "closed", "open"]
    closed = [lookup.issue(shop.world, shop.repository, number).id for number in (1, 2)]
    first, second = (shop.world.database.one(Event, issue_id=identity, event="closed") for identity in closed)
    assert first is not None
    assert first.data["pull_id"] == pull.id
    assert first.data["commit_sha"] == commit.sha
    assert second is not None
    assert second.data["commit_sha"] == pull.head_sha


def test_a_merge_into_another_branch_closes_nothing(shop: Shop) -> None:
    with shop.acting() as act:
        issues.create(act, shop.repository, title="One")
    shop.branch("other")
    pull = shop.open(base="other", body="Fixes #1")
    with shop.acting("bob") as act:
        merges.merge(act, pull)
    assert lookup.issue(shop.world, shop.repository, 1).state == "open"


def test_a_stacked_pull_request_whose_commits_arrive_is_merged_too(shop: Shop) -> None:
    lower = shop.open("lower")
    shop.branch("upper", shop.tip("lower"))
    shop.write("upper", {"up": "x"})
    upper = shop.open("upper")
    merge(shop, upper)

    assert shop.fresh(lower).merged_at is not None
    assert shop.fresh(lower).merge_commit_sha == shop.tip("main")


def test_a_fork_is_merged_without_being_deleted(shop: Shop) -> None:
    with shop.acting("rea") as act:
        copy = repositories.fork(act, shop.repository, owner=shop.people["rea"])
    shop.write("topic", {"a.txt": "a\n"}, repository=copy)
    shop.setting(delete_branch_on_merge=True)
    commit = merge(shop, shop.open("rea:topic", by="rea"))

    assert commit.message.startswith("Merge pull request #1 from rea/topic")
    assert shop.text("a.txt") == "a\n"
    assert shop.tip("topic", copy)


def test_a_title_with_a_nul_character_is_merged_without_it(shop: Shop) -> None:
    assert merge(shop, shop.open(title="A\0B")).message.endswith("\n\nAB")
