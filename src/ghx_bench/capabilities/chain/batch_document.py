"""Merge several GraphQL documents into one, so that they take one round trip, and take its response apart.

The variables, fragments and top-level fields of each document get a prefix of its own; the fields of the response have
the same prefixes. Only documents as the capabilities write them are understood: one operation, then fragments.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ghx_bench.capabilities.responses import GraphQLResponse

OperationKind = Literal["query", "mutation"]

# A tokenizer of our own: graphql-core alone takes longer to import than everything else that a chain needs.
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
    def kind(self) -> OperationKind:
        """Return the kind of its operation."""
        return "mutation" if self.text.lstrip().startswith("mutation") else "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Renamed:
    """A document with a prefix on all of its names."""

    variables: str
    fields: str
    fragments: str


def merge(documents: Sequence[Document]) -> Document:
    """Return one document for several of the same kind; fields come in the order of the documents."""
    parts = [_rename(document.text, prefix_of(index)) for index, document in enumerate(documents)]
    declared = " ".join(part.variables for part in parts).strip()
    head = f"{documents[0].kind} Chain({declared})" if declared else f"{documents[0].kind} Chain"
    fields, fragments = "\n".join(part.fields for part in parts), "\n".join(part.fragments for part in parts)
    variables = {
        prefix_of(index) + name: value
        for index, document in enumerate(documents)
        for name, value in document.variables.items()
    }
    return Document(text=f"{head} {{\n{fields}\n}}\n{fragments}", variables=variables)


def extract(index: int, response: GraphQLResponse) -> GraphQLResponse:
    """Return the part of the response to a merged document that is about one of its documents, in its own names."""
    prefix = prefix_of(index)
    fields = (response.data or {}).items()
    data = {name.removeprefix(prefix): value for name, value in fields if name.startswith(prefix)}
    errors: list[Mapping[str, Any]] = []
    for error in response.errors:
        first, *rest = error.get("path") or [""]
        if str(first).startswith(prefix):
            errors.append({**error, "path": [str(first).removeprefix(prefix), *rest]})
    # An error without a path may be about any document. Those that lack a value get it; those that have all they asked
    # for succeeded, whatever happened to the others.
    if response.data is None or any(value is None for value in data.values()):
        errors += [error for error in response.errors if not error.get("path")]
    return GraphQLResponse(data=None if response.data is None else data, errors=errors)


def prefix_of(index: int) -> str:
    """Return the prefix of the names of a document."""
    return f"s{index}_"


def _rename(text: str, prefix: str) -> _Renamed:
    tokens: list[str] = _TOKEN.findall(text)
    # What the tokenizer cannot tell from code (comments, block strings) is refused rather than renamed by mistake.
    if tokens[:1] not in (["query"], ["mutation"]) or "#" in tokens or '"""' in text:
        raise NotMergeableError(text)
    opened = _find(tokens, "{")
    closed = _find_end(tokens, opened)
    head = tokens[:opened]
    if "@" in head:  # a directive of the whole operation would apply to the other documents, too
        raise NotMergeableError(text)
    declared = head[head.index("(") + 1 : -1] if "(" in head else []
    return _Renamed(
        variables=" ".join(_prefix_names(declared, prefix)),
        fields=" ".join(_alias_fields(_prefix_names(tokens[opened + 1 : closed], prefix), prefix)),
        fragments=" ".join(_prefix_names(tokens[closed + 1 :], prefix)),
    )


def _prefix_names(tokens: Sequence[str], prefix: str) -> list[str]:
    """Put the prefix on variables and on the names of fragments, where they are declared and where they are used."""
    renamed: list[str] = []
    before = ""
    for word in tokens:
        is_fragment = before in {"...", "fragment"} and word != "on" and _NAME.fullmatch(word)
        renamed.append(prefix + word if before == "$" or is_fragment else word)
        before = word
    return renamed


def _alias_fields(tokens: Sequence[str], prefix: str) -> list[str]:
    """Give every field of the operation an alias that begins with the prefix."""
    aliased: list[str] = []
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token in _OPENING) - (token in _CLOSING)
        # The fields of a fragment, or under a directive, come back under names that are not known here.
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


def _find(tokens: Sequence[str], wanted: str) -> int:
    """Return the index of the first `wanted` outside of all brackets."""
    depth = 0
    for index, token in enumerate(tokens):
        if depth == 0 and token == wanted:
            return index
        depth += (token in _OPENING) - (token in _CLOSING)
    raise NotMergeableError(" ".join(tokens))


def _find_end(tokens: Sequence[str], opened: int) -> int:
    """Return the index of the brace that closes the one at `opened`."""
    depth = 0
    for index in range(opened, len(tokens)):
        depth += (tokens[index] in _OPENING) - (tokens[index] in _CLOSING)
        if depth == 0:
            return index
    raise NotMergeableError(" ".join(tokens))
