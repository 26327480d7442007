"""Mutations of repositories, refs and files."""

import base64
from collections.abc import Sequence
from typing import Any

from ghx_twin.commands import repositories
from ghx_twin.commands.repositories import objects, refs
from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.changes.change import Change, Mutation, Outcome, refuse_arguments
from ghx_twin.graphql.subjects import CommitSubject, RefSubject
from ghx_twin.queries import lookup
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Repository, User

_SETTINGS = {
    "has_issues_enabled": "has_issues",
    "has_wiki_enabled": "has_wiki",
    "has_projects_enabled": "has_projects",
    "has_discussions_enabled": "has_discussions",
    "template": "is_template",
}


class StaleDataRefusal(ConflictRefusal):
    """The branch is not where the caller thinks it is."""

    graphql_type = "STALE_DATA"


def create_repository(
    change: Change,
    *,
    name: str,
    visibility: str,
    owner_id: str | None = None,
    description: str | None = None,
    homepage_url: str | None = None,
    **switches: bool | None,
) -> Outcome:
    """Create an empty repository."""
    owner = change.find(owner_id, User) if owner_id else change.actor
    settings: dict[str, Any] = _settings(switches)
    if homepage_url:
        settings["homepage"] = homepage_url
    created = repositories.create(
        change.act, owner=owner, name=name, visibility=visibility.lower(), description=description, **settings
    )
    return {"repository": created}


def update_repository(
    change: Change,
    *,
    repository_id: str,
    name: str | None = None,
    description: str | None = None,
    homepage_url: str | None = None,
    **switches: bool | None,
) -> Outcome:
    """Change the settings of a repository; what is not given stays."""
    texts = {"name": name, "description": description, "homepage": homepage_url}
    changes: dict[str, Any] = {key: value for key, value in texts.items() if value is not None}
    repository = change.find(repository_id, Repository)
    return {"repository": repositories.update(change.act, repository, **changes, **_settings(switches))}


def archive_repository(change: Change, *, repository_id: str) -> Outcome:
    """Make a repository read-only."""
    return {"repository": repositories.update(change.act, change.find(repository_id, Repository), archived=True)}


def unarchive_repository(change: Change, *, repository_id: str) -> Outcome:
    """Make a repository writable again."""
    return {"repository": repositories.update(change.act, change.find(repository_id, Repository), archived=False)}


def create_ref(change: Change, *, repository_id: str, name: str, oid: str) -> Outcome:
    """Create a branch or tag."""
    repository = change.find(repository_id, Repository)
    return {"ref": RefSubject(repository, name, refs.create(change.act, repository, ref=name, sha=oid))}


def update_ref(change: Change, *, ref_id: str, oid: str, force: bool | None = None) -> Outcome:
    """Move a branch or tag."""
    ref = change.find(ref_id, RefSubject)
    sha = refs.update(change.act, ref.repository, ref=ref.name, sha=oid, force=bool(force))
    return {"ref": RefSubject(ref.repository, ref.name, sha)}


def delete_ref(change: Change, *, ref_id: str) -> Outcome:
    """Delete a branch or tag."""
    ref = change.find(ref_id, RefSubject)
    refs.delete(change.act, ref.repository, ref=ref.name)
    return {}


def create_commit_on_branch(
    change: Change,
    *,
    branch: dict[str, Any],
    expected_head_oid: str,
    message: dict[str, Any],
    file_changes: dict[str, Any] | None = None,
) -> Outcome:
    """Commit added and deleted files to a branch, if it is where the caller thinks."""
    ref = _branch(change, branch)
    if ref.sha != expected_head_oid:
        raise StaleDataRefusal(f'Expected branch to point to "{expected_head_oid}" but it did not. Pull and try again.')
    tree = _tree(change, ref, file_changes or {})
    text = "\n\n".join(part for part in (message["headline"], message.get("body")) if part)
    commit = objects.create_commit(change.act, ref.repository, message=text, tree=tree, parents=(ref.sha,))
    refs.update(change.act, ref.repository, ref=ref.name, sha=commit.sha)
    subject = CommitSubject(ref.repository, commit.sha)
    return {"commit": subject, "ref": RefSubject(ref.repository, ref.name, commit.sha)}


def merge_branch(
    change: Change,
    *,
    repository_id: str,
    base: str,
    head: str,
    commit_message: str | None = None,
    author_email: str | None = None,
) -> Outcome:
    """Merge a branch or commit into a branch."""
    refuse_arguments("MergeBranchInput", authorEmail=author_email)
    repository = change.find(repository_id, Repository)
    git = change.act.git(repository)
    into = git_lookup.ref(change.context, repository, f"refs/heads/{base.removeprefix('refs/heads/')}")
    sha = git.resolve(head, repository.default_branch)
    if into is None or sha is None:
        raise NotFoundRefusal(f'Failed to merge: "No such {"base" if into is None else "head"}"')
    if git.is_ancestor(sha, into.sha):
        raise InvalidRefusal('Failed to merge: "Already merged"')
    tree = git.merge(into.sha, sha)
    if tree is None:
        raise InvalidRefusal('Failed to merge: "Merge conflict"')
    text = commit_message or f"Merge {head} into {base}"
    commit = objects.create_commit(change.act, repository, message=text, tree=tree, parents=(into.sha, sha))
    refs.update(change.act, repository, ref=into.name, sha=commit.sha)
    return {"merge_commit": CommitSubject(repository, commit.sha)}


def _settings(switches: dict[str, bool | None]) -> dict[str, Any]:
    return {_SETTINGS[name]: value for name, value in switches.items() if value is not None}


def _branch(change: Change, branch: dict[str, Any]) -> RefSubject:
    if branch.get("id"):
        return change.find(branch["id"], RefSubject)
    full_name, name = branch.get("repository_name_with_owner"), branch.get("branch_name")
    owner, slash, repository_name = (full_name or "").partition("/")
    if not slash or not name:
        raise InvalidRefusal("A branch is named by its `id`, or by `repositoryNameWithOwner` and `branchName`.")
    context = change.context
    repository = lookup.repository(context.world, context.viewer, owner, repository_name)
    ref = git_lookup.ref(context, repository, f"refs/heads/{name.removeprefix('refs/heads/')}")
    if ref is None:
        raise NotFoundRefusal(f'No ref with the name "{name}" exists in the repository {full_name}.')
    return ref


def _tree(change: Change, ref: RefSubject, files: dict[str, Any]) -> str:
    added = [
        objects.NewEntry(path=one["path"], content=base64.b64decode(one["contents"]))
        for one in files.get("additions") or ()
    ]
    removed = [objects.NewEntry(path=one["path"]) for one in files.get("deletions") or ()]
    if not added and not removed:
        commit = change.act.git(ref.repository).commit(ref.sha)
        return commit.tree if commit else ref.sha
    try:
        return objects.create_tree(change.act, ref.repository, entries=[*removed, *added], base=ref.sha)
    except InvalidRefusal as refusal:
        reason = str(refusal.errors[0]) if refusal.errors else refusal.message
        raise InvalidRefusal(f"A path was requested that cannot be written: {reason}") from refusal


REPOSITORY_CHANGES: Sequence[Mutation] = (
    create_repository, update_repository, archive_repository, unarchive_repository, create_ref, update_ref, delete_ref,
    create_commit_on_branch, merge_branch,
)  # fmt: skip
