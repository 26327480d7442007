"""The name and the settings of a repository, and how they are changed."""

import re
from typing import TypedDict, Unpack, cast

from ghx_twin.commands import kernel
from ghx_twin.commands.texts import check_length, check_unicode, check_unicode_all, invalid, missing
from ghx_twin.queries.lookup import owner as owner_of
from ghx_twin.queries.permissions import ARCHIVED, require
from ghx_twin.refusals import FieldError, ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import Redirect, Repository, User
from ghx_twin.world import Act

LONGEST_NAME = 100
CREATION_FAILED = "Repository creation failed."
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = frozenset({".", "..", ".git", ".wiki"})
LONGEST_DESCRIPTION = 350
MOST_TOPICS = 20
_TOPIC = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")
VISIBILITIES = ("public", "private", "internal")


class Settings(TypedDict, total=False):
    """The switches of a repository."""

    homepage: str | None
    has_issues: bool
    has_wiki: bool
    has_projects: bool
    has_downloads: bool
    has_discussions: bool
    allow_merge_commit: bool
    allow_squash_merge: bool
    allow_rebase_merge: bool
    allow_auto_merge: bool
    allow_update_branch: bool
    allow_forking: bool
    delete_branch_on_merge: bool
    web_commit_signoff_required: bool
    archived: bool
    is_template: bool
    topics: tuple[str, ...]


class Changes(Settings, total=False):
    """The settings of an existing repository, its name and default branch among them."""

    name: str
    description: str | None
    visibility: str
    default_branch: str


def update(act: Act, repository: Repository, **changes: Unpack[Changes]) -> Repository:
    """Change settings of a repository, its name and default branch among them."""
    current = kernel.reload(act, repository)
    require(act, current, "admin", even_archived=True)
    if act.viewer is not None and current.archived and changes.get("archived", True):
        raise ForbiddenRefusal(ARCHIVED)
    new_values = check_unicode_all(cast("dict[str, object]", changes), resource="Repository")
    name, branch = new_values.pop("name", None), changes.get("default_branch")
    _refuse_impossible(act, current, changes)
    if name is not None:
        current = _rename(act, current, cast("str", name))
    if branch is not None and branch != current.default_branch:
        act.world.storage.set_head(current.id, branch)
    if any(getattr(current, field) != value for field, value in new_values.items()):
        current = kernel.touch(act, current, **new_values)
    return current


def rename(act: Act, repository: Repository, name: str) -> Repository:
    """Rename a repository; the old name redirects to it until it is used again."""
    return update(act, repository, name=name)


def check_description(description: str | None) -> str | None:
    """Return a description, or refuse one that is too long."""
    if description is None:
        return None
    text = check_unicode(description, resource="Repository", field="description")
    return check_length(text, LONGEST_DESCRIPTION, resource="Repository", field="description")


def check_visibility(visibility: str, owner: User) -> str:
    """Return a visibility, or refuse one that repositories of this owner cannot have."""
    if visibility not in VISIBILITIES or (visibility == "internal" and owner.type != "Organization"):
        raise invalid("Repository", "visibility", value=visibility)
    return visibility


def check_topics(topics: tuple[str, ...]) -> tuple[str, ...]:
    """Return topics, or refuse them where GitHub does: lower case, digits and dashes only."""
    if len(topics) > MOST_TOPICS:
        raise InvalidRefusal(f"A repository can have at most {MOST_TOPICS} topics.")
    for topic in topics:
        if not _TOPIC.fullmatch(topic):
            message = (
                "Topics must start with a lowercase letter or number, consist of 50 characters or less, "
                "and can include hyphens."
            )
            raise InvalidRefusal(errors=(message,))
    return topics


def require_merge_method(settings: Settings | Changes, current: Repository | None = None) -> None:
    """Refuse settings that allow no merge method at all."""
    ways = ("allow_merge_commit", "allow_squash_merge", "allow_rebase_merge")
    if not any(settings.get(way, getattr(current, way, True)) for way in ways):
        raise InvalidRefusal("Sorry, you need to allow at least one merge strategy. (no_merge_method)")


def normalize_name(name: str) -> str:
    """Return a name as GitHub spells it: characters that it does not allow become dashes."""
    new_name = check_unicode(name, resource="Repository", field="name").strip()
    if not new_name:
        raise missing("Repository", "name")
    normalized = _NOT_ALLOWED.sub("-", new_name)
    while normalized not in _RESERVED and normalized.endswith(".git"):
        normalized = normalized.removesuffix(".git")
    if normalized in _RESERVED or not normalized:
        raise _name_refusal(f"name '{normalized}' is reserved")
    if len(normalized) > LONGEST_NAME:
        raise _name_refusal(f"name cannot be more than {LONGEST_NAME} characters")
    return normalized


def check_free_name(act: Act, owner: User, name: str, *, except_for: Repository | None = None) -> str:
    """Return the spelling of a name; refuse one that another repository of the owner has."""
    new_name = normalize_name(name)
    namesake = act.database.one(Repository, owner_id=owner.id, name=new_name)
    if namesake and (except_for is None or namesake.id != except_for.id):
        raise _name_refusal("name already exists on this account")
    return new_name


def remove_redirect(act: Act, owner: User, name: str) -> None:
    """Remove the redirect of a former name that is about to be used."""
    for redirect in act.database.all(Redirect, owner_id=owner.id, name=name):
        act.database.delete(redirect)


def _rename(act: Act, repository: Repository, name: str) -> Repository:
    owner = owner_of(act.world, repository)
    new_name = check_free_name(act, owner, name, except_for=repository)
    if new_name == repository.name:
        return repository
    remove_redirect(act, owner, new_name)
    if (
        new_name.casefold() != repository.name.casefold()
    ):  # names differ by more than case, else it would lead to itself
        act.database.insert(Redirect, owner_id=owner.id, name=repository.name, repository_id=repository.id)
    return kernel.touch(act, repository, name=new_name)


def _refuse_impossible(act: Act, repository: Repository, changes: Changes) -> None:
    check_description(changes.get("description"))
    require_merge_method(changes, repository)
    check_visibility(changes.get("visibility", repository.visibility), owner_of(act.world, repository))
    check_topics(changes.get("topics", ()))
    branch = changes.get("default_branch", repository.default_branch)
    if branch != repository.default_branch and act.git(repository).ref(f"refs/heads/{branch}") is None:
        raise InvalidRefusal(
            f"The branch {branch} was not found. Please push that ref first or create it via the Git Data API."
        )


def _name_refusal(message: str) -> InvalidRefusal:
    error = FieldError(resource="Repository", field="name", code="custom", message=message)
    return InvalidRefusal(CREATION_FAILED, errors=(error,))
