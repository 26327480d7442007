"""The one way to GitHub: REST and GraphQL at one address, with one token, errors told apart and retried where safe."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

import anyio

from ghx_bench._base.clock import Clock, SystemClock
from ghx_bench.capabilities.answers import Answer, GraphQLAnswer, Json, read_graphql, read_rest
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, UnexpectedAnswerError, UnreachableError
from ghx_bench.capabilities.refusals import graphql_refusal
from ghx_bench.capabilities.retries import RetryPolicy
from ghx_bench.capabilities.transports.choice import transport_for
from ghx_bench.capabilities.transports.exchange import Request, Response, Transport

T = TypeVar("T")

JSON = "application/vnd.github+json"
"""The media type that GitHub answers in unless asked for another."""

_API_VERSION = "2022-11-28"
_READING = frozenset({"GET", "HEAD"})
_MOVED = frozenset({301, 302, 303, 307, 308})
_MOVED_WITH_BODY = frozenset({307, 308})  # the others leave open whether a change is asked for again, or read
_FIRST_FAILURE = 300
_MOST_MOVES = 4
_MOST_PAGES = 100
_SHORTEST_SECRET = 16  # what is shorter is no token of GitHub's, and might be part of any word


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
        """Read a list of the REST API page by page to its end; one of more than a hundred pages is refused there."""
        answer = await self.get(path, params={"per_page": 100, **(params or {})})
        for _ in range(_MOST_PAGES):
            yield answer
            if answer.next_url is None:
                return
            answer = await self.get(answer.next_url)
        problem = f"{path} has more than {_MOST_PAGES} pages; ask for less of it"
        raise CapabilityError(problem, error_code=ErrorCode.TOO_LARGE)

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
        read = partial(read_graphql, redacted=self._redacted, mutates=mutates)
        return await self._persist(request, read, mutates=mutates)

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
        return await self._persist(request, read_rest, mutates=method not in _READING)

    def _request(self, method: str, url: str, *, content: bytes = b"", accept: str = JSON) -> Request:
        headers = {"Accept": accept, "User-Agent": "ghx-bench", "X-GitHub-Api-Version": _API_VERSION}
        if content:
            headers["Content-Type"] = "application/json"
        if self._token and self._is_ours(url):
            headers["Authorization"] = f"Bearer {self._token}"
        return Request(method=method, url=url, headers=headers, body=content)

    async def _persist(self, request: Request, read: Callable[[Answer], T], *, mutates: bool) -> T:
        """Send a request until it is answered, refused for good, or was tried often enough."""
        waits: list[float] = []
        while True:
            try:
                return read(await self._exchange(request))
            except CapabilityError as error:
                now_s = self.clock.now().timestamp()
                wait = self._retries.wait_before_retry(error, waits=waits, mutates=mutates, now_s=now_s)
                if wait is None:
                    raise
                waits.append(wait)
                await self._sleep(wait)

    async def _exchange(self, request: Request) -> Answer:
        """Send one request and follow where it is sent on to; the token stays with our own addresses."""
        response = await self._sent(request)
        for _ in range(_MOST_MOVES):
            place = self._next_place(request, response)
            if place is None:
                break
            request = self._request(request.method, place, content=request.body, accept=request.headers["Accept"])
            response = await self._sent(request)
        return self._told(request, response)

    def _next_place(self, request: Request, response: Response) -> str | None:
        """Return where a request is to be made again: one that reads anywhere, a change on our own addresses only."""
        place = response.headers.get("location")
        if response.status not in _MOVED or not place:
            return None
        url = urljoin(request.url, place)
        if request.method in _READING:
            return url
        return url if response.status in _MOVED_WITH_BODY and self._is_ours(url) else None

    def _told(self, request: Request, response: Response) -> Answer:
        """Return the answer; where it is a refusal, it does not repeat our token, and says the whole new address."""
        if response.status < _FIRST_FAILURE:
            return Answer(status=response.status, headers=response.headers, content=response.body)
        headers = dict(response.headers)
        if place := headers.get("location"):
            headers["location"] = self._redacted(urljoin(request.url, place).encode()).decode()
        return Answer(status=response.status, headers=headers, content=self._redacted(response.body))

    def _redacted(self, content: bytes) -> bytes:
        """Take our own token out of what went wrong: a server that repeats it must not bring it into an output."""
        if not self._token or len(self._token) < _SHORTEST_SECRET:
            return content
        return content.replace(self._token.encode(), b"<token>")

    def _is_ours(self, url: str) -> bool:
        return _origin(url) in {_origin(self.base_url), _origin(self.graphql_url)}

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


def _origin(url: str) -> tuple[str, str]:
    place = urlsplit(url)
    return place.scheme, place.netloc
