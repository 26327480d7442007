"""A command that is forked in tests is what it would be if it had been started."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
from forked_commands import run_forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux alone")

TELLING = """
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), sys.path, __name__, sys.stdin.read()]))
print("complaint", file=sys.stderr)
sys.exit(7)
"""
STUCK = """
import os, signal, sys, time
print(os.getpid(), file=open("pid", "w"), flush=True)
os.kill(int(sys.argv[1]), signal.SIGUSR1)
time.sleep(1000)
"""


class GivenUp(Exception):
    """Somebody does not wait any longer."""


@pytest.fixture
def giving_up() -> Generator[None]:
    """Has SIGUSR1 interrupt this process, as a timeout of pytest does."""

    def give_up(*_: object) -> None:
        raise GivenUp

    before = signal.signal(signal.SIGUSR1, give_up)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_forked_command_sees_and_says_what_a_started_one_does(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(TELLING)
    environment = {"PATH": os.environ["PATH"], "MINE": "1", "LC_CTYPE": "C.UTF-8"}

    forked = run_forked(script, ["--flag", "ö"], folder=tmp_path, environment=environment)

    command = [sys.executable, script, "--flag", "ö"]
    started = subprocess.run(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert json.loads(forked.stdout) == json.loads(started.stdout)
    assert (forked.returncode, forked.stderr) == (started.returncode, started.stderr) == (7, "complaint\n")


def test_a_command_that_is_given_up_is_gone_and_the_next_one_answers_for_itself(
    tmp_path: Path, giving_up: None
) -> None:
    for name, text in (("stuck", STUCK), ("telling", TELLING)):
        (tmp_path / name).write_text(text)

    with pytest.raises(GivenUp):
        run_forked(tmp_path / "stuck", [str(os.getpid())], folder=tmp_path, environment=os.environ)
    done = run_forked(tmp_path / "telling", [], folder=tmp_path, environment=os.environ)

    assert done.returncode == 7
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
