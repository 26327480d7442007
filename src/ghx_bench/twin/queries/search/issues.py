"""Searching issues and pull requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ghx_bench.twin.queries.search.facts import Conversations, Facts
from ghx_bench.twin.queries.search.grammar import (
    Leaf,
    Qualifier,
    Query,
    Word,
    compile_query,
    parse,
    required_parts,
    words,
)
from ghx_bench.twin.queries.search.matching import split_words
from ghx_bench.twin.queries.search.plain import STATES, find_plain
from ghx_bench.twin.queries.search.qualifiers import KNOWN, Predicate, Qualifiers
from ghx_bench.twin.queries.search.scopes import find_repositories
from ghx_bench.twin.state.columns import where_clause
from ghx_bench.twin.state.records import Issue, Repository
from ghx_bench.twin.state.rows import Records
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import World

Kind = Literal["issue", "pr"]
_FIELDS = ("title", "body", "comments")  # what is quickly read comes first


def search_issues(
    world: World,
    viewer: Viewer | None,
    query: str,
    *,
    sort: str | None = None,
    order: str = "desc",
    kind: Kind | None = None,
) -> Sequence[Issue]:
    """Return the issues and pull requests that fit a query, in the order asked for, else best match and newest first.

    Only those are read that are looked at. Asked again, as for the next page, it searches anew once anything changed.

    Raises `InvalidRefusal` for a query past GitHub's limits or with a value that cannot be read, and its
    `UnknownSubjectRefusal` for one that names only people or repositories the viewer cannot see.
    """
    asker = None if viewer is None else (viewer.id, viewer.scopes, viewer.unrestricted, viewer.app and viewer.app.token)
    today = world.database.now()[:10]  # a query may name days from today on
    key = ("search", asker, today, query, sort, order, kind)
    ids = world.database.find_until_change(key, lambda: _search(world, viewer, query, (sort, order), kind))
    return Records(world.database, Issue, ids)


def _search(
    world: World, viewer: Viewer | None, query: str, sort: tuple[str | None, str], kind: Kind | None
) -> tuple[int, ...]:
    parsed = parse(query, KNOWN)
    repositories = find_repositories(world, viewer, parsed.root)
    is_pull = None if kind is None else kind == "pr"
    plain = find_plain(world, parsed, repositories, is_pull=is_pull, sort=_parse_sort(parsed, *sort))
    if plain is not None:
        return plain
    homes = {one.id: one for one in repositories}
    conversations = Conversations(world, homes, viewer)
    candidates = _candidates(world, homes, query, parsed, kind)
    found = [Facts(world, issue, home, conversations) for issue, home in candidates]
    qualifiers = Qualifiers(world, viewer, found)
    fits = compile_query(parsed.root, lambda leaf: _compile_leaf(leaf, qualifiers))
    hits = [facts for facts in found if fits(facts)]
    return tuple(facts.issue.id for facts in _sort_hits(hits, parsed, *sort))


def _compile_leaf(leaf: Leaf, qualifiers: Qualifiers) -> Predicate:
    match leaf:
        case Word(text, within):
            needle = split_words(text)
            fields = [field for field in _FIELDS if not within or field in within] or _FIELDS
            return lambda facts: any(facts.contains(field, needle) for field in fields)
        case Qualifier():
            return qualifiers.compile(leaf)


def _candidates(
    world: World, homes: Mapping[int, Repository], query: str, parsed: Query, kind: Kind | None
) -> list[tuple[Issue, Repository]]:
    equals: dict[str, Any] = {"repository_id": tuple(homes)}
    required: list[str] = []
    for part in required_parts(parsed.root):
        if isinstance(part, Qualifier) and len(part.values) == 1:
            equals |= STATES.get((part.name, part.values[0].lower()), {})
        elif isinstance(part, Word):
            required += (word for word in split_words(part.text) if word.isascii())
    if "linked:" in query.lower():  # it looks at the repositories of all candidates, with or without the words
        required.clear()
    where, values = where_clause(Issue, equals)
    where += f" AND {_HAS_WORD}" * len(required)
    values += (f"%{word}%" for word in required for _ in range(_HAS_WORD.count("?")))
    rows = world.database.select(Issue, f"{where} ORDER BY id", values)
    found = [one for one in rows if kind is None or one.is_pull == (kind == "pr")]
    placed = ((issue, homes[issue.repository_id]) for issue in found)
    return [(issue, home) for issue, home in placed if issue.is_pull or home.has_issues]


# Texts that lack a word even as part of another need not be read. LIKE knows the case of ASCII alone, so texts with
# other letters are kept, and pull requests for the sake of their reviews.
_HAS_WORD = """(
    is_pull
    OR title LIKE ? OR length(title) != length(CAST(title AS BLOB))
    OR body LIKE ? OR length(body) != length(CAST(body AS BLOB))
    OR id IN (
        SELECT issue_id FROM comments
        WHERE comments.body LIKE ? OR length(comments.body) != length(CAST(comments.body AS BLOB))
    )
)"""


def _sort_hits(hits: list[Facts], parsed: Query, sort: str | None, order: str) -> list[Facts]:
    field, direction = _parse_sort(parsed, sort, order)
    key = _KEYS.get(field)
    if key is None and field.startswith("reactions-"):
        content = field.removeprefix("reactions-")
        meant = {"thumbs_up": "+1", "thumbs_down": "-1", "smile": "laugh", "tada": "hooray"}.get(content, content)
        return _sort_by(hits, lambda facts: facts.reactions.count(meant), direction)
    if key is None:
        needles = [split_words(word.text) for word in words(parsed.root)]
        return _sort_by(
            hits,
            lambda facts: (
                sum(facts.contains("title", needle) for needle in needles),
                facts.issue.created_at,
            ),
            "desc",
        )
    return _sort_by(hits, key, direction)


def _parse_sort(parsed: Query, sort: str | None, order: str) -> tuple[str, str]:
    if sort or not parsed.sort:
        return (sort or "best-match").lower(), order.lower()
    written = parsed.sort.lower()
    for direction in ("asc", "desc"):
        if written.endswith(f"-{direction}"):
            return written.removesuffix(f"-{direction}"), direction
    return written, "desc"


def _sort_by(hits: list[Facts], key: Callable[[Facts], object], direction: str) -> list[Facts]:
    def full(facts: Facts) -> tuple[object, int]:
        return key(facts), facts.issue.id

    return sorted(hits, key=full, reverse=direction != "asc")  # pyright: ignore[reportArgumentType] - keys of one field compare


_KEYS: dict[str, Callable[[Facts], object]] = {
    "created": lambda facts: facts.issue.created_at,
    "updated": lambda facts: facts.issue.updated_at,
    "comments": lambda facts: facts.comment_count,
    "reactions": lambda facts: len(facts.reactions),
    "interactions": lambda facts: facts.comment_count + len(facts.reactions),
}
