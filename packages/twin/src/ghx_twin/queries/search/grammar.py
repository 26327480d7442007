"""GitHub's search language: words, phrases, qualifiers, AND, OR, NOT, `-` and parentheses.

```
query     = { either } ;                             side by side: all of them
either    = both { "OR" both } ;                     so `is:open a OR b` is open, and either a or b
both      = one { "AND" one } ;
one       = ("NOT" | "-") one | "(" query ")" | qualifier | word | phrase ;
qualifier = name ":" value { "," value } ;           a name that is not known makes it a word
```

Nothing a user can type fails to parse: brackets that do not match are closed or left out, operators without operands
are dropped. Only what GitHub itself limits is refused.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, assert_never

from ghx_twin.refusals import FieldError, InvalidRefusal

LONGEST_TEXT = 256  # of the words; qualifiers do not count
DEEPEST = 20
LONGEST_QUERY = 8000
SCOPES = frozenset({"repo", "user", "org"})  # several of them widen a search instead of narrowing it
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<open>\()
    |(?P<close>\))
    |(?P<minus>-)(?=\()
    |(?P<qualifier>-?[A-Za-z][A-Za-z-]*:(?:"(?:[^"\\]|\\.)*(?:"|\Z)|[^\s"()])+)
    |(?P<phrase>-?"(?:[^"\\]|\\.)*(?:"|\Z))
    |(?P<word>[^\s()"]+|")""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS: dict[str, Literal["AND", "OR", "NOT"]] = {"AND": "AND", "OR": "OR", "NOT": "NOT"}
_VALUE = re.compile(r'"((?:[^"\\]|\\.)*)(?:"|\Z)|([^,"]+)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """A word or phrase to be found in a text; `within` says in which, None in any."""

    text: str
    within: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Qualifier:
    """A property with the values it may have."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A part that must not hold."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class All:
    """Parts that must all hold; an empty one always does."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Alternatives."""

    parts: tuple["Node", ...]


Node = Word | Qualifier | Not | All | Either
Leaf = Word | Qualifier
Mark = Literal["(", ")", "AND", "OR", "NOT"]
Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: what to find, and the order asked for by `sort:`."""

    root: Node
    sort: str | None = None


def parse(text: str, qualifiers: Collection[str]) -> Query:
    """Parse a query in which these qualifiers are known; refuses one past GitHub's limits."""
    if len(text) > LONGEST_QUERY:
        raise query_refusal(f"The search is longer than {LONGEST_TEXT} characters.")
    tokens = list(_tokens(text, {*qualifiers, "sort", "in"}))
    orders = [token.values[0] for token in tokens if isinstance(token, Qualifier) and token.name == "sort"]
    root = _Parser(tokens).query()
    if sum(len(word.text) for word in words(root)) > LONGEST_TEXT:
        raise query_refusal(f"The search is longer than {LONGEST_TEXT} characters.")
    return Query(root, orders[-1] if orders else None)


def compile_query(node: Node, leaf: Callable[[Leaf], Callable[[Subject], bool]]) -> Callable[[Subject], bool]:
    """Return the predicate of a query; `leaf` compiles words and qualifiers."""
    match node:
        case Word() | Qualifier():
            return leaf(node)
        case Not(part):
            inner = compile_query(part, leaf)
            return lambda subject: not inner(subject)
        case All(parts):
            predicates = [compile_query(part, leaf) for part in parts]
            return lambda subject: all(holds(subject) for holds in predicates)
        case Either(parts):
            predicates = [compile_query(part, leaf) for part in parts]
            return lambda subject: any(holds(subject) for holds in predicates)
        case _:
            assert_never(node)


def words(node: Node) -> Iterator[Word]:
    """Yield every word that must or must not be found."""
    match node:
        case Word():
            yield node
        case Qualifier():
            return
        case Not(part):
            yield from words(part)
        case All(parts) | Either(parts):
            for part in parts:
                yield from words(part)
        case _:
            assert_never(node)


def qualifiers(node: Node) -> Iterator[Qualifier]:
    """Yield every qualifier, wherever it stands."""
    match node:
        case Qualifier():
            yield node
        case Word():
            return
        case Not(part):
            yield from qualifiers(part)
        case All(parts) | Either(parts):
            for part in parts:
                yield from qualifiers(part)
        case _:
            assert_never(node)


def required_parts(node: Node) -> Iterator[Node]:
    """Yield the parts that every result must meet, so that a search can start from fewer candidates."""
    if isinstance(node, All):
        for part in node.parts:
            yield from required_parts(part)
    elif isinstance(node, Either) and len(node.parts) == 1:
        yield from required_parts(node.parts[0])
    else:
        yield node


def query_refusal(message: str) -> InvalidRefusal:
    """Return the refusal of a query."""
    return InvalidRefusal(errors=(FieldError(resource="Search", field="q", code="invalid", message=message),))


def _tokens(text: str, qualifiers: Collection[str]) -> Iterator[Mark | Leaf]:
    for match in _TOKEN.finditer(text):
        written = match.group()
        match match.lastgroup:
            case "open":
                yield "("
            case "close":
                yield ")"
            case "minus":
                yield "NOT"
            case "qualifier" | "phrase" | "word":
                yield from _leaf_tokens(written, match.lastgroup, qualifiers)
            case _:
                pass


def _leaf_tokens(written: str, kind: str, qualifiers: Collection[str]) -> Iterator[Mark | Leaf]:
    if kind == "word" and written in _OPERATORS:
        yield _OPERATORS[written]
        return
    bare = written[1:] if written.startswith("-") and len(written) > 1 else written
    if bare is not written:
        yield "NOT"
    name, _, rest = bare.partition(":")
    if kind == "qualifier" and name.lower() in qualifiers:
        yield Qualifier(name.lower(), tuple(_values(rest)))
    else:
        phrase = _ESCAPED.sub(r"\1", bare.removeprefix('"').removesuffix('"'))
        yield Word(phrase if kind == "phrase" else bare.replace('"', " "))


def _values(text: str) -> Iterator[str]:
    for match in _VALUE.finditer(text):
        value = _ESCAPED.sub(r"\1", match[1]) if match[1] is not None else match[2]
        if value.strip():
            yield value.strip()


class _Parser:
    def __init__(self, tokens: list[Mark | Leaf]) -> None:
        self._tokens, self._at = tokens, 0

    def query(self) -> Node:
        parts: list[Node] = []
        while self._peek() is not None:
            parts += self._side_by_side(0)
            self._at += 1  # past a bracket that closes nothing, or the end
        return _conjunction(parts)

    def _side_by_side(self, depth: int) -> list[Node]:
        if depth > DEEPEST:
            raise query_refusal("The search has too many levels of parentheses.")
        parts: list[Node] = []
        while self._peek() not in {None, ")"}:
            parts += self._either(depth)
        return parts

    def _either(self, depth: int) -> list[Node]:
        alternatives = [self._both(depth)]
        while self._peek() == "OR":
            self._at += 1
            alternatives.append(self._both(depth))
        nodes = [one for one in alternatives if one]
        return [Either(tuple(_conjunction(one) for one in nodes))] if len(nodes) > 1 else [*nodes[0]] if nodes else []

    def _both(self, depth: int) -> list[Node]:
        parts = self._one(depth)
        while self._peek() == "AND":
            self._at += 1
            parts += self._one(depth)
        return parts

    def _one(self, depth: int) -> list[Node]:
        negated = False
        while self._peek() == "NOT":
            negated = not negated
            self._at += 1
        following = self._peek()
        if isinstance(following, Word | Qualifier):
            self._at += 1
            part: Node = following
        elif following == "(":
            self._at += 1
            part = _conjunction(self._side_by_side(depth + 1))
            self._at += self._peek() == ")"
        else:
            return []
        if part == All(()) or (isinstance(part, Qualifier) and part.name in ({"sort", "in"} if negated else {"sort"})):
            return []
        return [Not(part) if negated else part]

    def _peek(self) -> Mark | Leaf | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None


def _conjunction(parts: list[Node]) -> Node:
    # Side by side, `in:` narrows where words are looked for, and several scopes (`repo:a repo:b`) widen the search.
    qualifiers = [part for part in parts if isinstance(part, Qualifier)]
    fields = frozenset(value.lower() for one in qualifiers if one.name == "in" for value in one.values)
    scopes = tuple(one for one in qualifiers if one.name in SCOPES and one.values)
    rest = [part for part in parts if not (isinstance(part, Qualifier) and part.name in {*SCOPES, "in"})]
    placed = [_restrict_to_fields(part, fields) if fields else part for part in rest]
    everything = [*placed, *((Either(scopes),) if scopes else ())]
    return everything[0] if len(everything) == 1 else All(tuple(everything))


def _restrict_to_fields(node: Node, fields: frozenset[str]) -> Node:
    match node:
        case Word():
            return node if node.within is not None else replace(node, within=fields)
        case Qualifier():
            return node
        case Not(part):
            return Not(_restrict_to_fields(part, fields))
        case All(parts):
            return All(tuple(_restrict_to_fields(part, fields) for part in parts))
        case Either(parts):
            return Either(tuple(_restrict_to_fields(part, fields) for part in parts))
        case _:
            assert_never(node)
