"""Several GraphQL documents as one, so that they take one round trip.

Every document keeps to itself: its variables, its fragments and its fields get a prefix of their own, and what comes
back is told apart by it. Only documents as the capabilities write them are understood: one operation, then fragments.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ghx_bench.capabilities.answers import GraphQLAnswer

Kind = Literal["query", "mutation"]

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\.\.\.|-?\d+(?:\.\d+)?|\w+|\S')
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPENING, _CLOSING = frozenset("({["), frozenset(")}]")


class NotMergeableError(Exception):
    """A document is written in a way that this module does not understand; it has to be sent by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A GraphQL document and its variables."""

    text: str
    variables: Mapping[str, Any]

    @property
    def kind(self) -> Kind:
        """Return whether it changes something."""
        return "mutation" if self.text.lstrip().startswith("mutation") else "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Renamed:
    """A document with a prefix on all of its names."""

    variables: str
    fields: str
    fragments: str


def merged(documents: Sequence[Document]) -> Document:
    """Make one document of several of the same kind; fields come in the order of the documents."""
    parts = [_renamed(document.text, prefix_of(index)) for index, document in enumerate(documents)]
    declared = " ".join(part.variables for part in parts).strip()
    head = f"{documents[0].kind} Chain({declared})" if declared else f"{documents[0].kind} Chain"
    fields, fragments = "\n".join(part.fields for part in parts), "\n".join(part.fragments for part in parts)
    variables = {
        prefix_of(index) + name: value
        for index, document in enumerate(documents)
        for name, value in document.variables.items()
    }
    return Document(text=f"{head} {{\n{fields}\n}}\n{fragments}", variables=variables)


def share_of(index: int, answer: GraphQLAnswer) -> GraphQLAnswer:
    """Return what a merged answer says about one of the documents, in its own names; where all have none, no data."""
    prefix = prefix_of(index)
    data = {name.removeprefix(prefix): value for name, value in (answer.data or {}).items() if name.startswith(prefix)}
    errors = [_own(error, prefix) for error in answer.errors if _is_about(error, prefix)]
    if answer.data is None or any(value is None for value in data.values()):
        errors += [error for error in answer.errors if not error.get("path")]
    return GraphQLAnswer(data=None if answer.data is None else data, errors=errors)


def prefix_of(index: int) -> str:
    """Return what the names of a document begin with."""
    return f"s{index}_"


def _is_about(error: Mapping[str, Any], prefix: str) -> bool:
    path = error.get("path")
    return bool(path) and str(path[0]).startswith(prefix)


def _own(error: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    first, *rest = error["path"]
    return {**error, "path": [str(first).removeprefix(prefix), *rest]}


def _renamed(text: str, prefix: str) -> _Renamed:
    tokens: list[str] = _TOKEN.findall(text)
    if tokens[:1] not in (["query"], ["mutation"]) or "#" in tokens or '"""' in text:
        raise NotMergeableError(text)
    opened = _first(tokens, "{")
    closed = _end(tokens, opened)
    head = tokens[:opened]
    if "@" in head:
        raise NotMergeableError(text)
    declared = head[head.index("(") + 1 : -1] if "(" in head else []
    return _Renamed(
        variables=" ".join(_prefixed(declared, prefix)),
        fields=" ".join(_aliased(_prefixed(tokens[opened + 1 : closed], prefix), prefix)),
        fragments=" ".join(_prefixed(tokens[closed + 1 :], prefix)),
    )


def _prefixed(tokens: Sequence[str], prefix: str) -> list[str]:
    """Put the prefix on variables and on the names of fragments, where they are declared and where they are used."""
    renamed: list[str] = []
    before = ""
    for word in tokens:
        is_fragment = before in {"...", "fragment"} and word != "on" and _NAME.fullmatch(word)
        renamed.append(prefix + word if before == "$" or is_fragment else word)
        before = word
    return renamed


def _aliased(tokens: Sequence[str], prefix: str) -> list[str]:
    """Give every field of the operation an alias that begins with the prefix."""
    aliased: list[str] = []
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token in _OPENING) - (token in _CLOSING)
        if depth == 0 and token in {"...", "@"}:
            raise NotMergeableError(" ".join(tokens))
        is_name = depth == 0 and _NAME.fullmatch(token) and tokens[index - 1 : index] != [":"]
        if not is_name:
            aliased.append(token)
        elif tokens[index + 1 : index + 2] == [":"]:
            aliased.append(prefix + token)
        else:
            aliased += [prefix + token, ":", token]
    return aliased


def _first(tokens: Sequence[str], wanted: str) -> int:
    """Return where the first `wanted` is that is in no parentheses."""
    depth = 0
    for index, token in enumerate(tokens):
        if depth == 0 and token == wanted:
            return index
        depth += (token in _OPENING) - (token in _CLOSING)
    raise NotMergeableError(" ".join(tokens))


def _end(tokens: Sequence[str], opened: int) -> int:
    """Return where the brace is closed that is opened at an index."""
    depth = 0
    for index in range(opened, len(tokens)):
        depth += (tokens[index] in _OPENING) - (tokens[index] in _CLOSING)
        if depth == 0:
            return index
    raise NotMergeableError(" ".join(tokens))
