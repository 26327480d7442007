"""Storages: forks that share nothing but the past, changes that can be undone, and what survives a crash."""

import errno
import gc
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from git_histories import write_commit
from hypothesis import given, settings
from hypothesis import strategies as st

from ghx_twin.git import bare, program
from ghx_twin.git.errors import GitError, GitLookupError, GitRefError
from ghx_twin.git.storage import GitStorage

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["heads/main", "heads/a", "heads/a/b", "tags/v1", "pull/1/head"])
IDENTITIES = st.integers(1, 4)
REFS = {"HEAD": "ref: refs/heads/main"}
Step = Callable[[GitStorage], object]


def set_ref(identity: int, name: str, number: int | None) -> Step:
    def step(storage: GitStorage) -> None:
        repository = storage.repository(identity)
        sha = None if number is None else write_commit(repository, {"n": str(number)}, message=str(number))
        repository.set_ref(f"refs/{name}", sha)

    return step


STEPS = st.one_of(
    st.builds(set_ref, IDENTITIES, NAMES, st.one_of(st.none(), st.integers(0, 3))),
    st.builds(lambda one, branch: lambda storage: storage.set_head(one, branch), IDENTITIES, st.sampled_from("ab")),
    st.builds(lambda one: lambda storage: storage.create(one, "main"), IDENTITIES),
    st.builds(lambda one, two: lambda storage: storage.create_fork(one, two), IDENTITIES, IDENTITIES),
    st.builds(lambda one: lambda storage: storage.delete(one), IDENTITIES),
)


def attempt(storage: GitStorage, step: Step) -> None:
    """Take a step; one that is refused must change nothing."""
    before = storage.refs()
    try:
        step(storage)
    except GitError:
        assert storage.refs() == before


def check_objects(storage: GitStorage) -> None:
    """Every ref of every repository leads to objects that can be read."""
    for identity, refs in storage.refs().items():
        repository = storage.repository(identity)
        for name, sha in refs.items():
            assert name == "HEAD" or repository.tree(sha)


@contextmanager
def stocked() -> Generator[GitStorage]:
    storage = GitStorage.temporary()
    for identity in (1, 2):
        write_commit(storage.create(identity, "main"), {"a": str(identity)}, branch="main")
    try:
        yield storage
    finally:
        storage.close()


class Refused(Exception):
    pass


def fail_after(storage: GitStorage, steps: list[Step], then: Step = lambda _: None) -> None:
    """Take steps in a block that raises."""
    with storage.undoing():
        for step in steps:
            attempt(storage, step)
        then(storage)
        raise Refused


@settings(max_examples=settings.default.max_examples // 2)
@given(steps=st.lists(STEPS, max_size=10))
def test_a_block_that_raises_leaves_every_ref_as_it_was(steps: list[Step]) -> None:
    with stocked() as storage:
        before = storage.refs()

        with pytest.raises(Refused):
            fail_after(storage, steps)

        assert storage.refs() == before
        check_objects(storage)


@settings(max_examples=settings.default.max_examples // 2)
@given(outer=st.lists(STEPS, max_size=5), inner=st.lists(STEPS, max_size=5))
def test_a_block_inside_a_block_is_undone_alone(outer: list[Step], inner: list[Step]) -> None:
    def fail_inside(storage: GitStorage) -> None:
        between = storage.refs()
        with pytest.raises(Refused):
            fail_after(storage, inner)
        assert storage.refs() == between

    with stocked() as storage:
        before = storage.refs()
        with pytest.raises(Refused):
            fail_after(storage, outer, fail_inside)
        assert storage.refs() == before


def test_what_is_undone_in_a_repository_that_was_gone_meanwhile_is_seen() -> None:
    def delete_in_vain(storage: GitStorage) -> None:
        with suppress(Refused):
            fail_after(storage, [lambda storage: storage.delete(1)])
        assert storage.refs()[1]["HEAD"] == "ref: refs/heads/a"

    with stocked() as storage:
        before = storage.refs()
        with suppress(Refused):
            fail_after(storage, [lambda storage: storage.set_head(1, "a")], delete_in_vain)

        assert storage.refs() == before


def test_a_block_that_ends_well_keeps_its_changes_and_later_ones_are_not_undone() -> None:
    with stocked() as storage:
        with storage.undoing():
            sha = write_commit(storage.repository(1), {"b": "b"}, branch="kept")
        write_commit(storage.repository(1), {"c": "c"}, branch="after")
        with pytest.raises(Refused):
            fail_after(storage, [])

        assert storage.repository(1).ref("refs/heads/kept") == sha
        assert storage.repository(1).ref("refs/heads/after") is not None


@settings(max_examples=settings.default.max_examples // 2)
@given(steps=st.lists(st.tuples(st.integers(0, 5), st.one_of(st.just(None), STEPS)), max_size=14))
def test_what_happens_to_a_storage_or_its_forks_happens_to_no_other(steps: list[tuple[int, Step | None]]) -> None:
    with stocked() as first:
        storages = [first]
        expected = [first.refs()]
        for number, step in steps:
            chosen = number % len(storages)
            if step is None:
                storages.append(storages[chosen].fork())
                expected.append(storages[-1].refs())
                assert expected[-1] == expected[chosen]
            else:
                attempt(storages[chosen], step)
                expected[chosen] = storages[chosen].refs()
            assert [storage.refs() for storage in storages] == expected
        for storage in storages:
            check_objects(storage)
        for storage in storages[1:]:
            storage.close()


@settings(max_examples=settings.default.max_examples // 2)
@given(before=st.lists(STEPS, max_size=5), after=st.lists(STEPS, max_size=8))
def test_a_snapshot_is_what_is_there_after_it_is_restored(before: list[Step], after: list[Step]) -> None:
    with stocked() as storage:
        for step in before:
            attempt(storage, step)
        refs = storage.refs()
        for step in after:
            attempt(storage, step)

        storage.restore(refs)

        assert storage.refs() == refs
        check_objects(storage)


def test_a_snapshot_of_another_world_is_refused() -> None:
    with stocked() as storage, stocked() as other:
        other.create(7, "main")
        with pytest.raises(GitLookupError):
            storage.restore(other.refs())


def test_a_chain_of_forks_reads_everything_that_was_written_on_the_way() -> None:
    storages = [GitStorage.temporary()]
    head = write_commit(storages[0].create(1, "main"), {"0": "0"}, branch="main")
    for number in range(1, 12):  # git itself follows five alternates of alternates
        storages.append(storages[-1].fork())
        repository = storages[-1].repository(1)
        head = write_commit(repository, {str(number): "x"}, parents=[head], branch="main", minute=number)
    for storage in storages[:-1]:
        storage.close()

    repository = storages[-1].repository(1)
    assert len(list(repository.log(head))) == 12
    said = program.run(repository.path, ["fsck", "--connectivity-only"])
    assert b"error" not in said
    storages[-1].close()


def test_forks_that_write_nothing_add_no_alternates() -> None:
    with stocked() as storage:
        fork = storage.fork().fork().fork()

        lines = (fork.repository(1).path / "objects/info/alternates").read_text().splitlines()

        assert lines == [str(storage.repository(1).path / "objects")]


def test_a_folder_goes_with_the_last_fork_that_needs_it() -> None:
    parent = GitStorage.temporary()
    sha = write_commit(parent.create(1, "main"), {"a": "a"}, branch="main")
    folder = parent.repository(1).path.parent
    child = parent.fork()
    grandchild = child.fork()

    parent.close()
    parent.close()  # twice is once
    assert grandchild.repository(1).commit(sha) is not None
    child.close()
    assert folder.exists()
    mine = grandchild.repository(1).path.parent
    grandchild.close()

    assert not folder.exists()
    assert not mine.exists()


def test_a_storage_that_nobody_closed_goes_when_it_is_forgotten() -> None:
    storage = GitStorage.temporary()
    folder = storage.create(1, "main").path.parent

    del storage
    gc.collect()

    assert not folder.exists()


def test_temporary_folders_go_with_the_process(tmp_path: Path) -> None:
    script = "from ghx_twin.git.storage import GitStorage; kept = GitStorage.temporary(); kept.create(1, 'main')"

    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, env={"TMPDIR": str(tmp_path)})

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("branch", ["", "a..b", "x\nref: refs/heads/y", "a\0", "\ud800"])
def test_a_default_branch_cannot_have_such_a_name(storage: GitStorage, branch: str) -> None:
    with pytest.raises(GitRefError):
        storage.create(1, branch)
    assert storage.refs() == {}


def test_a_repository_is_there_once_and_others_are_not(storage: GitStorage) -> None:
    storage.create(1, "main")
    with pytest.raises(GitRefError):
        storage.create(1, "main")
    for refused in (storage.repository, storage.delete, lambda one: storage.create_fork(3, one)):
        with pytest.raises(GitLookupError):
            refused(2)


def test_a_deleted_repository_is_gone_and_a_fork_of_it_lives_on(storage: GitStorage) -> None:
    sha = write_commit(storage.create(1, "main"), {"a": "a"}, branch="main")
    storage.create_fork(2, 1)
    world = storage.fork()

    storage.delete(1)

    assert storage.refs().keys() == {2}
    assert storage.repository(2).entry(sha, "a") is not None
    assert world.repository(1).ref("refs/heads/main") == sha
    storage.create(1, "trunk")
    assert storage.repository(1).refs() == {}
    world.close()


def test_two_hundred_forks_written_side_by_side_see_nothing_of_each_other() -> None:
    with stocked() as storage:
        before = storage.refs()
        forks = [storage.fork() for _ in range(200)]

        def write(number: int) -> str:
            return write_commit(forks[number].repository(1), {"n": str(number)}, message=str(number), branch="main")

        with ThreadPoolExecutor(8) as pool:
            heads = list(pool.map(write, range(200)))

        assert [fork.repository(1).ref("refs/heads/main") for fork in forks] == heads
        assert len(set(heads)) == 200
        assert storage.refs() == before
        assert all(storage.repository(1).kind(sha) is None for sha in heads)
        for fork in forks:
            fork.close()


def test_threads_that_use_a_fork_first_get_the_same_repository() -> None:
    with stocked() as storage, ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            fork = storage.fork()
            found = set(pool.map(lambda _, fork=fork: fork.repository(1), range(8)))
            assert len(found) == 1
            fork.close()


@pytest.mark.parametrize("use", [GitStorage.refs, lambda one: one.fork().refs(), lambda one: one.restore({1: REFS})])
def test_a_repository_whose_files_are_being_written_is_seen_by_other_threads(
    monkeypatch: pytest.MonkeyPatch, use: Callable[[GitStorage], object]
) -> None:
    create = bare.create
    with stocked() as parent, ThreadPoolExecutor(1) as other:
        parent.restore({1: {**REFS, **parent.repository(1).refs()}})
        storage, before, uses = parent.fork(), parent.refs(), list[Future[object]]()

        def use_and_create(*arguments: Any, **options: Any) -> None:
            monkeypatch.setattr(bare, "create", create)
            uses.append(other.submit(use, storage))
            wait(uses, timeout=0.2)  # it may have to wait for the files, but must not miss them
            create(*arguments, **options)

        monkeypatch.setattr(bare, "create", use_and_create)
        storage.repository(1)

        assert uses[0].result() in (before, None)  # None: it was restored
        assert storage.refs().keys() == {1}
        storage.close()


def test_a_repository_whose_files_could_not_be_written_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with stocked() as parent:
        storage = parent.fork()
        with monkeypatch.context() as full:
            full.setattr(bare, "create", refuse)
            with pytest.raises(OSError, match="no space"):
                storage.repository(1)

        assert storage.refs() == parent.refs()
        assert storage.repository(1).refs() == parent.repository(1).refs()
        storage.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from git_histories import write_commit
from ghx_twin.git.storage import GitStorage
storage = GitStorage.in_directory(Path(sys.argv[1]))
repository = storage.create(7, "main")
sha = write_commit(repository, {"a/b": "acknowledged"}, branch="main")
storage.create(8, "main")
storage.create_fork(9, 7)
storage.delete(8)
with storage.undoing():
    storage.set_head(7, "trunk")
print(sha, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_acknowledged_survives_a_killed_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, env=_path(), check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    sha = done.stdout.strip()

    storage = GitStorage.in_directory(tmp_path)

    assert storage.refs() == {
        7: {"HEAD": "ref: refs/heads/trunk", "refs/heads/main": sha},
        9: {"HEAD": "ref: refs/heads/main", "refs/heads/main": sha},
    }
    entry = storage.repository(9).entry(sha, "a/b")
    assert entry is not None
    assert storage.repository(9).blob(entry.sha) == b"acknowledged"
    storage.close()
    assert (tmp_path / "7.git").is_dir()


def _path() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[4] / "tests" / "support")}


def test_a_storage_that_was_moved_still_works(tmp_path: Path) -> None:
    storage = GitStorage.in_directory(tmp_path / "one")
    sha = write_commit(storage.create(1, "main"), {"a": "a"}, branch="main")
    storage.create_fork(2, 1)
    storage.close()

    moved = GitStorage.in_directory((tmp_path / "one").rename(tmp_path / "two"))

    assert moved.repository(2).entry(sha, "a") is not None
    moved.close()


def test_only_lasting_storages_wait_for_the_disk(tmp_path: Path, storage: GitStorage) -> None:
    lasting = GitStorage.in_directory(tmp_path / "lasting")
    durable, fleeting = lasting.create(1, "main"), storage.create(1, "main")
    write_commit(durable, branch="main")
    write_commit(fleeting, branch="main")

    assert durable._repository.config.get_bool("core.fsyncObjectFiles")
    assert "core.fsyncObjectFiles" not in fleeting._repository.config
    assert b"fsyncobjectfiles" not in program.run(durable.path, ["config", "--list"])  # git warns of this old spelling
    assert not lasting.fork().repository(1).durable
    lasting.close()


def test_a_fork_of_a_lasting_storage_leaves_nothing_in_it(tmp_path: Path) -> None:
    storage = GitStorage.in_directory(tmp_path / "kept")
    write_commit(storage.create(1, "main"), {"a": "a"}, branch="main")
    before = sorted(tmp_path.rglob("*"))
    fork = storage.fork()
    write_commit(fork.repository(1), {"b": "b"}, branch="main")
    fork.delete(1)
    fork.close()

    assert sorted(tmp_path.rglob("*")) == before
    storage.close()
