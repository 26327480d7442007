"""A whole repository as bytes, and back."""

import tempfile
from collections.abc import Collection
from pathlib import Path

from ghx_twin.git import program
from ghx_twin.git.errors import GitContentError, GitError
from ghx_twin.git.repository import GitRepository

_SAME_BYTES = ("-c", "pack.threads=1", "-c", "pack.window=0")  # the same objects always make the same bundle


def bundle(repository: GitRepository, *, also: Collection[str] = ()) -> bytes:
    """Return a bundle of all refs, and of commits that no ref has; nothing for a repository without refs."""
    refs = repository.refs()
    if not refs:
        return b""
    more = sorted(sha for sha in set(also) - set(refs.values()) if repository.kind(sha) is not None)
    return program.run(repository.path, (*_SAME_BYTES, "bundle", "create", "--quiet", "-", "--all", *more))


def unbundle(repository: GitRepository, content: bytes) -> None:
    """Replace the refs of a repository by those of a bundle."""
    with tempfile.TemporaryDirectory(prefix="ghx-twin-") as folder:
        file = Path(folder) / "bundle"
        file.write_bytes(content)
        options = ("--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
        try:
            program.run(repository.path, ("fetch", *options, str(file), "+refs/*:refs/*"), durable=repository.durable)
        except GitError as error:
            raise GitContentError("git cannot read the bundle; export it again") from error
        finally:
            repository.forget_state()
