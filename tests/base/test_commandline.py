"""How a command ends: an exit code, and at most one line on standard error."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ghx_bench._base.commandline import run_to_exit_code

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
