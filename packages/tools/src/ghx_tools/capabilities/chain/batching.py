"""Send the GraphQL documents of several steps in one round trip.

Steps run as tasks, each with a client of its own. A document waits until every running step waits for a response; then
the documents that wait go out merged: the variables, fragments and top-level fields of each get a prefix of its own,
and the fields of the response have the same prefixes. Only documents as the capabilities write them are understood:
one operation, then fragments.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self, cast

import anyio

from ghx_tools.capabilities.client import JSON, MAY_BE_DONE, FindExisting, GitHubClient
from ghx_tools.capabilities.errors import CapabilityError, ErrorCode, GitHubError
from ghx_tools.capabilities.responses import GraphQLResponse
from ghx_tools.capabilities.transports.exchange import Request, Response

MOST_TOGETHER = 25
"""How many documents go out as one at most; GitHub gives up on what takes it longer than ten seconds."""

_MOST_AT_ONCE = 8

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


@dataclass(slots=True, kw_only=True)
class _PendingDocument:
    """A document whose response a step waits for."""

    step: int
    document: Document
    is_done: anyio.Event = field(default_factory=anyio.Event)
    outcome: GraphQLResponse | CapabilityError | None = None


class Batcher:
    """Runs steps as tasks and sends their documents together; a scope, which ends when all steps are done.

    A step is active while it may still come up with a document: it is neither done nor waiting for a response. When no
    step is active, the documents that wait are sent, queries first: changes then go out in the order of their steps.
    """

    def __init__(self, client: GitHubClient) -> None:
        self.client = client
        self.requests = 0
        self._tasks = anyio.create_task_group()
        self._active = 0
        self._pending: list[_PendingDocument] = []
        self._connections = anyio.CapacityLimiter(_MOST_AT_ONCE)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._tasks.__aexit__(kind, error, traceback)

    def start(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run a step next to the others; their documents wait for its own."""
        # Counted here and not in the task: otherwise a batch could go out before a started step gets to run.
        self._active += 1

        async def run() -> None:
            await step()
            self._deactivate_step()

        self._tasks.start_soon(run)

    def make_client(self, step: int) -> GitHubClient:
        """Return the client of a step, whose documents are sent together with those of other steps."""
        return _StepClient(self, step)

    async def send(self, step: int, document: Document) -> GraphQLResponse:
        """Return the response to a document that goes out with those of other steps."""
        pending = _PendingDocument(step=step, document=document)
        self._pending.append(pending)
        self._deactivate_step()
        await pending.is_done.wait()  # `_send_batch` has counted this step as active again
        if isinstance(pending.outcome, CapabilityError):
            raise pending.outcome
        return cast("GraphQLResponse", pending.outcome)

    async def send_alone(self, send: Callable[[], Awaitable[Response]]) -> Response:
        """Return the response to a request that cannot be merged with others, as none of REST can."""
        self.requests += 1
        # Documents do not wait for it: a slow download would hold up every other step.
        self._deactivate_step()
        try:
            async with self._connections:
                return await send()
        finally:
            self._active += 1

    def _deactivate_step(self) -> None:
        """Count one step less as active; if it was the last one, send the documents that wait."""
        self._active -= 1
        if self._active or not self._pending:
            return
        kinds = {pending.document.kind for pending in self._pending}
        kind: OperationKind = "query" if "query" in kinds else "mutation"
        chosen = sorted((each for each in self._pending if each.document.kind == kind), key=lambda each: each.step)
        self._pending = [each for each in self._pending if each.document.kind != kind] + chosen[MOST_TOGETHER:]
        self._tasks.start_soon(self._send_batch, chosen[:MOST_TOGETHER])

    async def _send_batch(self, batch: Sequence[_PendingDocument]) -> None:
        try:
            outcomes = await self._send_merged([pending.document for pending in batch])
        except CapabilityError as error:
            outcomes = [error] * len(batch)
        # All at once, before the first of them wakes up: otherwise its next document would go out without the others.
        self._active += len(batch)
        for pending, outcome in zip(batch, outcomes, strict=True):
            pending.outcome = outcome
            pending.is_done.set()

    async def _send_merged(self, documents: Sequence[Document]) -> Sequence[GraphQLResponse | CapabilityError]:
        if len(documents) == 1:
            return [await self._send_document(documents[0])]
        try:
            whole = merge(documents)
        except NotMergeableError:
            return await self._send_one_by_one(documents)
        try:
            response = await self._send_document(whole)
        except GitHubError as error:
            if whole.kind == "query" and error.error_code == ErrorCode.SERVER and error.status is None:
                # GitHub gave up on it, as it does after ten seconds: each by itself may be quick enough.
                return await self._send_one_by_one(documents)
            raise
        if _must_be_split(whole.kind, response):
            return await self._send_one_by_one(documents)
        return [extract(index, response) for index in range(len(documents))]

    async def _send_one_by_one(self, documents: Sequence[Document]) -> list[GraphQLResponse | CapabilityError]:
        """Send documents one after the other, so that a bad one fails alone."""
        outcomes: list[GraphQLResponse | CapabilityError] = []
        for document in documents:
            try:
                outcomes.append(await self._send_document(document))
            except CapabilityError as error:
                outcomes.append(error)
        return outcomes

    async def _send_document(self, document: Document) -> GraphQLResponse:
        self.requests += 1
        return await self.client.graphql_response(document.text, document.variables)


def _must_be_split(kind: OperationKind, response: GraphQLResponse) -> bool:
    """Return whether merged documents have to be sent one by one, since one of them cost all the others their data."""
    if kind == "query":
        return response.data is None or any(not error.get("path") for error in response.errors)
    # A change must not be made twice, so mutations are sent again only if GitHub began none of them. Complaints about
    # the document itself say so: they have `extensions`, and neither a path nor a type. No data without any error says
    # nothing about what was done.
    return (
        response.data is None
        and bool(response.errors)
        and all(
            isinstance(error.get("extensions"), dict) and not error.get("path") and not error.get("type")
            for error in response.errors
        )
    )


class _StepClient(GitHubClient):
    """The client that a step gets: its GraphQL goes through the batcher, everything else straight on."""

    def __init__(self, batcher: Batcher, step: int) -> None:
        client = batcher.client
        # Without the token and with a transport that refuses: a request that did not go through the batcher's client
        # would not be counted, and would not share its limits.
        super().__init__(
            client.base_url, None, graphql_url=client.graphql_url, transport=_NoTransport(), clock=client.clock
        )
        self._batcher, self._step = batcher, step

    @property
    def has_token(self) -> bool:
        """Return whether requests carry a token."""
        return self._batcher.client.has_token

    async def graphql_response(
        self, document: str, variables: Mapping[str, Any] | None = None, *, find_existing: FindExisting | None = None
    ) -> GraphQLResponse:
        """Send a document together with those of other steps."""
        document_request = Document(text=document, variables=variables or {})
        try:
            return await self._batcher.send(self._step, document_request)
        except CapabilityError as error:
            if find_existing is None or MAY_BE_DONE not in error.details:
                raise
        answer = await find_existing()
        return (
            await self._batcher.send(self._step, document_request) if answer is None else GraphQLResponse(data=answer)
        )

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        accept: str = JSON,
    ) -> Response:
        ask = self._batcher.client._ask  # noqa: SLF001 - of its own kind
        return await self._batcher.send_alone(partial(ask, method, path, params=params, body=body, accept=accept))


class _NoTransport:
    """A transport that is never used."""

    async def send(self, request: Request, *, patience_s: float) -> Response:
        """Raise `AssertionError`."""
        raise AssertionError(request.url, patience_s)

    async def aclose(self) -> None:
        """Close nothing."""


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


def _find(tokens: Sequence[str], value: str) -> int:
    """Return the index of the first `wanted` outside of all brackets."""
    depth = 0
    for index, token in enumerate(tokens):
        if depth == 0 and token == value:
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
