"""Qualifiers of an issue search that name people."""

from collections.abc import Callable

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.search.facts import Facts
from ghx_bench.twin.queries.search.scopes import account, find_accounts
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import World

Question = Callable[[Facts], bool]
ANYONE = "*"
_PEOPLE: dict[str, Callable[[Facts], set[int]]] = {
    "author": lambda facts: {facts.issue.author_id},
    "assignee": lambda facts: facts.assignees,
    "commenter": lambda facts: facts.commenters,
    "involves": lambda facts: {facts.issue.author_id, *facts.assignees, *facts.commenters},
    "reviewed-by": lambda facts: {review.author_id for review in facts.reviews},
    "review-requested": lambda facts: facts.requested_users,
    "user-review-requested": lambda facts: {one.user_id for one in facts.requested if one.user_id},
    "closed-by": lambda facts: {facts.issue.closed_by_id} if facts.issue.closed_by_id else set(),
    "mentions": lambda _: set(),  # by login, in texts
}
PEOPLE = frozenset({*_PEOPLE, "team", "team-review-requested"})


def person_question(world: World, viewer: Viewer | None, name: str, values: tuple[str, ...]) -> Question:
    """Return the question that a qualifier about people asks."""
    if name in {"team", "team-review-requested"}:
        return _team_question(world, name, values)
    people = _PEOPLE[name]
    if ANYONE in values:
        return lambda facts: bool(facts.mentioned if name == "mentions" else people(facts))
    ids = find_accounts(world, viewer, values)
    logins = {one.login.casefold() for value in values if (one := account(world, viewer, value))}
    calls = name in {"mentions", "involves"}
    return lambda facts: bool(ids & people(facts) or (calls and logins & facts.mentioned))


def _team_question(world: World, name: str, values: tuple[str, ...]) -> Question:
    ids: set[int] = set()
    for value in values:
        owner, _, slug = value.removeprefix("@").partition("/")
        try:
            ids.add(lookup.team(world, lookup.organization(world, owner), slug).id)
        except NotFoundRefusal:
            continue
    if name == "team-review-requested":
        return lambda facts: any(one.team_id in ids for one in facts.requested)
    handles = [f"@{value.removeprefix('@').casefold()}" for value in values]
    return lambda facts: any(handle in _texts(facts) for handle in handles)


def _texts(facts: Facts) -> str:
    return "\n".join([facts.issue.body or "", *(comment.body for comment in facts.comments)]).casefold()
