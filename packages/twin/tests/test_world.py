"""Worlds: all or nothing, forks that never meet, snapshots, folders that are gone afterwards."""

import gc
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from random_commands import Step, base_world, perform, steps
from seeds import rich_world

from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.issues import comments
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.git.errors import GitLookupError
from ghx_twin.git.objects import TreeEntry
from ghx_twin.git.program import home
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal, Refusal
from ghx_twin.state.records import Comment, Issue, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

pytestmark = pytest.mark.slow

FORKS = 200


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with base_world() as world:
        yield world


def bob(world: World) -> Viewer:
    return Viewer(user=lookup.user(world, "bob"))


def test_acting_takes_no_login(base: World) -> None:
    with pytest.raises(TypeError, match=r"acting takes a Viewer .* or None for the world's maker, not 'bob'"):
        base.acting("bob").__enter__()  # pyright: ignore[reportArgumentType] - what is tested


@contextmanager
def failing(world: World, viewer: Viewer | None) -> Generator[Act]:
    """Act, and be refused at the end."""
    with suppress(InvalidRefusal), world.acting(viewer) as act:
        yield act
        raise InvalidRefusal("no")


def write_everywhere(act: Act, text: str) -> None:
    """Change records and refs of the world."""
    widgets = lookup.repository(act.world, None, "acme", "widgets")
    made = issues.create(act, widgets, title=text)
    comments.create(act, made, text)
    before = entry(act.world)
    contents.put(
        act, widgets, path="new.txt", content=text.encode(), message=text, branch="one", sha=before and before.sha
    )


def entry(world: World) -> TreeEntry | None:
    git = world.git(lookup.repository(world, None, "acme", "widgets"))
    return git.entry(git.ref("refs/heads/one") or "", "new.txt")


def branch_text(world: World) -> str:
    found, git = entry(world), world.git(lookup.repository(world, None, "acme", "widgets"))
    return "" if found is None else (git.blob(found.sha) or b"").decode()


def test_an_act_that_fails_changes_neither_records_nor_refs(base: World) -> None:
    with base.fork() as world:
        before = world.snapshot()
        with failing(world, bob(world)) as act:
            write_everywhere(act, "x")
        assert world.snapshot() == before


def test_a_part_that_fails_is_undone_on_both_sides_where_the_act_goes_on(base: World) -> None:
    with base.fork() as world:
        with world.acting(bob(world)) as act:
            widgets = lookup.repository(world, None, "acme", "widgets")
            issues.create(act, widgets, title="kept")
            with failing(world, None) as part:
                write_everywhere(part, "undone")
        assert world.database.one(Issue, title="kept") is not None
        assert world.database.one(Issue, title="undone") is None
        assert branch_text(world) == ""


def test_a_commit_that_fails_undoes_the_refs_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with World.create(tmp_path / "kept") as world:
        with world.acting(None) as act:
            octo = users.create_user(act, login="octo")
            repository = repositories.create(act, owner=octo, name="x", auto_init=True)
        before = world.snapshot()

        def full(_: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr(world.database, "store_refs", full)
        with pytest.raises(OSError, match="full"), world.acting(None) as act:
            refs.create(act, repository, ref="refs/heads/y", sha=world.git(repository).ref("refs/heads/main") or "")
        monkeypatch.undo()
        assert world.snapshot() == before


def test_two_hundred_forks_written_at_once_never_see_each_other(base: World) -> None:
    before = base.snapshot()

    def live(number: int) -> tuple[list[str], str, int]:
        with base.fork() as world:
            for part in range(3):
                with world.acting(bob(world)) as act:
                    if part == 0:
                        write_everywhere(act, f"{number}.0")
                    else:
                        comments.create(act, world.database.all(Issue)[-1], f"{number}.{part}")
            titles = [issue.title for issue in world.database.all(Issue)]
            bodies = {comment.body for comment in world.database.all(Comment)}
            assert bodies == {f"{number}.{part}" for part in range(3)}
            return titles, branch_text(world), len(world.database.changes())

    with ThreadPoolExecutor(16) as pool:
        lives = list(pool.map(live, range(FORKS)))
    old = [issue.title for issue in base.database.all(Issue)]
    assert [titles for titles, _, _ in lives] == [[*old, f"{number}.0"] for number in range(FORKS)]
    assert [text for _, text, _ in lives] == [f"{number}.0" for number in range(FORKS)]
    assert len({count for _, _, count in lives}) == 1
    assert base.snapshot() == before


def test_forks_that_live_at_the_same_time_are_independent(base: World) -> None:
    before = base.snapshot()
    with ExitStack() as stack:
        worlds = [stack.enter_context(base.fork()) for _ in range(20)]

        def write(number: int) -> None:
            with worlds[number % 20].acting(None) as act:
                write_everywhere(act, str(number))

        with ThreadPoolExecutor(10) as pool:
            list(pool.map(write, range(40)))
        for number, world in enumerate(worlds):
            added = [issue.title for issue in world.database.all(Issue)][-2:]
            assert sorted(added) == sorted([str(number), str(number + 20)])
    assert base.snapshot() == before


@settings(max_examples=30)
@given(wanted=steps(), later=steps(most=10))
def test_whatever_happens_in_a_fork_its_parent_stays_the_same_to_the_byte(
    base: World, wanted: list[Step], later: list[Step]
) -> None:
    before = base.snapshot()
    with base.fork() as child, child.fork() as first:
        perform(child, wanted)
        middle = child.snapshot()
        with child.fork() as grandchild:
            assert grandchild.snapshot() == middle
            perform(grandchild, later)
            assert child.snapshot() == middle
        assert first.snapshot() == before
    assert base.snapshot() == before


@settings(max_examples=30)
@given(earlier=steps(most=10), wanted=steps())
def test_a_snapshot_brings_everything_back(base: World, earlier: list[Step], wanted: list[Step]) -> None:
    with base.fork() as world:
        perform(world, earlier)
        before = world.snapshot()
        perform(world, wanted)
        world.restore(before)
        assert world.snapshot() == before
        again = perform(world, wanted)
        with base.fork() as other:
            perform(other, earlier)
            assert perform(other, wanted) == again
            assert other.snapshot() == world.snapshot()


def test_forks_of_forks_outlive_their_parents() -> None:
    with ExitStack() as stack:
        world = base_world()
        for depth in range(8):
            with world.acting(None) as act:
                write_everywhere(act, f"depth {depth}")
            child = world.fork()
            world.close()
            world = child
        stack.enter_context(world)
        assert branch_text(world) == "depth 7"
        widgets = lookup.repository(world, None, "acme", "widgets")
        messages = [commit.message for commit in world.git(widgets).log(world.git(widgets).ref("refs/heads/one") or "")]
        assert messages[:8] == [f"depth {depth}" for depth in reversed(range(8))]


def test_closed_worlds_leave_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    parent = base_world()
    children = [parent.fork() for _ in range(5)]
    grandchild = children[0].fork()
    assert list(tmp_path.glob("ghx-tmp-*"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(World.close, [parent, *children, grandchild]))
    left = [each for each in tmp_path.iterdir() if each != home()]
    assert left == []
    parent.close()


def test_worlds_that_nobody_closes_leave_no_folder_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    parent = base_world()
    with parent.acting(None) as act:
        write_everywhere(act, "before")
    child = parent.fork()
    del parent, act
    gc.collect()
    assert branch_text(child) == "before"  # the objects of its parent are still there

    del child
    gc.collect()

    assert [each for each in tmp_path.iterdir() if each != home()] == []


def test_a_snapshot_of_another_world_is_refused_and_changes_nothing(base: World) -> None:
    with rich_world() as other, base.fork() as world:
        before = world.snapshot()
        with pytest.raises(GitLookupError):
            world.restore(other.snapshot())
        assert world.database.all(User) == base.database.all(User)
        assert world.database.to_bytes() == before.records


def test_a_refused_command_leaves_no_trace(base: World) -> None:
    with base.fork() as world:
        before = world.snapshot()
        with pytest.raises(Refusal), world.acting(bob(world)) as act:
            comments.create(act, world.database.all(Issue)[0], " ")
        assert world.snapshot() == before
