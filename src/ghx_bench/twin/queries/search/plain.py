"""Issue searches for words and states alone, which the database answers by itself: most searches are such."""

from collections.abc import Sequence

from ghx_bench.twin.queries.search.grammar import SCOPES, Qualifier, Query, Word, required_parts
from ghx_bench.twin.queries.search.matching import split_words
from ghx_bench.twin.state.columns import where_clause
from ghx_bench.twin.state.records import Issue, Repository
from ghx_bench.twin.world import World

STATES: dict[tuple[str, str], dict[str, object]] = {
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


def find_plain(
    world: World, parsed: Query, repositories: Sequence[Repository], *, is_pull: bool | None, sort: tuple[str, str]
) -> tuple[int, ...] | None:
    """Return the ids of what fits a query, in the order asked for; None if the query asks for more than is plain.

    `repositories` are those that the scopes of the query lead to, `sort` is the field and the direction.
    """
    parts = list(required_parts(parsed.root))
    words = [part for part in parts if isinstance(part, Word)]
    equals: dict[str, object] = {"repository_id": tuple(each.id for each in repositories)}
    if is_pull is not None:
        equals["is_pull"] = is_pull
    for part in (each for each in parts if not isinstance(each, Word)):
        if not isinstance(part, Qualifier) or len(part.values) != 1:
            return None
        column = {} if part.name in SCOPES else STATES.get((part.name, part.values[0].lower()))
        if column is None or any(equals.get(name, value) != value for name, value in column.items()):
            return None
        equals |= column
    ordering = _ordering(words, *sort)
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


def _ordering(words: Sequence[Word], field: str, direction: str) -> tuple[str, tuple[str, ...]] | None:
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
