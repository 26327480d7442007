"""The one way to GitHub: REST and GraphQL at one address, with one token, errors told apart and retried where safe."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from urllib.parse import quote, urlencode, urljoin, urlsplit

import anyio

from ghx_bench._base.clock import Clock, SystemClock
from ghx_bench.capabilities.errors import CapabilityError, UnexpectedAnswerError, UnreachableError
from ghx_bench.capabilities.refusals import graphql_refusal, refusal_of
from ghx_bench.capabilities.retries import RetryPolicy
from ghx_bench.capabilities.transports.choice import transport_for
from ghx_bench.capabilities.transports.exchange import Request, Response, Transport

T = TypeVar("T")

Json = Any
"""A value of JSON as it came: what reads it, a model, says what it must be."""

JSON = "application/vnd.github+json"
"""The media type that GitHub answers in unless asked for another."""

_API_VERSION = "2022-11-28"
_READING = frozenset({"GET", "HEAD"})
_MOVED = frozenset({301, 302, 303, 307, 308})
_FIRST_FAILURE = 400
_RATE_LIMITED = frozenset({"RATE_LIMITED", "RATE_LIMIT"})
_MOST_MOVES = 4
_MOST_PAGES = 100


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


class GitHubClient:
    """Asks one GitHub, as one user: `async with GitHubClient(url, token) as client:`.

    `base_url` is where the REST API is (`https://api.github.com`, `https://HOST/api/v3`, a local server); GraphQL is
    beside it unless `graphql_url` says otherwise. The token goes to these two only and appears nowhere else: not in
    an error, not in a representation. A request that takes longer than `patience_s` counts as unanswered.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None,
        *,
        graphql_url: str | None = None,
        transport: Transport | None = None,
        retries: RetryPolicy | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        patience_s: float = 60.0,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.graphql_url = graphql_url or graphql_url_beside(self.base_url)
        self.clock = clock or SystemClock()
        self._token = token
        self._transport = transport or transport_for(self.base_url)
        self._retries = retries or RetryPolicy()
        self._sleep = sleep
        self._patience_s = patience_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self._transport.aclose()

    @property
    def has_token(self) -> bool:
        """Whether this client says who it is."""
        return bool(self._token)

    async def get(self, path: str, *, params: Mapping[str, str | int] | None = None, accept: str = JSON) -> Answer:
        """Read something of the REST API; `path` as `rest_path` makes it."""
        return await self._ask("GET", path, params=params, accept=accept)

    async def post(self, path: str, body: Mapping[str, Json] | None = None) -> Answer:
        """Make something with the REST API."""
        return await self._ask("POST", path, body=body)

    async def patch(self, path: str, body: Mapping[str, Json]) -> Answer:
        """Change something with the REST API."""
        return await self._ask("PATCH", path, body=body)

    async def put(self, path: str, body: Mapping[str, Json] | None = None) -> Answer:
        """Set something with the REST API."""
        return await self._ask("PUT", path, body=body)

    async def delete(self, path: str, body: Mapping[str, Json] | None = None) -> Answer:
        """Remove something with the REST API."""
        return await self._ask("DELETE", path, body=body)

    async def pages(self, path: str, *, params: Mapping[str, str | int] | None = None) -> AsyncGenerator[Answer]:
        """Read a list of the REST API page by page, as far as it goes (a hundred pages at most)."""
        answer = await self.get(path, params={"per_page": 100, **(params or {})})
        for _ in range(_MOST_PAGES):
            yield answer
            if answer.next_url is None:
                return
            answer = await self.get(answer.next_url)

    async def graphql(self, document: str, variables: Mapping[str, Json] | None = None) -> Mapping[str, Json]:
        """Return the data of a GraphQL document; any error in the answer is raised, the first one first."""
        answer = await self.graphql_answer(document, variables)
        if answer.errors:
            raise graphql_refusal(answer.errors)
        if answer.data is None:
            raise UnexpectedAnswerError("GitHub answered a GraphQL document with neither data nor errors")
        return answer.data

    async def graphql_answer(self, document: str, variables: Mapping[str, Json] | None = None) -> GraphQLAnswer:
        """Return data and errors of a GraphQL document, for callers that can use one without the other."""
        mutates = document.lstrip().startswith("mutation")
        content = json.dumps({"query": document, "variables": dict(variables or {})}).encode()
        request = self._request("POST", self.graphql_url, content=content)
        return await self._persist(request, _graphql_answer, mutates=mutates)

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Json] | None = None,
        accept: str = JSON,
    ) -> Answer:
        url = path if path.startswith(("http://", "https://")) else self.base_url + path
        url += f"?{urlencode(params)}" if params else ""
        content = b"" if body is None else json.dumps(body).encode()
        request = self._request(method, url, content=content, accept=accept)
        return await self._persist(request, _rest_answer, mutates=method not in _READING)

    def _request(self, method: str, url: str, *, content: bytes = b"", accept: str = JSON) -> Request:
        headers = {"Accept": accept, "User-Agent": "ghx-bench", "X-GitHub-Api-Version": _API_VERSION}
        if content:
            headers["Content-Type"] = "application/json"
        if self._token and _origin(url) in {_origin(self.base_url), _origin(self.graphql_url)}:
            headers["Authorization"] = f"Bearer {self._token}"
        return Request(method=method, url=url, headers=headers, body=content)

    async def _persist(self, request: Request, read: Callable[[Answer], T], *, mutates: bool) -> T:
        """Send a request until it is answered, refused for good, or was tried often enough."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return read(await self._exchange(request))
            except CapabilityError as error:
                now_s = self.clock.now().timestamp()
                wait = self._retries.wait_before_retry(error, attempt=attempt, mutates=mutates, now_s=now_s)
                if wait is None:
                    raise
                await self._sleep(wait)

    async def _exchange(self, request: Request) -> Answer:
        """Send one request and follow where a reading one is sent on to; the token stays with our own addresses."""
        response = await self._sent(request)
        for _ in range(_MOST_MOVES):
            place = response.headers.get("location")
            if response.status not in _MOVED or request.method not in _READING or not place:
                break
            url = urljoin(request.url, place)
            request = self._request(request.method, url, accept=request.headers["Accept"])
            response = await self._sent(request)
        return Answer(status=response.status, headers=response.headers, content=self._without_token(response.body))

    def _without_token(self, content: bytes) -> bytes:
        """Take our own token out of an answer: a server that repeats it must not bring it into an output."""
        return content.replace(self._token.encode(), b"<token>") if self._token else content

    async def _sent(self, request: Request) -> Response:
        try:
            with anyio.fail_after(self._patience_s):
                return await self._transport.send(request)
        except TimeoutError:
            host = urlsplit(request.url).hostname
            raise UnreachableError(f"{host} did not answer within {self._patience_s:g} s", sent=True) from None


def rest_path(*parts: str | int) -> str:
    """Write the path of a REST resource; what is special in a part is escaped, slashes too."""
    return "".join("/" + quote(str(part), safe="") for part in parts)


def graphql_url_beside(base_url: str) -> str:
    """Return where the GraphQL API is, if the REST API is at `base_url`."""
    base = base_url.rstrip("/")
    return f"{base.removesuffix('/v3')}/graphql" if base.endswith("/api/v3") else f"{base}/graphql"


def _rest_answer(answer: Answer) -> Answer:
    """Return an answer that is no refusal."""
    if answer.status >= _FIRST_FAILURE:
        refusal = refusal_of(answer.status, answer.headers, _json_or_none(answer))
        if refusal is not None:
            raise refusal
    return answer


def _graphql_answer(answer: Answer) -> GraphQLAnswer:
    """Read what a document came to; a rate limit comes as an error inside an answer that is fine."""
    body: object = _rest_answer(answer).data
    said = cast("Mapping[str, Json]", body if isinstance(body, dict) else {"errors": "no object"})
    data: object = said.get("data")
    errors: object = said.get("errors") or ()
    if not isinstance(errors, list | tuple) or not isinstance(data, dict | None):
        raise UnexpectedAnswerError("GitHub answered a GraphQL document with something that is no answer to one")
    told = [cast("Mapping[str, Json]", each) for each in cast("Sequence[object]", errors) if isinstance(each, dict)]
    read = GraphQLAnswer(data=cast("Mapping[str, Json] | None", data), errors=told)
    if read.errors and read.errors[0].get("type") in _RATE_LIMITED:
        raise graphql_refusal(read.errors, answer.headers)
    return read


def _json_or_none(answer: Answer) -> object:
    try:
        return answer.data
    except UnexpectedAnswerError:
        return None


def _origin(url: str) -> tuple[str, str]:
    place = urlsplit(url)
    return place.scheme, place.netloc
