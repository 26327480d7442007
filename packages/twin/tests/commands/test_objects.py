from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands import repositories
from ghx_twin.commands.repositories import objects, refs
from ghx_twin.commands.repositories.objects import NewEntry
from ghx_twin.queries import lookup
from ghx_twin.refusals import ConflictRefusal, ForbiddenRefusal, InvalidRefusal
from ghx_twin.viewer import Viewer


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def test_a_commit_is_built_of_blob_tree_and_parents_and_reached_by_moving_a_branch(shop: Shop) -> None:
    main = shop.tip("main")
    with shop.acting() as act:
        blob = objects.create_blob(act, shop.repository, b"one\n")
        entries = [NewEntry(path="a/one.txt", sha=blob), NewEntry(path="two.txt", content=b"two\n")]
        tree = objects.create_tree(act, shop.repository, entries=entries, base=main)  # a commit names its tree
        commit = objects.create_commit(act, shop.repository, message="Build", tree=tree, parents=[main])
        refs.update(act, shop.repository, ref="refs/heads/main", sha=commit.sha)

    assert shop.text("a/one.txt") == "one\n"
    assert shop.text("two.txt") == "two\n"
    assert shop.text("poem.txt") is not None
    assert commit.author.name == "Ann"


def test_an_entry_without_sha_and_content_removes_the_path(shop: Shop) -> None:
    with shop.acting() as act:
        tree = objects.create_tree(
            act, shop.repository, entries=[NewEntry(path="poem.txt"), NewEntry(path="b", content=b"")],
            base=shop.tip("main"),
        )  # fmt: skip
    assert [entry.path for entry in shop.world.git(shop.repository).tree(tree)] == ["b"]


@pytest.mark.parametrize(
    "entry",
    [
        NewEntry(path="a", sha="1" * 40),
        NewEntry(path="../a", content=b""),
        NewEntry(path="a", mode="123456", content=b""),
        NewEntry(path="a", mode="100644", type="tree", content=b""),
        NewEntry(path="missing.txt"),
    ],
)
def test_a_tree_of_what_cannot_be_is_refused(shop: Shop, entry: NewEntry) -> None:
    with pytest.raises(InvalidRefusal), shop.acting() as act:
        objects.create_tree(act, shop.repository, entries=[entry], base=shop.tip("main"))


def test_bases_trees_and_parents_must_exist(shop: Shop) -> None:
    tree = shop.world.git(shop.repository).commit(shop.tip("main"))
    assert tree is not None
    with pytest.raises(InvalidRefusal, match="base_tree is not a valid tree oid"), shop.acting() as act:
        objects.create_tree(act, shop.repository, entries=[NewEntry(path="a", content=b"")], base="1" * 40)
    with pytest.raises(InvalidRefusal, match="Tree SHA does not exist"), shop.acting() as act:
        objects.create_commit(act, shop.repository, message="m", tree="1" * 40)
    with pytest.raises(InvalidRefusal, match="Parent SHA does not exist"), shop.acting() as act:
        objects.create_commit(act, shop.repository, message="m", tree=tree.tree, parents=["zz"])


def test_an_annotated_tag_points_at_what_it_names(shop: Shop) -> None:
    with shop.acting() as act:
        tag = objects.create_tag(act, shop.repository, name="v1", target=shop.tip("main"), message="First")
        refs.create(act, shop.repository, ref="refs/tags/v1", sha=tag.sha)

    assert (tag.name, tag.target) == ("v1", shop.tip("main"))
    assert shop.world.git(shop.repository).resolve("v1", "main") == shop.tip("main")
    with pytest.raises(InvalidRefusal), shop.acting() as act:
        objects.create_tag(act, shop.repository, name="a b", target=shop.tip("main"), message="m")


def test_readers_and_empty_repositories_get_no_objects(shop: Shop) -> None:
    with pytest.raises(ForbiddenRefusal), shop.acting("rea") as act:
        objects.create_blob(act, shop.repository, b"")
    with shop.acting(None) as act:
        repositories.create(act, owner=shop.people["ann"], name="empty")
    empty = lookup.repository(shop.world, None, "ann", "empty")
    with pytest.raises(ConflictRefusal, match="empty"), shop.world.acting(Viewer(user=shop.people["ann"])) as act:
        objects.create_blob(act, empty, b"")
