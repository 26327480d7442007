"""The scope of a search: the repositories a viewer may see, narrowed by `repo:`, `user:` and `org:`."""

from collections.abc import Callable, Iterable

from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import visible_repositories
from ghx_twin.queries.search.grammar import SCOPES, Either, Node, Qualifier, required_parts
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Repository, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

_UNKNOWN_SCOPE = (
    "The listed users and repositories cannot be searched either because the resources do not exist "
    "or you do not have permission to view them."
)
_UNKNOWN_USER = (
    "The listed users cannot be searched either because the users do not exist "
    "or you do not have permission to view the users."
)


class UnknownSubjectRefusal(InvalidRefusal):
    """A query names only unknown users or repositories; GraphQL answers with no results instead."""

    def __init__(self, message: str) -> None:
        error = FieldError(resource="Search", field="q", code="invalid", message=message)
        super().__init__(errors=(error,))


def find_repositories(world: World, viewer: Viewer | None, root: Node) -> list[Repository]:
    """Return the repositories that can hold results; refuse a query whose every scope is unknown."""
    repositories = visible_repositories(world, viewer)
    for part in required_parts(root):
        members = part.parts if isinstance(part, Either) else (part,)
        scopes = [one for one in members if isinstance(one, Qualifier) and one.name in SCOPES]
        if not scopes or len(scopes) < len(members):
            continue  # an alternative that is no scope lets other repositories in
        fits = [one for one in repositories if any(in_scope(world, viewer, scope)(one) for scope in scopes)]
        candidates = (
            _repository(world, viewer, value) if scope.name == "repo" else account(world, viewer, value)
            for scope in scopes
            for value in scope.values
        )
        if not fits and not any(candidates):
            raise UnknownSubjectRefusal(_UNKNOWN_SCOPE)
        repositories = fits
    return repositories


def in_scope(world: World, viewer: Viewer | None, scope: Qualifier) -> Callable[[Repository], bool]:
    """Return the predicate of `repo:`, `user:` or `org:`."""
    if scope.name == "repo":
        ids = {one.id for value in scope.values if (one := _repository(world, viewer, value))}
        return lambda repository: repository.id in ids
    owners = {one.id for value in scope.values if (one := account(world, viewer, value))}
    return lambda repository: repository.owner_id in owners


def account(world: World, viewer: Viewer | None, login: str) -> User | None:
    """Return the account that a value means: `@me`, a login, `app/name` for a bot."""
    if login.lower() == "@me":
        return viewer.user if viewer else None
    spelled = f"{login[4:]}[bot]" if login.lower().startswith("app/") else login.removeprefix("@")
    try:
        return lookup.account(world, spelled)
    except NotFoundRefusal:
        return None


def find_accounts(world: World, viewer: Viewer | None, logins: Iterable[str]) -> set[int]:
    """Return the ids of accounts; refuse a query that names only unknown ones."""
    accounts = {one.id for login in logins if (one := account(world, viewer, login))}
    if not accounts:
        raise UnknownSubjectRefusal(_UNKNOWN_USER)
    return accounts


def _repository(world: World, viewer: Viewer | None, full_name: str) -> Repository | None:
    owner, _, name = full_name.partition("/")
    try:
        return lookup.repository(world, viewer, owner, name)
    except NotFoundRefusal:
        return None
