"""A repository in one piece of bytes, and back."""

import tempfile
from collections.abc import Collection
from pathlib import Path

from ghx_bench.twin.git import program
from ghx_bench.twin.git.errors import GitContentError, GitError
from ghx_bench.twin.git.repository import GitRepository

_SAME_BYTES = ("-c", "pack.threads=1", "-c", "pack.window=0")  # the same objects always make the same bundle


def bundle(repository: GitRepository, *, also: Collection[str] = ()) -> bytes:
    """Return all refs with all they need, and the history of commits that no ref has; nothing without any ref."""
    refs = repository.refs()
    if not refs:
        return b""
    more = sorted(sha for sha in set(also) - set(refs.values()) if repository.kind(sha) is not None)
    return program.run(repository.path, (*_SAME_BYTES, "bundle", "create", "--quiet", "-", "--all", *more))


def unbundle(repository: GitRepository, content: bytes) -> None:
    """Make the refs those of a bundle."""
    with tempfile.TemporaryDirectory(prefix="ghx-twin-") as folder:
        file = Path(folder) / "bundle"
        file.write_bytes(content)
        options = ("--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
        try:
            program.run(repository.path, ("fetch", *options, str(file), "+refs/*:refs/*"), durable=repository.durable)
        except GitError as error:
            raise GitContentError("git cannot read the bundle; export it again") from error
