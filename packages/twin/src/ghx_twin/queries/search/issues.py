"""Searching issues and pull requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ghx_twin.queries.search.facts import Conversations, Facts
from ghx_twin.queries.search.grammar import (
    SCOPES,
    Leaf,
    Qualifier,
    Query,
    Word,
    compile_query,
    parse,
    required_parts,
    words,
)
from ghx_twin.queries.search.matching import split_words
from ghx_twin.queries.search.qualifiers import KNOWN, Predicate, Qualifiers
from ghx_twin.queries.search.scopes import find_repositories
from ghx_twin.state.columns import where_clause
from ghx_twin.state.records import Issue, Repository
from ghx_twin.state.rows import Records
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

Kind = Literal["issue", "pr"]
_FIELDS = ("title", "body", "comments")  # what is quickly read comes first
_STATES: dict[tuple[str, str], dict[str, object]] = {
    ("is", "open"): {"state": "open"},
    ("state", "open"): {"state": "open"},
    ("is", "closed"): {"state": "closed"},
    ("state", "closed"): {"state": "closed"},
    **{(name, "issue"): {"is_pull": False} for name in ("is", "type")},
    **{(name, value): {"is_pull": True} for name in ("is", "type") for value in ("pr", "pull-request")},
}
"""Qualifiers with one value that are a column of an issue."""

_TEXTS = {
    "title": "has_words(issues.title, ?)",
    "body": "has_words(issues.body, ?)",
    # What was said of each issue is looked for once, and not for each candidate.
    "comments": """(
        issues.id IN (SELECT issue_id FROM comments WHERE has_words(comments.body, ?))
        OR issues.id IN (
            SELECT p.issue_id FROM pulls AS p JOIN reviews AS r ON r.pull_id = p.id
            WHERE r.submitted_at IS NOT NULL AND has_words(r.body, ?)
        )
        OR issues.id IN (
            SELECT p.issue_id FROM pulls AS p JOIN reviews AS r ON r.pull_id = p.id
            JOIN review_comments AS c ON c.review_id = r.id
            WHERE r.submitted_at IS NOT NULL AND has_words(c.body, ?)
        )
    )""",
}
_TIMES = {"created": "created_at", "updated": "updated_at"}


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

    Only those are read that are looked at. Asked again, as for the next page, it searches again once anything changed.

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
    plain = _find_plain(world, parsed, repositories, is_pull=is_pull, sort=_parse_sort(parsed, *sort))
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


def _find_plain(
    world: World, parsed: Query, repositories: Sequence[Repository], *, is_pull: bool | None, sort: tuple[str, str]
) -> tuple[int, ...] | None:
    """Return the ids of what fits a query, in the order asked for; None if it asks for more than words and states.

    The database answers these by itself, and most searches are such. `repositories` are those that the scopes
    of the query lead to, `sort` is the field and the direction.
    """
    parts = list(required_parts(parsed.root))
    words = [part for part in parts if isinstance(part, Word)]
    equals: dict[str, object] = {"repository_id": tuple(each.id for each in repositories)}
    if is_pull is not None:
        equals["is_pull"] = is_pull
    for part in (each for each in parts if not isinstance(each, Word)):
        if not isinstance(part, Qualifier) or len(part.values) != 1:
            return None
        column = {} if part.name in SCOPES else _STATES.get((part.name, part.values[0].lower()))
        if column is None or any(equals.get(name, value) != value for name, value in column.items()):
            return None
        equals |= column
    ordering = _order_plain(words, *sort)
    if ordering is None:
        return None
    where, values = where_clause(Issue, equals)
    for word in words:
        fields = [each for each in _TEXTS if not word.within or each in word.within] or list(_TEXTS)
        condition = " OR ".join(_TEXTS[each] for each in fields)
        where += f" AND ({condition})"
        values += (" ".join(split_words(word.text)),) * condition.count("?")
    open_homes = tuple(each.id for each in repositories if each.has_issues)
    where += f" AND (is_pull OR repository_id IN ({', '.join('?' * len(open_homes))}))"
    return world.database.ids(Issue, f"{where} {ordering[0]}", (*values, *open_homes, *ordering[1]))


def _order_plain(words: Sequence[Word], field: str, direction: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the order of the results in SQL, with its values; None if it takes more than columns."""
    if field in _TIMES:
        way = "ASC" if direction == "asc" else "DESC"
        return f"ORDER BY issues.{_TIMES[field]} {way}, issues.id {way}", ()
    if field != "best-match":
        return None
    in_title = " + ".join(["has_words(issues.title, ?)"] * len(words))
    needles = tuple(" ".join(split_words(word.text)) for word in words)
    best = f"{in_title} DESC, " if words else ""
    return f"ORDER BY {best}issues.created_at DESC, issues.id DESC", needles


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
            equals |= _STATES.get((part.name, part.values[0].lower()), {})
        elif isinstance(part, Word):
            required += (word for word in split_words(part.text) if word.isascii())
    if "linked:" in query.lower():  # it looks at the repositories of all candidates, with or without the words
        required.clear()
    where, values = where_clause(Issue, equals)
    where += f" AND {_HAS_WORD}" * len(required)
    values += (f"%{word}%" for word in required for _ in range(_HAS_WORD.count("?")))
    rows = world.database.select(Issue, f"{where} ORDER BY id", values)
    candidates = [one for one in rows if kind is None or one.is_pull == (kind == "pr")]
    placed = ((issue, homes[issue.repository_id]) for issue in candidates)
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
        content_by_order = {"thumbs_up": "+1", "thumbs_down": "-1", "smile": "laugh", "tada": "hooray"}.get(
            content, content
        )
        return _sort_by(hits, lambda facts: facts.reactions.count(content_by_order), direction)
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
