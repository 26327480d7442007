"""Searching repositories and accounts."""

from collections.abc import Callable

from ghx_twin.queries import lookup
from ghx_twin.queries.composition import composition
from ghx_twin.queries.permissions import visible_repositories
from ghx_twin.queries.search.grammar import SCOPES, Leaf, Qualifier, Word, compile_query, parse, required_parts
from ghx_twin.queries.search.matching import compile_number, compile_time
from ghx_twin.queries.search.scopes import find_repositories, in_scope
from ghx_twin.refusals import NotImplementedRefusal
from ghx_twin.state.records import Issue, Membership, Repository, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

_TIMES: dict[str, Callable[[Repository], str]] = {
    "created": lambda repository: repository.created_at,
    "pushed": lambda repository: repository.pushed_at,
    "updated": lambda repository: repository.updated_at,
}
_UNSUPPORTED = frozenset({"size", "license", "followers", "mirror", "props", "good-first-issues", "help-wanted-issues"})
_KNOWN = frozenset({
    *SCOPES, *_TIMES, *_UNSUPPORTED, "is", "archived", "fork", "forks", "stars", "topic", "topics", "language",
    "template", "visibility",
})  # fmt: skip
_FIELDS = frozenset({"name", "description", "topics"})


def search_repositories(
    world: World, viewer: Viewer | None, query: str, *, sort: str | None = None, order: str = "desc"
) -> list[Repository]:
    """Return the repositories that fit a query; forks only where `fork:` asks for them."""
    parsed = parse(query, _KNOWN)
    fits = compile_query(parsed.root, lambda leaf: _compile_leaf(world, viewer, leaf))
    names = {part.name for part in required_parts(parsed.root) if isinstance(part, Qualifier)}
    repositories = [one for one in find_repositories(world, viewer, parsed.root) if fits(one)]
    visible = [one for one in repositories if "fork" in names or one.parent_id is None]
    written, _, direction = (parsed.sort or "").partition("-")
    keys: dict[str, Callable[[Repository], str | int]] = {
        "updated": lambda repository: repository.pushed_at,
        "forks": lambda repository: _forks(world, repository),
        "help-wanted-issues": lambda one: world.database.count(Issue, repository_id=one.id, state="open"),
    }
    key = keys.get(sort or written, lambda repository: repository.created_at)
    upwards = (order if sort else direction) == "asc"
    return sorted(visible, key=lambda one: (key(one), one.id), reverse=not upwards)  # pyright: ignore[reportArgumentType, reportCallIssue] - keys of one order compare


def search_users(world: World, viewer: Viewer | None, query: str) -> list[User]:
    """Return the accounts whose login, name or address holds every word of a query, by login."""
    parsed = parse(query, {"type", "user", "org", "repos", "created", "location"})
    fits = compile_query(parsed.root, lambda leaf: _compile_account_leaf(world, viewer, leaf))
    return [user for user in world.database.all(User, order="login") if fits(user)]


def _compile_leaf(world: World, viewer: Viewer | None, leaf: Leaf) -> Callable[[Repository], bool]:
    match leaf:
        case Word(text, within):
            return _compile_text(text, (within or _FIELDS) & _FIELDS or _FIELDS)
        case Qualifier(_, ()):
            return lambda _: True
        case Qualifier(name) if name in SCOPES:
            return in_scope(world, viewer, leaf)
        case Qualifier(name, values) if name in _TIMES:
            times, time = [compile_time(value, world.database.now()) for value in values], _TIMES[name]
            return lambda repository: any(fits(time(repository)) for fits in times)
        case Qualifier(name) if name in _UNSUPPORTED:
            raise NotImplementedRefusal(f"The twin cannot search repositories by `{name}:` yet.")
        case Qualifier(name, values):
            return _compile_qualifier(world, name, tuple(value.lower() for value in values))


def _compile_qualifier(world: World, name: str, values: tuple[str, ...]) -> Callable[[Repository], bool]:
    alternatives = set(values)
    numbers: dict[str, Callable[[Repository], int]] = {
        "topics": lambda repository: len(repository.topics),
        "forks": lambda repository: _forks(world, repository),
        "stars": lambda _: 0,  # no world has stars
    }
    if name in numbers:
        fitting, number = [compile_number(value) for value in values], numbers[name]
        return lambda repository: any(fits(number(repository)) for fits in fitting)
    questions: dict[str, Callable[[Repository], bool]] = {
        "is": lambda repository: (
            repository.visibility in alternatives
            or (repository.archived and "archived" in alternatives)
            or (repository.is_template and "template" in alternatives)
            or (repository.parent_id is not None and "fork" in alternatives)
        ),
        "visibility": lambda repository: repository.visibility in alternatives,
        "archived": lambda repository: repository.archived == ("true" in alternatives),
        "template": lambda repository: repository.is_template == ("true" in alternatives),
        "fork": lambda repository: repository.parent_id is not None or "only" not in alternatives,
        "topic": lambda repository: bool(alternatives & set(repository.topics)),
        "language": lambda repository: (composition(world, repository).language or "").lower() in alternatives,
    }
    return questions[name]


def _compile_text(text: str, fields: frozenset[str]) -> Callable[[Repository], bool]:
    needle = text.casefold()

    def holds(repository: Repository) -> bool:
        texts = {"name": repository.name, "description": repository.description, "topics": " ".join(repository.topics)}
        return any(needle in (texts[field] or "").casefold() for field in fields)

    return holds


def _forks(world: World, repository: Repository) -> int:
    return world.database.count(Repository, parent_id=repository.id)


def _compile_account_leaf(world: World, viewer: Viewer | None, leaf: Leaf) -> Callable[[User], bool]:
    match leaf:
        case Word(text, within):
            fields = within or frozenset({"login", "name", "email"})
            return lambda user: any(text.casefold() in (getattr(user, f, None) or "").casefold() for f in fields)
        case Qualifier("type", values):
            kinds = {"Organization" if value.lower() in {"org", "organization"} else "User" for value in values}
            return lambda user: user.type in kinds
        case Qualifier("created", values):
            times = [compile_time(value, world.database.now()) for value in values]
            return lambda user: any(fits(user.created_at) for fits in times)
        case Qualifier("repos", values):
            numbers = [compile_number(value) for value in values]
            visible = [one.owner_id for one in visible_repositories(world, viewer)]
            return lambda user: any(fits(visible.count(user.id)) for fits in numbers)
        case Qualifier("location", values):
            return lambda user: any(value.casefold() in (user.location or "").casefold() for value in values)
        case Qualifier(_, values):
            logins = {value.casefold() for value in values}

            def is_meant(user: User) -> bool:
                memberships = world.database.all(Membership, user_id=user.id)
                owners = (lookup.user_by_id(world, one.organization_id) for one in memberships)
                return any(one.login.casefold() in logins for one in (user, *owners))

            return is_meant
