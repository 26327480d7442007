"""Requests for every REST operation as a hostile or careless client might make them."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from ghx_twin import rest
from ghx_twin.rest.operation import Operation

_READS = re.compile(
    r"\.(?:text|required_text|choice|flag|integer|required_integer|items|texts|nested|objects|require|get)"
    r"\(\s*((?:\"\w+\"(?:,\s*)?)+)"
)
INJECTIONS = (
    "'; DROP TABLE issues; --",
    '" OR 1=1 --',
    "1) UNION SELECT token FROM tokens --",
    "x' AND randomblob(1000000000) --",
    "%' ESCAPE '",
    "\\",
)
TRAVERSALS = ("..", ".", "../../etc/passwd", "..\\..", "/etc/passwd", ".git", ".GIT/config", "a//b", "a/../../b", "-rf")
NASTY = (
    *INJECTIONS,
    *TRAVERSALS,
    "",
    " ",
    "\0",
    "a\0b",
    "\n",
    "\r\nX-Evil: 1",
    "a" * 5000,
    "\uff19",
    "-1",
    "0",
    "NaN",
    "1e9",
)
WORDS = (
    "open", "closed", "all", "main", "feature/x", "bug", "ann", "bob", "eve", "acme", "widgets", "src/app.py",
    "APPROVE", "COMMENT", "heart",
    "squash", "RIGHT", "2026-01-01T00:00:00Z", "100644", "blob", "success", "aGVsbG8=", "base64",
    "refs/heads/main", "refs/heads/new", "acme:feature/x", "repo:acme/widgets is:open", "asc", "updated",
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from(WORDS), st.sampled_from(NASTY), st.text(max_size=12))
NUMBERS = st.one_of(st.integers(-2, 12), st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30]))
MEDIA = st.sampled_from([
    "", "*/*", "application/json", "application/vnd.github+json", "application/vnd.github.raw", "image/png",
    "application/vnd.github.v3.diff", "application/vnd.github.v3.patch", "application/vnd.github.full+json", ";;,q=",
    "application/vnd.github.sha", "application/vnd.github.object+json", "application/vnd.github.text-match+json",
])  # fmt: skip


@cache
def known_names() -> tuple[str, ...]:
    """Return every name that a handler looks for in a body or a query string, as its source says."""
    folder = Path(rest.__file__).parent
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for group in _READS.findall(path.read_text()):
            found.update(re.findall(r"\w+", group))
    return tuple(sorted(found))


def paths(operation: Operation, known: Iterable[object]) -> st.SearchStrategy[bytes]:
    """Fill a template with names that exist, names that do not, and names that nothing may have."""
    somewhere = st.sampled_from([str(value) for value in known])
    values = st.one_of(somewhere, TEXTS, NUMBERS.map(str))
    repository = st.one_of(
        st.just(("acme", "widgets")), st.sampled_from([("eve", "widgets"), ("ann", "empty")]), st.tuples(values, values)
    )

    def filled(drawn: tuple[tuple[str, str], list[str]]) -> bytes:
        (owner, name), rest = drawn
        given = iter(rest)
        named = {"owner": owner, "repo": name}
        segments = [
            quote(named.get(part[1:-1]) or next(given), safe="") if part.startswith("{") else part
            for part in operation.template.split("/")
        ]
        return "/".join(segments).encode()

    return st.tuples(repository, st.lists(values, min_size=6, max_size=6)).map(filled)


def values() -> st.SearchStrategy[Any]:
    """Make JSON: what bodies hold, and what they should not."""
    leaves = st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(allow_nan=False), TEXTS)
    names = st.one_of(st.sampled_from(known_names()), st.text(max_size=5))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
        max_leaves=8,
    )


def bodies() -> st.SearchStrategy[Any]:
    """Make bodies that are mostly objects with names that some handler reads."""
    return st.one_of(st.dictionaries(st.sampled_from(known_names()), values(), max_size=8), values())


def queries() -> st.SearchStrategy[dict[str, str]]:
    """Make query strings with names that some handler reads."""
    return st.dictionaries(st.sampled_from(known_names()), st.one_of(TEXTS, NUMBERS.map(str)), max_size=4)
