from collections.abc import Iterator

import pytest
from pull_worlds import LINES, Shop, make_shop

from ghx_twin.commands.pulls import merges, pulls
from ghx_twin.commands.repositories import refs
from ghx_twin.queries.pulls import mergeability
from ghx_twin.queries.repositories import comparison
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import Pull


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def act_on(shop: Shop, command, pull: Pull, by: str = "ann", **arguments) -> Pull:
    with shop.acting(by) as act:
        return command(act, pull, **arguments)


def refusal(shop: Shop, command, pull: Pull, by: str = "ann", **arguments) -> InvalidRefusal:
    with pytest.raises(InvalidRefusal) as caught:
        act_on(shop, command, pull, by, **arguments)
    return caught.value


def delete(shop: Shop, branch: str) -> None:
    with shop.acting() as act:
        refs.delete(act, shop.repository, ref=f"refs/heads/{branch}")


def force(shop: Shop, branch: str, sha: str) -> None:
    with shop.acting() as act:
        refs.update(act, shop.repository, ref=f"refs/heads/{branch}", sha=sha, force=True)


def test_closing_freezes_the_base_and_drops_the_trial_merge(shop: Shop) -> None:
    pull = shop.open()
    base = shop.write("main", {"x": "x"})
    act_on(shop, pulls.close, pull)
    shop.write("main", {"y": "y"})

    closed = shop.fresh(pull)
    assert shop.issue(closed).state == "closed"
    assert closed.base_sha == base == comparison.base_tip(shop.world, closed)
    assert shop.ref("refs/pull/1/merge") is None
    assert shop.ref("refs/pull/1/head") == closed.head_sha
    assert mergeability.mergeable(shop.world, closed) == "UNKNOWN"
    assert shop.events(pull) == ["closed"]


def test_a_closed_pull_request_opens_again_at_the_tip_its_branch_has_now(shop: Shop) -> None:
    pull = shop.open()
    act_on(shop, pulls.close, pull)
    sha = shop.write("feature", {"more": "x"})
    assert shop.fresh(pull).head_sha != sha  # nobody follows while it is closed

    act_on(shop, pulls.reopen, pull)
    assert shop.issue(pull).state == "open"
    assert shop.fresh(pull).head_sha == sha == shop.ref("refs/pull/1/head")
    assert shop.ref("refs/pull/1/merge") is not None
    assert shop.events(pull) == ["closed", "reopened"]


def test_a_closed_pull_request_cannot_be_opened_without_its_branch(shop: Shop) -> None:
    pull = shop.open()
    delete(shop, "feature")

    told = refusal(shop, pulls.reopen, pull)
    assert told.graphql_message == "Could not open the pull request."
    assert "feature branch has been deleted" in str(told.errors)
    assert shop.events(pull) == ["closed", "head_ref_deleted"]


def test_a_restored_branch_lets_a_pull_request_be_opened_again(shop: Shop) -> None:
    pull = shop.open()
    delete(shop, "feature")
    shop.branch("feature", pull.head_sha)

    act_on(shop, pulls.reopen, pull)
    assert shop.events(pull) == ["closed", "head_ref_deleted", "head_ref_restored", "reopened"]


def test_a_pull_request_cannot_be_opened_again_after_a_force_push_a_merge_or_a_newer_one(shop: Shop) -> None:
    forced, merged, replaced = shop.open("one"), shop.open("two", "main"), shop.open("three")
    act_on(shop, pulls.close, forced)
    force(shop, "one", shop.tip("main"))
    shop.write("one", {"z": "z"})
    assert "force-pushed" in str(refusal(shop, pulls.reopen, forced).errors)

    with shop.acting() as act:
        merges.merge(act, merged)
    assert "merged" in str(refusal(shop, pulls.reopen, merged).errors)

    act_on(shop, pulls.close, replaced)
    shop.open("three")
    assert "already exists for acme:three" in str(refusal(shop, pulls.reopen, replaced).errors)


def test_a_pull_request_whose_commits_have_arrived_cannot_be_opened_again(shop: Shop) -> None:
    pull = shop.open()
    act_on(shop, pulls.close, pull)
    with shop.acting() as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=pull.head_sha)

    assert "no new commits on the acme:feature" in str(refusal(shop, pulls.reopen, pull).errors)
    assert shop.fresh(pull).merged_at is None


def test_authors_and_triagers_close_and_readers_do_not(shop: Shop) -> None:
    pull = shop.open()
    with pytest.raises(ForbiddenRefusal):
        act_on(shop, pulls.close, pull, "rea")
    act_on(shop, pulls.close, pull, "tri")
    act_on(shop, pulls.reopen, pull, "tri")
    assert shop.issue(pull).state == "open"


def test_text_and_base_change_with_their_events(shop: Shop) -> None:
    shop.branch("other")
    pull = shop.open()
    act_on(shop, pulls.update, pull, title="New", body="Text", base="other")

    assert (shop.issue(pull).title, shop.issue(pull).body) == ("New", "Text")
    assert shop.fresh(pull).base_ref == "other"
    assert shop.events(pull) == ["renamed", "base_ref_changed"]
    with pytest.raises(ForbiddenRefusal):
        act_on(shop, pulls.update, pull, "tri", title="No")


def test_a_base_is_refused_that_is_missing_taken_or_has_everything(shop: Shop) -> None:
    shop.branch("other")
    pull = shop.open()
    shop.open(base="other")
    shop.branch("ahead", pull.head_sha)

    assert "was not found" in refusal(shop, pulls.update, pull, base="none").graphql_message
    assert "already exists" in refusal(shop, pulls.update, pull, base="other").graphql_message
    assert "no new commits" in refusal(shop, pulls.update, pull, base="ahead").graphql_message
    act_on(shop, pulls.close, pull)
    assert "closed pull request" in refusal(shop, pulls.update, pull, base="other").graphql_message


def test_drafts_become_ready_and_drafts_again(shop: Shop) -> None:
    pull = shop.open(draft=True)
    assert mergeability.merge_state(shop.world, pull) == "CLEAN"
    assert not act_on(shop, pulls.mark_ready, pull).draft
    act_on(shop, pulls.mark_ready, pull)  # no second event
    assert act_on(shop, pulls.convert_to_draft, pull).draft
    assert shop.events(pull) == ["ready_for_review", "convert_to_draft"]
    with pytest.raises(ForbiddenRefusal):
        act_on(shop, pulls.mark_ready, pull, "rea")


def test_a_branch_takes_in_its_base(shop: Shop) -> None:
    pull = shop.open()
    base, head = shop.write("main", {"x": "x"}), shop.tip("feature")
    updated = act_on(shop, pulls.update_branch, pull, "bob", expected_head=head)

    commit = shop.world.git(shop.repository).commit(updated.head_sha)
    assert commit is not None
    assert commit.parents == (head, base)
    assert commit.message == "Merge branch 'main' into feature"
    assert shop.tip("feature") == updated.head_sha
    assert "no new commits" in refusal(shop, pulls.update_branch, pull).message


def test_a_branch_is_rebased_onto_its_base(shop: Shop) -> None:
    pull = shop.open()
    base = shop.write("main", {"x": "x"})
    updated = act_on(shop, pulls.update_branch, pull, method="rebase")

    assert [commit.parents for commit in comparison.commits(shop.world, updated)] == [(base,)]
    assert shop.events(pull) == ["head_ref_force_pushed"]


def test_a_branch_is_not_updated_over_conflicts_other_heads_or_missing_rights(shop: Shop) -> None:
    pull = shop.open()
    shop.write("main", {"poem.txt": LINES.replace("line 15\n", "another 15\n")})

    assert "conflict" in refusal(shop, pulls.update_branch, pull).message
    assert "expected head sha" in refusal(shop, pulls.update_branch, pull, expected_head="1" * 40).message
    with pytest.raises(ForbiddenRefusal):
        act_on(shop, pulls.update_branch, pull, "rea")
    assert shop.tip("feature") == pull.head_sha
