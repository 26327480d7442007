"""Variables, secrets and caches of GitHub Actions."""

from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Record):
    """A variable of a repository, of one of its environments, or of an organization."""

    table: ClassVar[str] = "variables"
    unique: ClassVar = (("repository_id", "environment_id", "name"), ("organization_id", "name"))

    repository_id: int | None = None
    environment_id: int | None = None  # in an environment of the repository
    organization_id: int | None = None
    name: str  # in capitals
    value: str
    visibility: str | None = None  # of an organization's: all | private | selected
    selected_repository_ids: tuple[int, ...] = ()
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret(Record):
    """A secret of a repository, of one of its environments, or of an organization, by its name: values are not kept."""

    table: ClassVar[str] = "secrets"
    unique: ClassVar = (("repository_id", "environment_id", "name"), ("organization_id", "name"))

    repository_id: int | None = None
    environment_id: int | None = None  # in an environment of the repository
    organization_id: int | None = None
    name: str  # in capitals
    visibility: str | None = None  # of an organization's: all | private | selected
    selected_repository_ids: tuple[int, ...] = ()
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionsCache(Record):
    """A cache that workflows of a repository have written; its content is not kept."""

    table: ClassVar[str] = "actions_caches"
    indexed: ClassVar = (("repository_id", "key"),)

    repository_id: int
    ref: str  # refs/heads/main
    key: str
    version: str
    size_in_bytes: int
    created_at: str
    last_accessed_at: str
