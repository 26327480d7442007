"""Temporary folders: private, gone with their process, and swept where it was killed; never while it lives."""

import gc
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ghx_base.files.scratch import PREFIX, ScratchFolder, is_in_use, sweep

OWNER = """
import sys
from ghx_base.files.scratch import ScratchFolder
folder = ScratchFolder()
(folder.path / "work").mkdir()
(folder.path / "work" / "file").touch()
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@contextmanager
def owner(place: Path) -> Generator[tuple["subprocess.Popen[str]", Path]]:
    """Hold a process that has a folder until its input ends."""
    command = [sys.executable, "-c", OWNER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env={"TMPDIR": str(place)}, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_has_is_not(place: Path) -> None:
    with owner(place) as (killed, left), owner(place) as (living, used):
        killed.kill()
        killed.wait()
        assert (left / "work" / "file").is_file()
        assert (is_in_use(left), is_in_use(used), is_in_use(place / "nowhere")) == (False, True, False)

        sweep()

        assert not left.exists()
        assert (used / "work" / "file").is_file()
        living.communicate("")  # the end of its input, and of itself
        assert list(place.iterdir()) == []


def test_a_folder_is_private_and_gone_after_its_block(place: Path) -> None:
    with ScratchFolder() as folder:
        (folder / "file").touch()
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700

    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_a_folder_goes_with_its_object_and_only_once(place: Path) -> None:
    folder = ScratchFolder()
    path = folder.path
    folder.remove()
    path.mkdir()  # by somebody else
    folder.remove()
    del folder
    gc.collect()
    assert path.is_dir()

    forgotten = ScratchFolder().path
    gc.collect()
    assert not forgotten.exists()
    assert list(place.iterdir()) == [path]


def test_a_sweep_leaves_the_folders_of_its_own_process(place: Path) -> None:
    with ScratchFolder() as folder, ScratchFolder(place) as other:
        sweep()

        assert sorted(place.iterdir()) == sorted([folder, other])


def test_a_sweep_touches_nothing_that_only_looks_like_a_folder_of_ours(place: Path) -> None:
    (place / f"{PREFIX}file").write_text("kept")
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "file").write_text("kept")
    (place / f"{PREFIX}link").symlink_to(place / "elsewhere")
    before = sorted(place.rglob("*"))

    sweep()

    assert sorted(place.rglob("*")) == before


def test_a_forked_process_does_not_remove_the_folder_of_its_parent(place: Path) -> None:
    with ScratchFolder(place) as path:
        folder = ScratchFolder(path)
        child = os.fork()
        if child == 0:
            folder.remove()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        assert folder.path.is_dir()


def test_no_folder_is_lost_to_sweeps_that_come_while_it_is_made(place: Path) -> None:
    done = threading.Event()

    def sweep_on() -> None:
        while not done.is_set():
            sweep()

    sweepers = [threading.Thread(target=sweep_on) for _ in range(2)]
    for each in sweepers:
        each.start()
    folders = [ScratchFolder(place) for _ in range(200)]
    done.set()
    for each in sweepers:
        each.join()

    assert sorted(place.iterdir()) == sorted(each.path for each in folders)
