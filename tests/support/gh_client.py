"""The real `gh` in a world of the twin: run it, and see what it asked."""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghx_twin.journal import Entry
from ghx_twin.pytest_plugin import GitHubTwin

BUNDLED, SYSTEM = "bundled", "system"
MISSING = "no gh beside the one of this package; scripts/ci-setup installs Debian's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended, and the requests it made."""

    code: int
    out: str
    err: str
    requests: tuple[Entry, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __str__(self) -> str:
        request_lines = "".join(f"\n  {entry.status} {entry.operation} {entry.path}" for entry in self.requests)
        return f"exit {self.code}\n{self.out}{self.err}{request_lines}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GhClient:
    """One `gh` binary, acting as one user of one world, in a folder."""

    program: Path
    twin: GitHubTwin
    directory: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, given: str | None = None, **changes: str) -> Done:
        """Run `gh`, whatever comes of it."""
        return self.execute(str(self.program), *arguments, given=given, **changes)

    def execute(self, *command: str, given: str | None = None, **changes: str) -> Done:
        """Run any program in this client's environment."""
        before = len(self.twin.world.journal)
        done = subprocess.run(
            command,
            cwd=self.directory,
            env={**self.environment, **changes},
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        # Every program that is tested names itself; the prying agent, whose own tests may go on beside, asks all ports.
        requests = tuple(entry for entry in self.twin.world.journal.since(before) if entry.user_agent is not None)
        return Done(code=done.returncode, out=done.stdout, err=done.stderr, requests=requests)

    def do(self, *arguments: str, given: str | None = None) -> Done:
        """Run `gh`, which must end well and must not be refused anything."""
        done = self.run(*arguments, given=given)
        assert done.code == 0, done
        assert not [entry for entry in done.requests if entry.failed], done
        return done

    def json(self, *arguments: str, given: str | None = None) -> Any:
        """Run `gh`, which must end well, and return its output as JSON."""
        return self.do(*arguments, given=given).json

    def git(self, *arguments: str) -> Done:
        """Run `git`, which must end well."""
        done = self.execute("git", *arguments)
        assert done.code == 0, done
        return done

    def acting_as(self, login: str) -> "GhClient":
        """Return the same client of another user."""
        return self.with_environment(self.twin.environment_of(login))

    def with_environment(self, environment: Mapping[str, str]) -> "GhClient":
        return GhClient(program=self.program, twin=self.twin, directory=self.directory, environment=environment)

    def inside(self, directory: Path) -> "GhClient":
        """Return the same client in another folder."""
        return GhClient(program=self.program, twin=self.twin, directory=directory, environment=self.environment)


def bundled_gh() -> Path:
    """Return the `gh` that this package depends on."""
    return Path(sys.executable).parent / "gh"


def system_gh() -> Path | None:
    """Return the `gh` of the machine, if it has another than ours."""
    own = bundled_gh().parent
    elsewhere = [folder for folder in os.get_exec_path() if Path(folder).resolve() != own.resolve()]
    path = shutil.which("gh", path=os.pathsep.join(elsewhere))
    return None if path is None else Path(path)


@functools.cache
def version_of(program: Path) -> str:
    """Return the version that a `gh` says it has."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return output.split()[2]
