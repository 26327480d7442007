"""Records by the names that requests use.

Refusals have GraphQL's wording; REST says "Not Found" whatever was missing.
"""

from ghx_twin.queries.permissions import is_visible
from ghx_twin.refusals import GoneRefusal, MovedRefusal, NotFoundRefusal
from ghx_twin.state.records import (
    Collaborator,
    Comment,
    CommitComment,
    Issue,
    Label,
    Membership,
    Milestone,
    Pull,
    Redirect,
    Release,
    Repository,
    Team,
    Tombstone,
    User,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


def account(world: World, login: str) -> User:
    """Return the user, bot or organisation with a login."""
    record = world.database.one(User, login=login)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a User with the login of '{login}'.")
    return record


def user(world: World, login: str) -> User:
    """Return the person or bot with a login."""
    record = account(world, login)
    if record.type == "Organization":
        raise NotFoundRefusal(f"Could not resolve to a User with the login of '{login}'.")
    return record


def organization(world: World, login: str) -> User:
    """Return the organisation with a login."""
    record = world.database.one(User, login=login, type="Organization")
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to an Organization with the login of '{login}'.")
    return record


def team(world: World, owner: User, slug: str) -> Team:
    """Return a team of an organisation."""
    record = world.database.one(Team, organization_id=owner.id, slug=slug)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a Team with the slug of '{slug}'.")
    return record


def repository(world: World, viewer: Viewer | None, owner: str, name: str) -> Repository:
    """Return a repository by its name or a former one; one that the viewer may not see is not found."""
    repository_record = _repository_by_name(world, owner, name)
    if repository_record is None or not is_visible(world, viewer, repository_record):
        raise NotFoundRefusal(f"Could not resolve to a Repository with the name '{owner}/{name}'.")
    return repository_record


def repository_by_id(world: World, viewer: Viewer | None, identity: int) -> Repository:
    """Return a repository by its database id."""
    record = world.database.get(Repository, identity)
    if record is None or not is_visible(world, viewer, record):
        raise NotFoundRefusal(f"Could not resolve to a Repository with the id of {identity}.")
    return record


def repository_of(world: World, record: Issue | Pull | Label | Milestone | Release | CommitComment) -> Repository:
    """Return the repository that a record lives in."""
    found = world.database.get(Repository, record.repository_id)
    if found is None:
        raise NotFoundRefusal(f"Could not resolve to a Repository with the id of {record.repository_id}.")
    return found


def owner(world: World, repository: Repository) -> User:
    """Return the owner of a repository."""
    return user_by_id(world, repository.owner_id)


def default_actor(world: World, repository: Repository) -> User:
    """Return the user whom changes are attributed to where none is named: the owner, unless that is an organization.

    For an organization it is its oldest administrator, else the first collaborator who is one, else the organization.
    """
    actor = owner(world, repository)
    if actor.type != "Organization":
        return actor
    member = world.database.one(Membership, organization_id=actor.id, role="admin")
    admin = member or world.database.one(Collaborator, repository_id=repository.id, role="admin")
    return actor if admin is None else user_by_id(world, admin.user_id)


def default_account_actor(world: World, account: User) -> User:
    """Return the user whom changes of an account's projects are attributed to where none is named."""
    if account.type != "Organization":
        return account
    admin = world.database.one(Membership, organization_id=account.id, role="admin")
    return account if admin is None else user_by_id(world, admin.user_id)


def user_by_id(world: World, identity: int) -> User:
    """Return the account with a database id."""
    record = world.database.get(User, identity)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a User with the id of {identity}.")
    return record


def user_by_email(world: World, email: str) -> User | None:
    """Return whose commits carry an address: their own, or the no-reply one that GitHub gave them."""
    local, _, host = email.rpartition("@")
    if host.lower() != "users.noreply.github.com":
        return world.database.one(User, email=email) if email else None
    login = local.rpartition("+")[2]
    short = login.removesuffix("[bot]")  # in addresses, as in REST, that is behind the login of every bot
    return world.database.one(User, login=login) or world.database.one(User, login=short, type="Bot")


def full_name(world: World, repository: Repository) -> str:
    """Return `owner/name` as both are spelled."""
    return f"{owner(world, repository).login}/{repository.name}"


def issue_or_pull(world: World, repository: Repository, number: int) -> Issue:
    """Return the issue or pull request with a number; refuse a deleted or transferred one as GitHub does."""
    item = _find_numbered(world, repository, number)
    if item is None:
        _refuse_tombstone(world, repository, number)
        raise NotFoundRefusal(f"Could not resolve to an issue or pull request with the number of {number}.")
    return item


def issue(world: World, repository: Repository, number: int) -> Issue:
    """Return an issue that is no pull request."""
    item = _find_numbered(world, repository, number)
    if item is None:
        _refuse_tombstone(world, repository, number)
    if item is None or item.is_pull:
        raise NotFoundRefusal(f"Could not resolve to an Issue with the number of {number}.")
    return item


def pull(world: World, repository: Repository, number: int) -> Pull:
    """Return a pull request."""
    item = _find_numbered(world, repository, number)
    beside = pull_of(world, item) if item else None
    if beside is None:
        raise NotFoundRefusal(f"Could not resolve to a PullRequest with the number of {number}.")
    return beside


def issue_of(world: World, pull: Pull) -> Issue:
    """Return the issue record of a pull request: number, title, body, state."""
    record = world.database.get(Issue, pull.issue_id)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a PullRequest with the id of {pull.id}.")
    return record


def pull_of(world: World, issue: Issue) -> Pull | None:
    """Return the pull request of an issue record, where it is one."""
    return world.database.one(Pull, issue_id=issue.id) if issue.is_pull else None


def comment(world: World, repository: Repository, identity: int) -> Comment:
    """Return a comment of a repository's conversations."""
    record = world.database.get(Comment, identity)
    home = world.database.get(Issue, record.issue_id) if record else None
    if record is None or home is None or home.repository_id != repository.id:
        raise NotFoundRefusal(f"Could not resolve to an IssueComment with the id of {identity}.")
    return record


def label(world: World, repository: Repository, name: str) -> Label:
    """Return a label by its name, in any case."""
    record = world.database.one(Label, repository_id=repository.id, name=name)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a Label with the name '{name}'.")
    return record


def milestone(world: World, repository: Repository, number: int) -> Milestone:
    """Return a milestone by its number."""
    record = world.database.one(Milestone, repository_id=repository.id, number=number)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a Milestone with the number of {number}.")
    return record


def _repository_by_name(world: World, owner: str, name: str) -> Repository | None:
    account = world.database.one(User, login=owner)
    if account is None:
        return None
    record = world.database.one(Repository, owner_id=account.id, name=name)
    if record is None and (redirect := world.database.one(Redirect, owner_id=account.id, name=name)):
        return world.database.get(Repository, redirect.repository_id)
    return record


def _find_numbered(world: World, repository: Repository, number: int) -> Issue | None:
    return world.database.one(Issue, repository_id=repository.id, number=number)


def _refuse_tombstone(world: World, repository: Repository, number: int) -> None:
    tombstone = world.database.one(Tombstone, repository_id=repository.id, number=number)
    if tombstone and tombstone.moved_to_id:
        raise MovedRefusal(
            f"Could not resolve to an issue or pull request with the number of {number}.",
            issue_id=tombstone.moved_to_id,
        )
    if tombstone:
        raise GoneRefusal("This issue was deleted")
