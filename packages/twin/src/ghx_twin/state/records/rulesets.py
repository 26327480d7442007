"""Rulesets: what may happen to the refs of a repository, or of all repositories of an organization."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset(Record):
    """Rules for the refs that match its conditions; it belongs to a repository or to an organization."""

    table: ClassVar[str] = "rulesets"
    unique: ClassVar = (("repository_id", "name"), ("organization_id", "name"))

    repository_id: int | None = None
    organization_id: int | None = None
    name: str
    target: str = "branch"  # branch | tag | push
    enforcement: str = "active"  # active | disabled | evaluate
    # ref_name: {include, exclude}; of an organization also repository_name: {include, exclude}
    conditions: Mapping[str, Mapping[str, list[str]]]
    rules: tuple[Mapping[str, object], ...] = ()  # each with its type, most with parameters, in GitHub's words
    bypass_actors: tuple[Mapping[str, object], ...] = ()  # actor_id, actor_type, bypass_mode
    created_at: str
    updated_at: str
