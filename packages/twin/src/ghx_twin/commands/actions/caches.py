"""Caches of GitHub Actions: seeded, listed and deleted."""

from collections.abc import Sequence

from ghx_twin.commands import kernel
from ghx_twin.commands.texts import check_unicode_all
from ghx_twin.queries.permissions import require
from ghx_twin.state.records import ActionsCache, Repository
from ghx_twin.world import Act


def create(
    act: Act,
    repository: Repository,
    *,
    key: str,
    ref: str,
    version: str,
    size_in_bytes: int,
    last_accessed_at: str | None = None,
) -> ActionsCache:
    """Add a cache, as a workflow does."""
    require(act, repository, "write")
    check_unicode_all({"key": key, "ref": ref}, resource="ActionsCache")
    return act.database.insert(
        ActionsCache,
        repository_id=repository.id,
        key=key,
        ref=ref,
        version=version,
        size_in_bytes=size_in_bytes,
        created_at=act.now,
        last_accessed_at=last_accessed_at or act.now,
    )


def delete(act: Act, repository: Repository, caches: Sequence[ActionsCache]) -> None:
    """Delete caches of a repository."""
    require(act, repository, "write")
    for cache in caches:
        act.database.delete(kernel.reload(act, cache))
