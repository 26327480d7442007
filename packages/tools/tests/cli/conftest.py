"""`ghx` in a world: called in this process, or as the process that is installed."""

import json
import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ghx_tools.cli.main import run
from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.seed.worlds import open_world
from ghx_twin.world import World

WORLD = Path(__file__).parents[1] / "capabilities" / "world.yaml"
COMMAND = Path(sysconfig.get_path("scripts")) / "ghx"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """What a call that is wrong is told: in JSON, on one line of standard output."""
        assert (self.code, self.err, self.out.count("\n")) == (2, "", 1), self
        assert self.json.get("ok", self.json.get("status")) in {False, "failed"}
        assert self.json["error"].keys() == {"code", "message"}
        assert self.json["error"]["code"] == "VALIDATION"
        return self.json["error"]["message"]

    @property
    def complaint(self) -> str:
        """The one line that is said of bad usage."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("error: ")
        assert self.err.count("\n") == 1
        return self.err


@pytest.fixture(scope="session")
def seeded_world() -> Generator[World]:
    with open_world(WORLD) as world:
        yield world


@pytest.fixture
def github_world(seeded_world: World) -> Generator[World]:
    with seeded_world.fork() as world:
        yield world


@pytest.fixture
def here(github_twin: GitHubTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, in the environment of the world."""
    for name in set(os.environ) - set(github_twin.environment):
        monkeypatch.delenv(name)
    for name, value in github_twin.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nowhere() -> str:
    """An address that nobody listens at."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


@pytest.fixture
def ghx(
    here: Path, github_twin: GitHubTwin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    """Run a command in this process; whatever it prints, the token is not in it."""

    def called(*arguments: str, given: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", _Text(given))
        capsys.readouterr()
        code = run(arguments)
        out, err = capsys.readouterr()
        assert github_twin.token not in out + err
        return Done(code=code, out=out, err=err)

    return called


@pytest.fixture
def installed_ghx(here: Path, github_twin: GitHubTwin) -> Callable[..., Done]:
    """Run the installed command as a process of its own."""

    def called(*arguments: str, given: str = "", **environ: str) -> Done:
        done = subprocess.run(
            [COMMAND, *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **environ},
        )
        assert github_twin.token not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    return called


@pytest.fixture
def in_shell(here: Path) -> Callable[[str], Done]:
    """Run a line of the shell, in which `$GHX` is the installed command."""

    def ran(line: str) -> Done:
        environ = {**os.environ, "GHX": str(COMMAND), "PYTHONUNBUFFERED": ""}
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False, env=environ)
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    return ran


class _Text:
    """Standard input that holds a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> str:
        return self._text
