from collections.abc import Iterator

import pytest
from pull_worlds import LINES, Shop, make_shop

from ghx_bench.twin.commands import checks, merges, pulls, reviews
from ghx_bench.twin.queries import mergeability
from ghx_bench.twin.refusals import Refusal
from ghx_bench.twin.state.records import Pull


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
