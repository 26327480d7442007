"""How repositories come to be and go."""

from typing import Unpack

from ghx_twin.commands import cascade, kernel
from ghx_twin.commands.issues import labels
from ghx_twin.commands.repositories.settings import (
    Settings,
    check_description,
    check_free_name,
    check_topics,
    check_visibility,
    remove_redirect,
    require_merge_method,
)
from ghx_twin.commands.texts import check_unicode_all, invalid
from ghx_twin.git.errors import GitRefError
from ghx_twin.git.objects import TreeChange
from ghx_twin.queries.lookup import user_by_id
from ghx_twin.queries.permissions import NEEDS_ADMIN, require
from ghx_twin.refusals import ForbiddenRefusal, NotImplementedRefusal
from ghx_twin.state.records import Issue, Membership, Repository, User
from ghx_twin.world import Act


def create(
    act: Act,
    *,
    owner: User,
    name: str,
    visibility: str = "public",
    description: str | None = None,
    auto_init: bool = False,
    default_branch: str = "main",
    gitignore_template: str | None = None,
    license_template: str | None = None,
    default_labels: bool = True,
    **settings: Unpack[Settings],
) -> Repository:
    """Create a repository with GitHub's labels, empty or with a README as its first commit."""
    if gitignore_template or license_template:
        raise NotImplementedRefusal("The twin has no .gitignore and license templates; push the files instead.")
    require_creation(act, owner, visibility)
    require_merge_method(settings)
    check_topics(settings.get("topics", ()))
    check_unicode_all({**settings, "default_branch": default_branch}, resource="Repository")
    repository = act.database.insert(
        Repository,
        owner_id=owner.id,
        name=check_free_name(act, owner, name),
        visibility=visibility,
        description=check_description(description),
        default_branch=default_branch,
        created_at=act.now,
        updated_at=act.now,
        pushed_at=act.now,
        **settings,
    )
    remove_redirect(act, owner, repository.name)
    _create_git(act, repository)
    if default_labels:
        labels.create_defaults(act, repository)
    if auto_init:
        _write_readme(act, repository)
    return repository


def delete(act: Act, repository: Repository) -> None:
    """Delete a repository with everything in it; its forks live on."""
    current = kernel.reload(act, repository)
    require(act, current, "admin", even_archived=True)
    if act.viewer is not None and not act.viewer.has_scope("delete_repo"):
        raise ForbiddenRefusal(NEEDS_ADMIN, needed_scopes=("delete_repo",))
    issues = [issue.id for issue in act.database.all(Issue, repository_id=current.id)]
    cascade.delete_all(act.database, cascade.under_repository(act.database, current))
    cascade.clear_links_to_issues(act.database, issues)
    cascade.clear_links_to_repository(act.database, current)
    act.database.delete(current)
    # Takes the refs away and leaves the objects: forks find theirs in this repository's folder.
    act.world.storage.delete(current.id)


def require_creation(act: Act, owner: User, visibility: str) -> None:
    """Refuse a viewer who may not create a repository for this owner."""
    check_visibility(visibility, owner)
    if act.viewer is None:
        return
    scope = "public_repo" if visibility == "public" else "repo"
    if not act.viewer.has_scope(scope):
        raise ForbiddenRefusal("Resource not accessible by personal access token", needed_scopes=(scope,))
    if owner.type != "Organization" and owner.id != act.viewer.id:
        raise ForbiddenRefusal(f"{act.viewer.user.login} cannot create a repository for {owner.login}.")
    if owner.type == "Organization" and not act.database.one(
        Membership, organization_id=owner.id, user_id=act.viewer.id
    ):
        raise ForbiddenRefusal("You need admin access to the organization before adding a repository to it.")


def _create_git(act: Act, repository: Repository) -> None:
    try:
        act.world.storage.create(repository.id, repository.default_branch)
    except GitRefError:
        raise invalid("Repository", "default_branch", value=repository.default_branch) from None


def _write_readme(act: Act, repository: Repository) -> None:
    git = act.git(repository)
    text = f"# {repository.name}" + (f"\n{repository.description}\n" if repository.description else "")
    tree = git.write_tree(None, [TreeChange(path="README.md", sha=git.write_blob(text.encode()))])
    author = kernel.user_signature(user_by_id(act.world, kernel.actor_id(act, repository)), act.now)
    sha = git.write_commit(
        tree=tree,
        parents=(),
        message="Initial commit",
        author=author,
        committer=kernel.github_signature(act.now),
    )
    git.set_ref(f"refs/heads/{repository.default_branch}", sha)
