"""The repository that a folder belongs to, so that it need not be named."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

_NAME = r"[A-Za-z0-9._-]+"
_ADDRESS = re.compile(rf"(?:^|[/:])(?P<owner>{_NAME})/(?P<name>{_NAME}?)(?:\.git)?/?$")
_FULL_NAME = re.compile(rf"(?:{_NAME}/)?({_NAME})/({_NAME})")  # gh also takes HOST/OWNER/NAME


def default_repository(environ: Mapping[str, str], folder: Path) -> tuple[str, str] | None:
    """Return owner and name of the repository that is meant where none is named.

    That is what `GH_REPO` says, then the remote `origin` of the folder, then `GITHUB_REPOSITORY`.
    """
    return (
        full_name(environ.get("GH_REPO", ""))
        or repository_of(_remote_address(folder, environ))
        or full_name(environ.get("GITHUB_REPOSITORY", ""))
    )


def full_name(text: str) -> tuple[str, str] | None:
    """Read `owner/name`."""
    read = _FULL_NAME.fullmatch(text.strip())
    return (read[1], read[2]) if read else None


def repository_of(address: str) -> tuple[str, str] | None:
    """Read owner and name from the address of a remote, over HTTPS or ssh."""
    read = _ADDRESS.search(address.strip())
    return (read["owner"], read["name"]) if read else None


def _remote_address(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the address of `origin` as it was written: what `insteadOf` makes of it may be another server."""
    command = ["git", "-C", str(folder), "config", "--get", "remote.origin.url"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(environ), timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
