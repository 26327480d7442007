"""Worlds in a folder: an acknowledged write is there after `kill -9`, half of one is not."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from seeds import world_of

from ghx_twin.commands import issues, releases, repositories, users
from ghx_twin.commands.issues import comments
from ghx_twin.commands.pulls import pulls
from ghx_twin.commands.repositories import refs
from ghx_twin.commands.repositories.contents import put
from ghx_twin.queries import lookup
from ghx_twin.seed.building import build_world
from ghx_twin.seed.exporting import export_seed
from ghx_twin.state.records import Comment, Issue, Pull, ReleaseAsset, Repository
from ghx_twin.world import World, WorldUnavailableError

BEGINNING = """
import os, signal, sys
from pathlib import Path
from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.issues import comments
from ghx_twin.commands.pulls import merges, pulls
from ghx_twin.commands.repositories import contents
from ghx_twin.commands.repositories.contents import put
from ghx_twin.queries import lookup
from ghx_twin.world import World

def die():
    os.kill(os.getpid(), signal.SIGKILL)

world = World.create(Path(sys.argv[1]))
home = lookup.repository(world, None, "octo", "x")
"""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with a world: octo/x with a README, a branch, an issue and a pull request."""
    folder = tmp_path / "kept"
    with World.create(folder) as world, world.acting(None) as act:
        octo = users.create_user(act, login="octo")
        home = repositories.create(act, owner=octo, name="x", auto_init=True)
        refs.create(act, home, ref="refs/heads/work", sha=world.git(home).ref("refs/heads/main") or "")
        put(act, home, path="a.txt", content=b"a", message="A", branch="work")
        issues.create(act, home, title="An issue")
        pulls.create(act, home, title="A pull", head="work", base="main")
    return folder


def test_only_its_owner_enters_the_folder_of_a_kept_world(kept: Path) -> None:
    assert kept.stat().st_mode & 0o777 == 0o700


def killed(folder: Path, script: str) -> None:
    """Run a script in a process of its own, which kills itself in the middle."""
    program = [sys.executable, "-c", BEGINNING + textwrap.dedent(script), str(folder)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_an_acknowledged_write_survives_the_process_on_both_sides(kept: Path) -> None:
    killed(
        kept,
        """
        with world.acting(None) as act:
            comments.create(act, lookup.issue(world, home, 1), "written")
            put(act, home, path="b.txt", content=b"b", message="B", branch="work")
        with world.acting(None) as act:
            merges.merge(act, lookup.pull(world, home, 2))
        die()
        """,
    )
    with World.create(kept) as world:
        assert [comment.body for comment in world.database.all(Comment)] == ["written"]
        home = lookup.repository(world, None, "octo", "x")
        git, pull = world.git(home), lookup.pull(world, home, 2)
        tip = git.ref("refs/heads/main") or ""
        assert pull.merge_commit_sha == tip
        assert git.entry(tip, "b.txt") is not None
        assert pull.head_sha == git.ref("refs/heads/work") == git.ref("refs/pull/2/head")
        assert export_seed(world).repositories[0].bundle is not None


@pytest.mark.parametrize(
    "half",
    [
        """
        with world.acting(None) as act:
            issues.create(act, home, title="half")
            put(act, home, path="b.txt", content=b"b", message="B", branch="work")
            die()
        """,
        """
        with world.acting(None) as act:
            merges.merge(act, lookup.pull(world, home, 2))
            die()
        """,
        """
        with world.acting(None) as act:
            repositories.delete(act, home)
            die()
        """,
        """
        with world.acting(None) as act:
            owner = lookup.user(world, "octo")
            repositories.create(act, owner=owner, name="half", auto_init=True)
            die()
        """,
        """
        git = world.git(home)  # as git itself does, before the server records what was pushed
        git.set_ref("refs/heads/work", git.ref("refs/heads/main"))
        git.set_ref("refs/heads/pushed", git.ref("refs/heads/main"))
        die()
        """,
        """
        world.database.store_refs = lambda refs: die()  # the last thing before the commit
        with world.acting(None) as act:
            put(act, home, path="b.txt", content=b"b", message="B", branch="main")
        """,
    ],
    ids=["contents", "merge", "deletion", "creation", "push", "at the commit"],
)
def test_half_of_a_write_is_not_there_afterwards(kept: Path, half: str) -> None:
    with World.create(kept) as world:
        before = world.snapshot()
    killed(kept, half)
    with World.create(kept) as world:
        assert world.snapshot() == before
        home = lookup.repository(world, None, "octo", "x")
        with world.acting(None) as act:
            put(act, home, path="c.txt", content=b"c", message="C", branch="work")
        (pull,) = world.database.all(Pull)
        assert pull.head_sha == world.git(home).ref("refs/heads/work")


def test_a_kept_world_is_the_same_when_opened_again(kept: Path) -> None:
    with World.create(kept) as world:
        before, written = world.snapshot(), export_seed(world)
    with World.create(kept) as world:
        assert world.snapshot() == before
        assert export_seed(world) == written


def test_files_of_releases_are_kept_and_come_back_with_a_snapshot(kept: Path) -> None:
    with World.create(kept) as world, world.acting(None) as act:
        home = lookup.repository(world, None, "octo", "x")
        releases.upload_asset(act, releases.create(act, home, tag_name="v1"), name="a", content=b"\x00\xff")
    with World.create(kept) as again:
        (asset,) = again.database.all(ReleaseAsset)
        before = again.snapshot()
        with again.acting(None) as act:
            releases.delete_asset(act, asset)
        again.restore(before)
        assert again.database.all(ReleaseAsset) == [asset]
        assert again.git(home).blob(asset.blob_sha) == b"\x00\xff"


def test_the_clock_of_a_kept_world_goes_on_as_it_did(kept: Path) -> None:
    with World.create(kept) as world:
        before = world.database.now()
        world.set_clock("wall")
    with World.create(kept) as world, world.fork() as fork:
        assert (world.database.clock, fork.database.clock) == ("wall", "wall")
        assert fork.database.now() >= before


def test_a_fork_of_a_kept_world_is_free_of_it(kept: Path) -> None:
    with World.create(kept) as world:
        before = world.snapshot()
        with world.fork() as fork:
            assert fork.snapshot() == before
            home = lookup.repository(fork, None, "octo", "x")
            with fork.acting(None) as act:
                put(act, home, path="b.txt", content=b"b", message="B")
                issues.create(act, home, title="Only here")
        assert world.snapshot() == before


def test_going_back_to_a_snapshot_is_kept_as_well(kept: Path) -> None:
    with World.create(kept) as world:
        before = world.snapshot()
        home = lookup.repository(world, None, "octo", "x")
        with world.acting(None) as act:
            put(act, home, path="b.txt", content=b"b", message="B")
            comments.create(act, lookup.issue(world, home, 1), "later")
        world.restore(before)
        assert world.snapshot() == before
    with World.create(kept) as world:
        assert world.snapshot() == before


def test_a_folder_belongs_to_one_process_at_a_time(kept: Path) -> None:
    with World.create(kept), pytest.raises(WorldUnavailableError, match="in use by another process"):
        World.create(kept)
    World.create(kept).close()


def test_a_world_whose_objects_are_lost_is_told_so(kept: Path) -> None:
    with World.create(kept) as world:
        repository = world.database.all(Repository)[0]
        git = world.git(repository)
        tip = git.ref("refs/heads/work") or ""
        folder = git.path
    (folder / "objects" / tip[:2] / tip[2:]).unlink()
    with World.create(kept) as world:  # the refs are where they were: found out when it is read
        assert world.database.count(Issue) == 2
    for name in ("refs/heads/work", "packed-refs"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(WorldUnavailableError, match="lost part of its git repositories"):
        World.create(kept)


def test_a_seed_planted_in_a_folder_is_there_afterwards(tmp_path: Path) -> None:
    with world_of(
        "{users: [{login: o}], repositories: [{name: o/x, files: {a: b}}, {name: o/y, files: {c: d}}]}"
    ) as made:
        written = export_seed(made)
    with World.create(tmp_path / "kept") as world:
        build_world(world, written)
    with World.create(tmp_path / "kept") as world:
        assert export_seed(world) == written
