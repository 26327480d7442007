from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands import repositories
from ghx_twin.commands.repositories import contents, objects
from ghx_twin.commands.repositories.objects import NewEntry
from ghx_twin.git.objects import Signature, TreeChange
from ghx_twin.queries import lookup
from ghx_twin.refusals import ConflictRefusal, ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.viewer import Viewer


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def sha_of(shop: Shop, path: str, branch: str = "main") -> str:
    entry = shop.world.git(shop.repository).entry(shop.tip(branch), path)
    assert entry is not None
    return entry.sha


def test_a_file_is_created_as_a_commit_of_the_viewer(shop: Shop) -> None:
    parent = shop.tip("main")
    with shop.acting() as act:
        change = contents.put(act, shop.repository, path="docs/a.md", content=b"hi\n", message="Add")

    assert change.created
    assert change.entry is not None
    assert change.entry.path.endswith("a.md")
    assert change.commit.parents == (parent,)
    assert change.commit.author.name == "Ann"
    assert shop.tip("main") == change.commit.sha
    assert shop.text("docs/a.md") == "hi\n"


def test_replacing_a_file_takes_the_sha_it_has(shop: Shop) -> None:
    with pytest.raises(InvalidRefusal, match='"sha" wasn\'t supplied'), shop.acting() as act:
        contents.put(act, shop.repository, path="poem.txt", content=b"x", message="m")
    with pytest.raises(ConflictRefusal, match=r"poem\.txt does not match 1111"), shop.acting() as act:
        contents.put(act, shop.repository, path="poem.txt", content=b"x", message="m", sha="1" * 40)
    with shop.acting() as act:
        change = contents.put(
            act, shop.repository, path="poem.txt", content=b"x", message="m", sha=sha_of(shop, "poem.txt")
        )
    assert not change.created
    assert shop.text("poem.txt") == "x"


def test_a_sha_for_a_file_that_is_not_there_does_not_match(shop: Shop) -> None:
    with pytest.raises(ConflictRefusal), shop.acting() as act:
        contents.put(act, shop.repository, path="new.txt", content=b"x", message="m", sha="1" * 40)


def test_the_mode_of_a_replaced_file_stays(shop: Shop) -> None:
    with shop.acting(None) as act:
        git = act.git(shop.repository)
        tree = git.write_tree(shop.tip("main"), [TreeChange(path="run.sh", mode="100755", sha=git.write_blob(b"a"))])
        tip = git.commit(shop.tip("main"))
        assert tip is not None
        sha = git.write_commit(tree=tree, parents=(tip.sha,), message="x", author=tip.author, committer=tip.committer)
        git.set_ref("refs/heads/main", sha)
    with shop.acting() as act:
        change = contents.put(
            act, shop.repository, path="run.sh", content=b"b", message="m", sha=sha_of(shop, "run.sh")
        )
    assert change.entry is not None
    assert change.entry.mode == "100755"


def test_a_file_is_deleted_with_the_sha_it_has(shop: Shop) -> None:
    with pytest.raises(InvalidRefusal, match="wasn't supplied"), shop.acting() as act:
        contents.delete(act, shop.repository, path="poem.txt", sha=None)
    with pytest.raises(ConflictRefusal), shop.acting() as act:
        contents.delete(act, shop.repository, path="poem.txt", sha="2" * 40)
    with pytest.raises(NotFoundRefusal), shop.acting() as act:
        contents.delete(act, shop.repository, path="none.txt", sha="2" * 40)
    with shop.acting() as act:
        change = contents.delete(act, shop.repository, path="poem.txt", sha=sha_of(shop, "poem.txt"))
    assert change.entry is None
    assert change.commit.message == "Delete poem.txt"
    assert shop.text("poem.txt") is None


def test_a_branch_that_is_not_there_is_not_found(shop: Shop) -> None:
    with pytest.raises(NotFoundRefusal, match="Branch nope not found"), shop.acting() as act:
        contents.put(act, shop.repository, path="a", content=b"", message="m", branch="nope")


def test_the_first_file_of_an_empty_repository_makes_its_default_branch(shop: Shop) -> None:
    with shop.acting(None) as act:
        repositories.create(act, owner=lookup.organization(shop.world, "acme"), name="empty", default_branch="trunk")
    empty = lookup.repository(shop.world, None, "acme", "empty")
    with pytest.raises(NotFoundRefusal), shop.acting(None) as act:
        contents.put(act, empty, path="a", content=b"", message="m", branch="other")
    with shop.acting(None) as act:
        change = contents.put(act, empty, path="a", content=b"1", message="m")

    assert change.commit.parents == ()
    assert shop.tip("trunk", empty) == change.commit.sha


@pytest.mark.parametrize(
    "path", ["../x", "a/../b", "./a", "a//b", "a/", "/etc/passwd", ".git/config", "a/.GIT/x", "", "a\0b", "."]
)
def test_a_path_that_leads_out_of_the_tree_is_refused(shop: Shop, path: str) -> None:
    before = shop.tip("main")
    with pytest.raises(InvalidRefusal, match="path"), shop.acting() as act:
        contents.put(act, shop.repository, path=path, content=b"x", message="m")
    assert shop.tip("main") == before


def test_a_path_through_a_file_or_onto_a_folder_is_refused(shop: Shop) -> None:
    shop.write("main", {"docs/a.md": "a\n"})
    for path in ("poem.txt/x", "docs"):
        with pytest.raises(InvalidRefusal), shop.acting() as act:
            contents.put(act, shop.repository, path=path, content=b"x", message="m")


def test_author_and_committer_may_be_given(shop: Shop) -> None:
    who = Signature(name="Eve", email="eve@example.com", at="2020-02-02T02:02:02+02:00")
    with shop.acting() as act:
        change = contents.put(act, shop.repository, path="a", content=b"", message="m", author=who)

    assert change.commit.author == who
    assert change.commit.committer.name == "Ann"


def test_a_protected_branch_is_not_written_to(shop: Shop) -> None:
    shop.protect(required_approvals=1)
    with pytest.raises(ConflictRefusal, match="through a pull request"), shop.acting() as act:
        contents.put(act, shop.repository, path="a", content=b"", message="m")
    assert shop.text("a") is None


def test_readers_write_no_files(shop: Shop) -> None:
    with pytest.raises(ForbiddenRefusal), shop.acting("rea") as act:
        contents.put(act, shop.repository, path="a", content=b"", message="m")


def test_half_a_surrogate_pair_in_a_path_or_branch_is_refused(shop: Shop) -> None:
    with pytest.raises(InvalidRefusal), shop.acting() as act:
        contents.put(act, shop.repository, path="\ud800", content=b"", message="m")
    with pytest.raises(NotFoundRefusal), shop.acting() as act:
        contents.put(act, shop.repository, path="a", content=b"", message="m", branch="\ud800")
    with shop.acting() as act:
        contents.put(act, shop.repository, path="a", content=b"", message="\ud800")


def test_a_workflow_needs_its_scope_unless_a_branch_has_it(shop: Shop) -> None:
    path, repo_only = ".github/workflows/ci.yml", Viewer(user=shop.people["ann"], scopes=frozenset({"repo"}))
    with pytest.raises(NotFoundRefusal, match="without `workflow` scope"), shop.world.acting(repo_only) as act:
        contents.put(act, shop.repository, path=path, content=b"on: push", message="m")
    with pytest.raises(NotFoundRefusal), shop.world.acting(repo_only) as act:
        objects.create_tree(act, shop.repository, entries=[NewEntry(path=path, content=b"on: push")])
    shop.branch("other")
    with shop.acting() as act:
        contents.put(act, shop.repository, path=path, content=b"on: push", message="m", branch="other")

    with shop.world.acting(repo_only) as act:
        contents.put(act, shop.repository, path=path, content=b"on: push", message="m")
        contents.put(act, shop.repository, path=".github/workflows.md", content=b"x", message="m")
        sha = sha_of(shop, path)
        contents.delete(act, shop.repository, path=path, sha=sha, message="m")
