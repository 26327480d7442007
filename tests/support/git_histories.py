"""Short ways to fill git repositories in tests."""

from collections.abc import Mapping, Sequence

from ghx_twin.git.repository import GitRepository, Signature, TreeChange

MONA = Signature(name="Mona Lisa", email="mona@example.com", at="2026-01-02T03:04:05Z")


def signature(minute: int = 0, name: str = "Mona Lisa") -> Signature:
    return Signature(name=name, email="mona@example.com", at=f"2026-01-02T{minute // 60:02}:{minute % 60:02}:00Z")


def write_files(
    repository: GitRepository, base: str | None, files: Mapping[str, str | bytes | None], mode: str = "100644"
) -> str:
    """Write the tree that files with these contents make of `base`; None removes a file."""
    changes = [
        TreeChange(path=path, mode=mode, sha=None if content is None else repository.write_blob(_bytes(content)))
        for path, content in files.items()
    ]
    return repository.write_tree(base, changes)


def write_commit(
    repository: GitRepository,
    files: Mapping[str, str | bytes | None] | None = None,
    *,
    parents: Sequence[str] = (),
    message: str = "Change",
    minute: int = 0,
    branch: str | None = None,
) -> str:
    """Write a commit that changes files of its first parent, and move a branch to it."""
    tree = write_files(repository, parents[0] if parents else None, files or {})
    who = signature(minute)
    sha = repository.write_commit(tree=tree, parents=parents, message=message, author=who, committer=who)
    if branch is not None:
        repository.set_ref(f"refs/heads/{branch}", sha)
    return sha


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
