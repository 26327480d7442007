"""Checkouts that sessions start in: cloned under the addresses of GitHub, whatever they are cloned from."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from anyio import from_thread

from ghx_base.errors import InputError, OperationError
from ghx_base.problems import one_line
from ghx_bench.scenario.extensions import Workspace

GITHUB = "https://github.com"
_LOOK_S = 0.1


def clone(
    workspace: Workspace,
    folder: Path,
    environment: Mapping[str, str],
    *,
    host: str = GITHUB,
    sources: Mapping[str, Path] | None = None,
) -> None:
    """Clone what a workspace names into a folder that does not exist, with no file checked out yet.

    `sources` are folders that stand in for repositories, so that nothing goes over the network. The addresses are the
    host's all the same, in the settings and in the log of every ref.
    """
    instead = {
        **{f"GIT_CONFIG_KEY_{n}": f"url.{path}.insteadOf" for n, path in enumerate((sources or {}).values())},
        **{f"GIT_CONFIG_VALUE_{n}": f"{host}/{name}.git" for n, name in enumerate(sources or {})},
        "GIT_CONFIG_COUNT": str(len(sources or {})),
    }
    variables = {**environment, **instead}
    branch = () if workspace.branch is None else ("--branch", workspace.branch)
    # --no-local: the objects come as one pack, and none is looked for in the source's folder later. Without a template
    # there are no hooks, of which this machine may have some.
    options = ("--quiet", "--no-checkout", "--no-local", "--template=", *branch)
    _git(["clone", *options, "--", f"{host}/{workspace.repo}.git", str(folder)], folder.parent, variables)
    if workspace.upstream is not None:
        _git(["remote", "add", "upstream", f"{host}/{workspace.upstream}.git"], folder, variables)
        _git(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "upstream"], folder, variables)


def copy_clone(clone: Path, folder: Path) -> None:
    """Copy a clone into an empty folder.

    Copied, not linked: an agent could change what other attempts share, and a sandbox shows it this folder alone.
    """
    shutil.copytree(clone / ".git", folder / ".git")


def check_out(workspace: Workspace, folder: Path, environment: Mapping[str, str]) -> None:
    """Write the files of a clone, and then what is not committed."""
    # By git, and not copied: the index has the times of the files, so that they are clean without being read again.
    _git(["read-tree", "-u", "--reset", "HEAD"], folder, environment)
    for path, content in workspace.changes.items():
        file = folder / path
        if file.is_symlink() or not file.parent.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"workspace: {path} is behind a symbolic link in {workspace.repo}; name another file")
        if content is None and not file.is_file():
            raise InputError(f"workspace: there is no {path} in {workspace.repo} to remove; leave it out")
        if content is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", newline="")


def _git(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run git, in a worker thread; killed if the task that waits for this is cancelled."""
    try:
        git = subprocess.Popen(
            ["git", *words],  # noqa: S607 - the machine's own, as agents have it
            env={"PATH": os.environ.get("PATH", os.defpath), **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError:
        raise OperationError("a workspace needs git, and there is none on PATH; install git 2.31 or newer") from None
    with git:
        output = _wait_for(git)
    if git.returncode:
        reason = (output.strip().splitlines() or [f"exit code {git.returncode}"])[-1]
        raise OperationError(f"workspace: `git {words[0]}` failed: {one_line(reason)}")


def _wait_for(git: "subprocess.Popen[str]") -> str:
    """Return what git says was wrong; kill it with the programs that it started if it is not waited for any more."""
    try:
        while True:
            # A clone from a host that answers no more takes for ever, and Ctrl-C must not wait for it.
            from_thread.check_cancelled()
            with suppress(subprocess.TimeoutExpired):
                return git.communicate(timeout=_LOOK_S)[1]
    except BaseException:
        with suppress(OSError):
            os.killpg(git.pid, signal.SIGKILL)
        raise
