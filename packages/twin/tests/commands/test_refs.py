from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands.repositories import refs
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def refusal(shop: Shop, command, login: str = "ann", **arguments) -> str:
    with pytest.raises(InvalidRefusal) as caught, shop.acting(login) as act:
        command(act, shop.repository, **arguments)
    return caught.value.message


def test_a_branch_is_created_moved_and_deleted(shop: Shop) -> None:
    first = shop.tip("main")
    second = shop.write("main", {"a.txt": "a\n"})

    with shop.acting() as act:
        refs.create(act, shop.repository, ref="refs/heads/topic", sha=first)
    with shop.acting() as act:
        refs.update(act, shop.repository, ref="refs/heads/topic", sha=second)
    assert shop.tip("topic") == second
    with shop.acting() as act:
        refs.delete(act, shop.repository, ref="refs/heads/topic")
    assert shop.ref("refs/heads/topic") is None


def test_what_is_there_cannot_be_created_and_what_is_not_cannot_be_changed(shop: Shop) -> None:
    sha = shop.tip("main")

    assert refusal(shop, refs.create, ref="refs/heads/main", sha=sha) == "Reference already exists"
    assert refusal(shop, refs.create, ref="refs/heads/x", sha="1" * 40) == "Object does not exist"
    assert refusal(shop, refs.update, ref="refs/heads/x", sha=sha) == "Reference does not exist"
    assert refusal(shop, refs.delete, ref="refs/heads/x") == "Reference does not exist"


def test_only_force_moves_a_branch_backwards(shop: Shop) -> None:
    first = shop.tip("main")
    shop.write("main", {"a.txt": "a\n"})

    assert refusal(shop, refs.update, ref="refs/heads/main", sha=first) == "Update is not a fast forward"
    with shop.acting() as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=first, force=True)
    assert shop.tip("main") == first


@pytest.mark.parametrize(
    "name",
    ["main", "heads/x", "refs/heads", "refs/heads/", "refs/heads/a b", "refs/heads/a..b", "refs/heads/../x",
     "refs/heads/x.lock", "refs/pull/1/head", "refs/heads/-x", "refs/heads/\x00", "refs/heads/\ud800", ""],
)  # fmt: skip
def test_a_name_that_no_ref_can_have_is_refused(shop: Shop, name: str) -> None:
    before = shop.world.storage.refs()

    told = refusal(shop, refs.create, ref=name, sha=shop.tip("main"))
    assert "not a valid ref name" in told or told.startswith("Reference name must")
    assert shop.world.storage.refs() == before


def test_a_branch_below_the_name_of_another_is_refused(shop: Shop) -> None:
    assert refusal(shop, refs.create, ref="refs/heads/main/x", sha=shop.tip("main")) == "Reference update failed"


def test_a_branch_holds_commits_only(shop: Shop) -> None:
    blob = shop.world.git(shop.repository).entry(shop.tip("main"), "poem.txt")
    assert blob is not None

    assert refusal(shop, refs.create, ref="refs/heads/x", sha=blob.sha) == "Reference update failed"


def test_the_default_branch_cannot_be_deleted(shop: Shop) -> None:
    assert refusal(shop, refs.delete, ref="refs/heads/main") == "Cannot delete the default branch"


def test_readers_change_no_refs(shop: Shop) -> None:
    for login in ("rea", "tri"):
        with pytest.raises(ForbiddenRefusal), shop.acting(login) as act:
            refs.create(act, shop.repository, ref="refs/heads/x", sha=shop.tip("main"))


def test_a_protected_branch_is_changed_by_pull_requests_only_and_administrators_may_where_not_enforced(
    shop: Shop,
) -> None:
    old = shop.tip("main")
    new = shop.write("topic", {"a.txt": "a\n"})
    shop.protect(required_approvals=1)

    assert refusal(shop, refs.update, ref="refs/heads/main", sha=new) == "Changes must be made through a pull request."
    assert shop.tip("main") == old
    with shop.acting("adm") as act:
        refs.update(act, shop.repository, ref="refs/heads/main", sha=new)
    assert shop.tip("main") == new
    shop.protect(enforce_admins=True)
    newer = shop.write("topic", {"b.txt": "b\n"})
    assert "pull request" in refusal(shop, refs.update, "adm", ref="refs/heads/main", sha=newer)


def test_a_protected_branch_is_neither_forced_nor_deleted(shop: Shop) -> None:
    first = shop.tip("main")
    shop.branch("release/1")
    shop.write("release/1", {"a.txt": "a\n"})
    shop.protect("release/*")

    told = refusal(shop, refs.update, "adm", ref="refs/heads/release/1", sha=first, force=True)
    assert told == "Cannot force-push to this protected branch"
    assert refusal(shop, refs.delete, ref="refs/heads/release/1") == "Cannot delete this protected branch"


def test_who_moved_a_ref_is_remembered(shop: Shop) -> None:
    with shop.acting("bob") as act:
        refs.create(act, shop.repository, ref="refs/heads/topic", sha=shop.tip("main"))

    change = next(one for one in shop.world.database.changes() if one.field == "refs/heads/topic")
    assert (change.table, change.actor_id, change.before) == ("refs", shop.people["bob"].id, None)
    assert change.after == shop.tip("main")
