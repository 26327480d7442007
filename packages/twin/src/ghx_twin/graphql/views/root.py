"""Where every query starts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urlsplit

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.connections import Connection
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.node_lookup import find
from ghx_twin.graphql.paging import Page
from ghx_twin.graphql.views.people import UserView
from ghx_twin.queries import lookup, search
from ghx_twin.refusals import NotFoundRefusal, Refusal
from ghx_twin.state.records import User


class QueryView:
    """The fields that a query starts with."""

    typename: ClassVar[str] = "Query"
    __slots__ = ("context",)

    def __init__(self, context: Context) -> None:
        self.context = context

    def node(self, identity: str) -> Any:
        """Return anything by its global id."""
        return self.context.view_of(find(self.context, identity))

    def nodes(self, ids: list[str]) -> list[Any]:
        """Return many things by their global ids; each that is not there becomes null with an error of its own."""
        self.context.spend(len(ids))  # no page bounds this list
        return [self._node_or_refusal(identity) for identity in ids]

    def organization(self, login: str) -> Any:
        """Return an organisation by its login."""
        return self.context.view_of(lookup.organization(self.context.world, login))

    def rate_limit(self, dry_run: bool | None = None) -> "RateLimitView":  # noqa: ARG002 - asking is free anyway
        """Return what is left of the hourly budget."""
        return RateLimitView(self.context)

    def repository(self, owner: str, name: str, follow_renames: bool | None = True) -> Any:
        """Return a repository by its name."""
        record = self.context.lookup_repository(owner, name)
        if not follow_renames and record.name.lower() != name.lower():
            return None
        return self.context.view_of(record)

    def repository_owner(self, login: str) -> Any:
        """Return the user or organization with a login; bots own no repositories."""
        user = self.context.database.one(User, login=login)
        return self.context.view_of(user) if user and user.type != "Bot" else None

    def resource(self, url: str) -> Any:
        """Return what has a page at an address."""
        try:
            return self.context.view_of(
                _at_path(self.context, [part for part in urlsplit(url).path.split("/") if part])
            )
        except (Refusal, ValueError):
            return None

    def search(self, query: str, kind: str) -> "Found":
        """Return what fits a search."""
        world, viewer = self.context.world, self.context.viewer
        try:
            match kind:
                case "REPOSITORY":
                    return Found(kind, search.search_repositories(world, viewer, query))
                case "USER":
                    people = search.search_users(world, viewer, query)
                    return Found(kind, [one for one in people if one.type != "Bot"])
                case _:
                    return Found("ISSUE", search.search_issues(world, viewer, query))
        except search.UnknownSubjectRefusal:
            return Found("ISSUE" if kind == "ISSUE_ADVANCED" else kind, [])  # REST refuses; GraphQL finds nothing

    def user(self, login: str) -> Any:
        """Return a person by their login."""
        user = lookup.user(self.context.world, login)
        if user.type != "User":
            raise NotFoundRefusal(f"Could not resolve to a User with the login of '{login}'.")
        return self.context.view_of(user)

    def viewer(self) -> Any:
        """Return who asks."""
        return UserView(self.context, self.context.viewer.user)

    def _node_or_refusal(self, identity: str) -> Any:
        try:
            return self.context.view_of(find(self.context, identity))
        except Refusal as refusal:
            return refusal  # returned, not raised: graphql-core makes it the error of this item alone


class RateLimitView:
    """The hourly budget, of which at least one request always remains."""

    typename: ClassVar[str] = "RateLimit"
    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def cost(self) -> int:
        """Return what this query costs: one for each hundred possible nodes, one at least."""
        return max(1, round(self._context.node_count / 100))

    def limit(self) -> int:
        """Return the budget."""
        return self._context.budget.limit

    def node_count(self) -> int:
        """Return how many nodes this query may return."""
        return self._context.node_count

    def remaining(self) -> int:
        """Return what is left."""
        return max(0, self.limit() - self.used())

    def used(self) -> int:
        """Return what was spent."""
        return self._context.budget.used

    def reset_at(self) -> str:
        """Return when the budget is whole again."""
        if self._context.budget.reset_at:
            return self._context.budget.reset_at
        now = datetime.fromisoformat(self._context.database.now()).astimezone(UTC)
        return (now.replace(minute=0, second=0) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Found(Sequence[Any]):
    """What a search found, and what sort of thing was searched for."""

    def __init__(self, kind: str, items: Sequence[Any]) -> None:
        self.kind, self._items = kind, items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]


class SearchConnection(Connection[Found]):
    """A page of what a search found."""

    __slots__ = ()

    def __init__(self, context: Context, items: Found, page: Page) -> None:
        # gh sends `last` and means the size of the page: results have an order of their own, and no end to count from
        forwards = (
            page
            if page.last is None or page.before
            else Page(connection=page.connection, first=page.last, after=page.after)
        )
        super().__init__(context, items, forwards)

    def issue_count(self) -> int:
        """Return how many issues and pull requests there are."""
        return self._count("ISSUE")

    def repository_count(self) -> int:
        """Return how many repositories there are."""
        return self._count("REPOSITORY")

    def user_count(self) -> int:
        """Return how many accounts there are."""
        return self._count("USER")

    def code_count(self) -> int:
        """Return how many files there are: not searched for by GraphQL."""
        return 0

    def discussion_count(self) -> int:
        """Return how many discussions there are: a world has none."""
        return 0

    def wiki_count(self) -> int:
        """Return how many wiki pages there are: a world has none."""
        return 0

    def _count(self, kind: str) -> int:
        return len(self.items) if self.items.kind == kind else 0


def _at_path(context: Context, parts: list[str]) -> Any:
    match parts:
        case [login]:
            return context.database.one(User, login=login)
        case [owner, name]:
            return context.lookup_repository(owner, name)
        case [owner, name, "issues" | "pull", number, *_]:
            return lookup.issue_or_pull(context.world, context.lookup_repository(owner, name), int(number))
        case [owner, name, "milestone", number]:
            return lookup.milestone(context.world, context.lookup_repository(owner, name), int(number))
        case [owner, name, "commit", sha]:
            return git_lookup.commit_at(context, context.lookup_repository(owner, name), sha)
        case _:
            return None
