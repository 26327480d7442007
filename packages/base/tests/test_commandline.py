"""How a command ends: an exit code, and at most one line on standard error."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ghx_base.commandline import run_to_exit_code

FULL = Path("/dev/full")
LONGER_THAN_ANY_BUFFER = "x" * 1_000_000


def say(text: str) -> Callable[[], None]:
    return lambda: print(text)


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("text", ["short", LONGER_THAN_ANY_BUFFER])
def test_output_that_cannot_be_written_is_one_line(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FULL.open("w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)

        code = run_to_exit_code(say(text))

        monkeypatch.undo()
        output.flush()  # what is left goes nowhere: the end of the process says nothing more
    assert (code, capsys.readouterr().err) == (1, "error: cannot write what came of it: No space left on device\n")


def test_standard_output_may_be_closed_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)

    assert run_to_exit_code(say("nobody hears it")) == 0


def test_a_file_that_nobody_looked_for_is_a_defect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_to_exit_code(lambda: (tmp_path / "none").open().close()) == 2
    assert "this is a defect" in capsys.readouterr().err


def end(program: str, *, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Run a program whose `command` ends the process."""
    script = f"""
import atexit, os, sys, threading
from pathlib import Path
from ghx_base.commandline import run_and_exit, run_to_exit_code
from ghx_base.files.scratch import ScratchFolder
{program}
run_and_exit(lambda: run_to_exit_code(command))
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=environment)


def test_the_end_flushes_what_was_printed_and_keeps_the_exit_code() -> None:
    ended = end("def command(): print('x' * 100_000); print('low', file=sys.stderr); return 3")

    assert (ended.returncode, len(ended.stdout), ended.stderr) == (3, 100_001, "low\n")


def test_the_end_skips_taking_apart_what_was_loaded() -> None:
    ended = end("""
class Loaded:
    def __del__(self): os.write(1, b"taken apart")
kept = Loaded()
def command(): return 0
""")

    assert (ended.returncode, ended.stdout) == (0, "")


def test_the_end_waits_for_threads_and_calls_what_was_registered_in_its_order() -> None:
    ended = end("""
def work():
    threading.main_thread().join(0.2)
    print("thread")
def command():
    atexit.register(print, "registered first")
    atexit.register(print, "registered last")
    threading.Thread(target=work).start()
    return 4
""")

    assert (ended.returncode, ended.stdout.split("\n")) == (4, ["thread", "registered last", "registered first", ""])


def test_the_end_calls_what_others_have_registered_before_the_command_once() -> None:
    ended = end("""
atexit.register(print, "registered before")
def command():
    atexit.register(print, "registered meanwhile")
    return 4
""")

    assert (ended.returncode, ended.stdout) == (4, "registered meanwhile\nregistered before\n")


def test_idle_threads_of_a_pool_do_not_keep_the_process() -> None:
    ended = end("""
from concurrent.futures import ThreadPoolExecutor
def command():
    command.pool = ThreadPoolExecutor(2)
    print(command.pool.submit(int).result())
    return 4
""")

    assert (ended.returncode, ended.stdout) == (4, "0\n")


def test_a_temporary_folder_that_is_still_held_goes_with_the_process() -> None:
    ended = end("""
def command():
    command.folder = ScratchFolder()
    print(command.folder.path)
    return 0
""")

    folder = Path(ended.stdout.strip())
    assert folder.name.startswith("ghx-tmp-")
    assert not folder.exists()


def test_a_fork_that_ends_by_itself_keeps_its_own_exit_code() -> None:
    ended = end("""
def command():
    child = os.fork()
    if child == 0:
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return 5
""")

    assert (ended.returncode, ended.stdout) == (5, "7\n")


def test_an_error_that_shows_its_traceback_ends_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHX_BENCH_DEBUG", "1")

    ended = end("def command(): raise ZeroDivisionError")

    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


def test_a_reader_that_is_gone_is_a_failure_without_a_word() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = end("def command(): sys.stdout.write('x')", stdout=writer)
    finally:
        os.close(writer)

    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_what_is_printed_too_late_for_a_full_disk_is_one_line() -> None:
    with FULL.open("w", encoding="utf-8") as output:
        ended = end("def command(): atexit.register(sys.stdout.write, 'late'); return 0", stdout=output.fileno())

    assert (ended.returncode, ended.stderr) == (1, "error: cannot write what came of it: No space left on device\n")


def test_a_current_folder_that_was_removed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert run_to_exit_code(lambda: print(Path("x").absolute())) == 2

    assert capsys.readouterr().err == "error: the current folder has been removed; go to another one\n"


def test_too_little_memory_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def take_everything() -> int:
        raise MemoryError

    assert run_to_exit_code(take_everything) == 1

    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "memory" in err


CLOSED = """
import os, subprocess, sys
from ghx_base.commandline import complain, run_to_exit_code
def command():
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
    subprocess.run(["sh", "-c", "echo child >&2"])
    os.write(2, b"library")
    print("message", file=sys.stderr)
    complain("complaint", 1)
    return 3
sys.exit(run_to_exit_code(command))
"""


def test_a_closed_standard_error_gives_its_number_to_no_file(tmp_path: Path) -> None:
    place = tmp_path / "rows.jsonl"
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -c "$1" "$2" 2>&-', sys.executable, CLOSED, str(place)],
        stdout=subprocess.PIPE,
        check=False,
    )

    assert (done.returncode, done.stdout) == (3, b"")
    assert place.read_bytes() == b""
