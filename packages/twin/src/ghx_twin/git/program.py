"""The `git` program, isolated from the user: none of their settings, names or paths reach it."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ghx_base.files.scratch import ScratchFolder
from ghx_twin.git.errors import GitError
from ghx_twin.git.receiving import UPDATE_HOOK

# safe.directory: the folder may belong to another user. alternateRefsCommand: a client is not told the refs of other
# repositories that share objects. gc and maintenance: snapshots need objects that no ref has. hideRefs: on GitHub, too,
# refs/pull cannot be pushed to. allowAnySHA1InWant: clients fetch commits by sha.
_SETTINGS = """\
[safe]
	directory = *
[core]
	alternateRefsCommand = true
	attributesFile = /dev/null
	hooksPath = /dev/null
[gc]
	auto = 0
[maintenance]
	auto = false
[receive]
	denyDeleteCurrent = ignore
	autogc = false
	fsckObjects = true
	hideRefs = refs/pull
	advertisePushOptions = false
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[advice]
	detachedHead = false
"""
DURABLE = ("-c", "core.fsync=all")
FLEETING = ("-c", "core.fsync=none")


class NoGitError(GitError):
    """There is no git to run."""

    code = "NO_GIT"

    def __init__(self) -> None:
        super().__init__("there is no `git` on PATH; install git 2.31 or newer")


def home() -> Path:
    """Return a folder that git takes for its home, with our settings alone; it is removed with the process."""
    return _home().path


@cache
def _home() -> ScratchFolder:
    folder = ScratchFolder()
    (folder.path / ".gitconfig").write_text(_SETTINGS, encoding="utf-8")
    return folder


@cache
def hooks() -> Path:
    """Return a folder with the update hook, which refuses refs by the rules of a push."""
    folder = home() / "hooks"
    folder.mkdir()
    hook = folder / "update"
    hook.write_text(UPDATE_HOOK, encoding="utf-8")
    hook.chmod(0o755)
    if not os.access(hook, os.X_OK):  # git would pass over it
        raise GitError(f"{folder} is on a file system that runs no programs; set TMPDIR to one that does")
    return folder


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment that git runs in, the same on every machine."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home()),
        "XDG_CONFIG_HOME": str(home()),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home() / ".gitconfig"),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        # Anyone may push refs/replace: followed, they would make a rewritten branch look like a fast-forward.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        **(extra or {}),
    }


def command(path: Path, arguments: Sequence[str], *, durable: bool) -> list[str]:
    """Return the command line that runs git in a bare repository."""
    return ["git", *(DURABLE if durable else FLEETING), f"--git-dir={path}", *arguments]


def run(path: Path, arguments: Sequence[str], *, durable: bool = False) -> bytes:
    """Run git in a bare repository and return what it printed."""
    try:
        done = subprocess.run(
            command(path, arguments, durable=durable),
            env=environment(),
            cwd=path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise NoGitError from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(f"git {arguments[0]} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return done.stdout
