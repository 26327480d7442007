"""Notes of a release, generated from the pull requests that were merged since the one before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import yaml

from ghx_twin.queries import lookup
from ghx_twin.queries.repositories.releases import tag_commit
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Issue, Label, Pull, Release, Repository, User
from ghx_twin.world import World

CONFIGURATION_FILES = (".github/release.yml", ".github/release.yaml")
_ANY_LABEL = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesRequest:
    """The request for release notes; `html` is the address of GitHub's pages, which the notes link to."""

    tag_name: str
    target_commitish: str | None = None
    previous_tag_name: str | None = None
    configuration_file_path: str | None = None
    html: str


@dataclass(frozen=True, slots=True)
class _Merged:
    """A merged pull request as the notes show it."""

    issue: Issue
    merged_at: str
    author: User
    labels: frozenset[str]

    @property
    def mention(self) -> str:
        is_app = self.author.type == "Bot" and not self.author.login.endswith("[bot]")
        return f"@{self.author.login}[bot]" if is_app else f"@{self.author.login}"


@dataclass(frozen=True, slots=True)
class _Exclusion:
    labels: frozenset[str]
    authors: frozenset[str]

    def holds(self, merged: _Merged) -> bool:
        login = merged.author.login.lower()
        return bool(self.labels & merged.labels) or bool(self.authors & {login, f"{login}[bot]"})


@dataclass(frozen=True, slots=True)
class _Category:
    title: str
    labels: frozenset[str]
    exclusion: _Exclusion

    def takes(self, merged: _Merged) -> bool:
        is_included = _ANY_LABEL in self.labels or bool(self.labels & merged.labels)
        return is_included and not self.exclusion.holds(merged)


@dataclass(frozen=True, slots=True)
class _Configuration:
    path: str | None
    exclusion: _Exclusion
    categories: tuple[_Category, ...]


def generate_notes(world: World, repository: Repository, request: NotesRequest) -> str:
    """Return the notes as GitHub writes them: what changed, who is new, and where the whole comparison is."""
    page = f"{request.html}/{lookup.full_name(world, repository)}"
    current = tag_commit(world, repository, request.tag_name)
    source = request.tag_name if current else request.target_commitish or repository.default_branch
    head = current or world.git(repository).resolve(source, repository.default_branch)
    if head is None:
        raise Refusal("Invalid target_commitish parameter")
    previous = _previous_tag(world, repository, request, head)
    base = tag_commit(world, repository, previous) if previous else None
    configuration = _read_configuration(world, repository, head, request.configuration_file_path)
    everyone = _merged_pulls(world, repository, base, head)
    listed = [one for one in everyone if not configuration.exclusion.holds(one)]
    parts: list[str] = []
    if configuration.path:
        parts.append(f"<!-- Release notes generated using configuration in {configuration.path} at {source} -->\n")
    if listed:
        parts += ["## What's Changed", *_changes(configuration, listed, page), ""]
    newcomers = _newcomers(world, repository, everyone, listed)
    if newcomers:
        lines = [
            f"* {one.mention} made their first contribution in {page}/pull/{one.issue.number}" for one in newcomers
        ]
        parts += ["## New Contributors", *lines, ""]
    elif listed:
        parts.append("")
    whole = f"compare/{previous}...{request.tag_name}" if previous else f"commits/{request.tag_name}"
    return "\n".join([*parts, f"**Full Changelog**: {page}/{whole}"])


def _previous_tag(world: World, repository: Repository, request: NotesRequest, head: str) -> str | None:
    """Return the tag to begin after: the named one, else that of the newest release which the head contains."""
    if request.previous_tag_name:
        if tag_commit(world, repository, request.previous_tag_name) is None:
            raise Refusal("Invalid previous_tag parameter")
        return request.previous_tag_name
    git = world.git(repository)
    rest = "WHERE repository_id = ? AND draft = 0 AND tag_name != ? ORDER BY created_at DESC, id DESC"
    for release in world.database.select(Release, rest, (repository.id, request.tag_name)):
        sha = tag_commit(world, repository, release.tag_name)
        if sha is not None and git.is_ancestor(sha, head):
            return release.tag_name
    return None


def _merged_pulls(world: World, repository: Repository, base: str | None, head: str) -> list[_Merged]:
    """Return the pull requests whose merge lies between two commits, in the order in which they were merged."""
    shas = {commit.sha for commit in world.git(repository).commits_between(base, head)}
    rest = "WHERE repository_id = ? AND merged_at IS NOT NULL ORDER BY merged_at, id"
    pulls = world.database.select(Pull, rest, (repository.id,))
    return [_describe(world, pull) for pull in pulls if pull.merge_commit_sha in shas]


def _describe(world: World, pull: Pull) -> _Merged:
    issue = lookup.issue_of(world, pull)
    labels = world.database.select(
        Label, "JOIN issue_labels ON issue_labels.label_id = labels.id WHERE issue_labels.issue_id = ?", (issue.id,)
    )
    names = frozenset(label.name.lower() for label in labels)
    return _Merged(issue, pull.merged_at or "", lookup.user_by_id(world, issue.author_id), names)


def _changes(configuration: _Configuration, listed: Sequence[_Merged], page: str) -> list[str]:
    """Return a line for each pull request, under the first category that takes it; one that none takes is left out."""
    lines = {one.issue.id: f"* {one.issue.title} by {one.mention} in {page}/pull/{one.issue.number}" for one in listed}
    if not configuration.categories:
        return list(lines.values())
    sections: dict[int, list[str]] = {}
    for one in listed:
        places = (place for place, each in enumerate(configuration.categories) if each.takes(one))
        place = next(places, None)
        if place is not None:
            sections.setdefault(place, []).append(lines[one.issue.id])
    return [
        line
        for place in sorted(sections)
        for line in (f"### {configuration.categories[place].title}", *sections[place])
    ]


def _newcomers(
    world: World, repository: Repository, everyone: Sequence[_Merged], listed: Sequence[_Merged]
) -> list[_Merged]:
    """Return the first pull request of each author of whom nothing had been merged before."""
    first: dict[int, _Merged] = {}
    for one in listed:
        first.setdefault(one.author.id, one)
    here = {one.issue.id for one in everyone}
    return [one for one in first.values() if not _has_merged_earlier(world, repository, one, here)]


def _has_merged_earlier(world: World, repository: Repository, one: _Merged, here: set[int]) -> bool:
    rest = (
        "JOIN pulls ON pulls.issue_id = issues.id "
        "WHERE issues.repository_id = ? AND issues.author_id = ? AND pulls.merged_at <= ?"
    )
    issues = world.database.select(Issue, rest, (repository.id, one.author.id, one.merged_at))
    return any(issue.id not in here for issue in issues)


def _read_configuration(world: World, repository: Repository, sha: str, path: str | None) -> _Configuration:
    git = world.git(repository)
    for candidate in (path,) if path else CONFIGURATION_FILES:
        entry = git.entry(sha, candidate)
        content = git.blob(entry.sha) if entry and entry.type == "blob" else None
        if content is not None:
            return _parse_configuration(candidate, content)
    return _Configuration(None, _exclusion(None), ())


def _parse_configuration(path: str, content: bytes) -> _Configuration:
    try:
        document = yaml.safe_load(content.decode("utf-8", "replace"))
    except (yaml.YAMLError, RecursionError, ValueError):
        return _Configuration(None, _exclusion(None), ())
    changelog = _mapping(_mapping(document).get("changelog"))
    items = changelog.get("categories")
    categories = (
        tuple(
            _Category(str(one.get("title", "")), _words(one.get("labels")), _exclusion(one.get("exclude")))
            for one in (_mapping(item) for item in cast("list[object]", items))
        )
        if isinstance(items, list)
        else ()
    )
    return _Configuration(path, _exclusion(changelog.get("exclude")), categories)


def _exclusion(value: object) -> _Exclusion:
    mapping = _mapping(value)
    return _Exclusion(_words(mapping.get("labels")), _words(mapping.get("authors")))


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _words(value: object) -> frozenset[str]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(str(item).lower() for item in items)
