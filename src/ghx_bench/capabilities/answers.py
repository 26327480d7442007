"""What GitHub answers, read: as the answer that it is, or as the refusal that it is."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ghx_bench.capabilities.errors import ErrorCode, GitHubError, UnexpectedAnswerError
from ghx_bench.capabilities.refusals import graphql_refusal, redirection, refusal_of

Json = Any
"""A value of JSON as it came: what reads it, a model, says what it must be."""

_FIRST_REDIRECT = 300
_PASSING = frozenset({ErrorCode.RATE_LIMIT, ErrorCode.SERVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the REST API that is no refusal."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def data(self) -> Json:
        """Return the JSON of this answer; `None` if it has no content."""
        if not self.content:
            return None
        try:
            return json.loads(self.content)
        except ValueError:
            raise UnexpectedAnswerError(f"GitHub's answer with status {self.status} is not JSON") from None

    @property
    def text(self) -> str:
        """Return the text of this answer; what is not UTF-8 in it is replaced."""
        return self.content.decode("utf-8", "replace")

    @property
    def next_url(self) -> str | None:
        """Return the address of the next page, if there is one."""
        for link in self.headers.get("link", "").split(","):
            address, _, relation = link.partition(";")
            if 'rel="next"' in relation:
                return address.strip().removeprefix("<").removesuffix(">")
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQLAnswer:
    """What a GraphQL document came to: data, errors, or some of both."""

    data: Mapping[str, Json] | None
    errors: Sequence[Mapping[str, Json]] = ()

    @property
    def is_refusal(self) -> bool:
        """Whether nothing at all was done: no field has a value, and no error is about a single one."""
        has_value = any(value is not None for value in (self.data or {}).values())
        return bool(self.errors) and not has_value and not any(error.get("path") for error in self.errors)


def read_rest(answer: Answer) -> Answer:
    """Return an answer that is no refusal; one that only says where to ask is none to what was asked."""
    if answer.status < _FIRST_REDIRECT:
        return answer
    refusal = refusal_of(answer.status, answer.headers, _json_or_none(answer))
    raise refusal or redirection(answer.status, answer.headers)


def read_graphql(answer: Answer, *, redacted: Callable[[bytes], bytes], mutates: bool) -> GraphQLAnswer:
    """Read what a document came to; what passes, such as a rate limit, is raised if it concerns the whole of it.

    Where something was changed before the limit was reached, what was changed is told, and the limit beside it.
    """
    body: object = read_rest(answer).data
    said = cast("Mapping[str, Json]", body if isinstance(body, dict) else {"errors": "no object"})
    data: object = said.get("data")
    errors: object = said.get("errors") or ()
    if not isinstance(errors, list | tuple) or not isinstance(data, dict | None):
        raise UnexpectedAnswerError("GitHub answered a GraphQL document with something that is no answer to one")
    told = [cast("Mapping[str, Json]", each) for each in cast("Sequence[object]", errors) if isinstance(each, dict)]
    shown = cast("list[Mapping[str, Json]]", json.loads(redacted(json.dumps(told).encode())))
    read = GraphQLAnswer(data=cast("Mapping[str, Json] | None", data), errors=shown)
    passing = _passing(read, answer.headers)
    if passing is not None and (read.is_refusal or (passing.error_code == ErrorCode.RATE_LIMIT and not mutates)):
        raise passing
    return read


def _passing(read: GraphQLAnswer, headers: Mapping[str, str]) -> GitHubError | None:
    """Return what may go well when it is asked again, if that is the first thing that went wrong."""
    refusal = graphql_refusal(read.errors, headers) if read.errors else None
    return refusal if refusal is not None and refusal.error_code in _PASSING else None


def _json_or_none(answer: Answer) -> object:
    try:
        return answer.data
    except UnexpectedAnswerError:
        return None
