"""The one way to GitHub: REST and GraphQL at one address, with one token; retried where that is safe."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ghx_base.clock import Clock, SystemClock
from ghx_tools.capabilities.app_installation import AppInstallation, InstallationToken
from ghx_tools.capabilities.errors import (
    CapabilityError,
    ErrorCode,
    GitHubError,
    UnexpectedResponseError,
    UnreachableError,
)
from ghx_tools.capabilities.responses import GraphQLResponse, Json, graphql_error, read_graphql, read_rest
from ghx_tools.capabilities.transports.exchange import Request, Response, Transport

T = TypeVar("T")

JSON = "application/vnd.github+json"
"""The media type that GitHub answers in unless asked for another."""

FindExisting = Callable[[], Awaitable[Mapping[str, Json] | None]]
"""Looks whether a change was made whose answer was lost; returns the data of that answer, or None."""

MAY_BE_DONE = "mayBeDone"
"""The detail of an error that says: a change may have been made all the same, since only its answer was lost."""

_API_VERSION = "2022-11-28"
_READING = frozenset({"GET", "HEAD"})
_FIRST_REDIRECT = 300
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECTS_OF_CHANGES = frozenset({307, 308})  # the others leave open whether to change or to read at the new address
_MOST_REDIRECTS = 4
_MOST_PAGES = 100
_SHORTEST_SECRET = 16  # a shorter string is no token of GitHub's, and might be part of any word
_TRANSIENT = frozenset({None, 500, 502, 503, 504})  # None: HTTP was fine, and GraphQL reported the failure
_UNNAMED_LIMIT_S = 60.0  # GitHub asks for a minute where it names no time
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a request is made at most, and how long all of its waits may take together.

    A rate limit that ends later than that is not waited for: its error says when it ends.
    """

    attempts: int = 3
    first_wait_s: float = 0.25
    longest_wait_s: float = 60.0

    def wait_before_retry(
        self, error: CapabilityError, *, waits: Sequence[float], mutates: bool, now_s: float
    ) -> float | None:
        """Return after how many seconds a failed request is made again; `None` if it is not.

        `waits` are those before earlier attempts.
        """
        if len(waits) + 1 >= self.attempts or not _may_retry(error, mutates=mutates):
            return None
        match error.details:
            case {"retryAfterS": int(seconds)}:
                wait = float(seconds)
            case {"rateLimitResetsAt": int(moment)}:
                wait = max(0.0, moment - now_s)
            case _:
                first = _UNNAMED_LIMIT_S if error.error_code == ErrorCode.RATE_LIMIT else self.first_wait_s
                wait = first * 2 ** len(waits)
        return wait if sum(waits) + wait <= self.longest_wait_s else None


def _may_retry(error: CapabilityError, *, mutates: bool) -> bool:
    # A change is made again only if it was not made for sure: a second comment is worse than an error.
    match error:
        case UnreachableError():
            return error.retryable and not (mutates and error.sent)
        case GitHubError(error_code=ErrorCode.RATE_LIMIT):
            return True  # turned away before anything was done; `read_graphql` raises no other limit for a mutation
        case GitHubError():
            return not mutates and error.error_code == ErrorCode.SERVER and error.status in _TRANSIENT
        case _:
            return False


def transport_for(url: str, *, socket_path: str | None = None) -> Transport:
    """Return a transport that reaches `url`, directly or through a unix socket."""
    if needs_no_tls(url, socket_path=socket_path):
        from ghx_tools.capabilities.transports.plain import PlainTransport  # noqa: PLC0415 - loads an event loop

        return PlainTransport(socket_path=socket_path)
    # Only TLS and other hosts need the HTTP library, which takes long to import and reads all certificates.
    from ghx_tools.capabilities.transports.pooled import PooledTransport  # noqa: PLC0415 - slow, and often not needed

    return PooledTransport()


def needs_no_tls(url: str, *, socket_path: str | None = None) -> bool:
    """Return whether `url` can be reached without TLS: it is on this machine, or a unix socket leads there."""
    place = urlsplit(url)
    return socket_path is not None or (place.scheme == "http" and place.hostname in _THIS_MACHINE)


async def _sleep(seconds: float) -> None:
    import anyio  # noqa: PLC0415 - slow, and most calls never wait

    await anyio.sleep(seconds)


class GitHubClient:
    """Asks one GitHub, as one user: `async with GitHubClient(url, token) as client:`.

    `base_url` is where the REST API is (`https://api.github.com`, `https://HOST/api/v3`, a local server); GraphQL is
    beside it unless `graphql_url` says otherwise. The token goes to these two only and appears nowhere else: not in
    an error, not in a representation. A request that takes longer than `patience_s` counts as unanswered.

    With `app` and no token, it acts for an installation of a GitHub App, and gets itself a new token before one ends.
    """

    def __init__(
        self,
        base_url: str,
        token: str | None,
        *,
        app: AppInstallation | None = None,
        graphql_url: str | None = None,
        transport: Transport | None = None,
        retries: RetryPolicy | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = _sleep,
        patience_s: float = 60.0,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.graphql_url = graphql_url or graphql_url_beside(self.base_url)
        self.clock = clock or SystemClock()
        self._token, self._app = token, app
        self._signature: str | None = None  # what the app asks for a token with
        self._installation_token: InstallationToken | None = None
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
        """Return whether requests carry a token."""
        return bool(self._token) or self._app is not None

    async def get(self, path: str, *, params: Mapping[str, str | int] | None = None, accept: str = JSON) -> Response:
        """Read a resource of the REST API; `path` as `rest_path` makes it, or a whole address."""
        return await self._ask("GET", path, params=params, accept=accept)

    async def post(self, path: str, body: Mapping[str, Json] | None = None) -> Response:
        """Create a resource with the REST API."""
        return await self._ask("POST", path, body=body)

    async def patch(self, path: str, body: Mapping[str, Json]) -> Response:
        """Change a resource with the REST API."""
        return await self._ask("PATCH", path, body=body)

    async def put(self, path: str, body: Mapping[str, Json] | None = None) -> Response:
        """Create or replace a resource with the REST API."""
        return await self._ask("PUT", path, body=body)

    async def delete(self, path: str, body: Mapping[str, Json] | None = None) -> Response:
        """Remove a resource with the REST API."""
        return await self._ask("DELETE", path, body=body)

    async def pages(self, path: str, *, params: Mapping[str, str | int] | None = None) -> AsyncGenerator[Response]:
        """Yield the pages of a list of the REST API; raise `CapabilityError` after a hundred of them."""
        response = await self.get(path, params={"per_page": 100, **(params or {})})
        for _ in range(_MOST_PAGES):
            yield response
            if response.next_url is None:
                return
            response = await self.get(response.next_url)
        problem = f"{path} has more than {_MOST_PAGES} pages; ask for less of it"
        raise CapabilityError(problem, error_code=ErrorCode.TOO_LARGE)

    async def graphql(
        self, document: str, variables: Mapping[str, Json] | None = None, *, find_existing: FindExisting | None = None
    ) -> Mapping[str, Json]:
        """Return the data of a GraphQL document; raise the first of its errors, if there are any.

        With `find_existing` a mutation is sent again even if it may have been carried out before its answer was lost.
        `find_existing` runs first and returns the data of the answer if the mutation was carried out.
        """
        response = await self.graphql_response(document, variables, find_existing=find_existing)
        if response.errors:
            raise graphql_error(response.errors)
        if response.data is None:
            raise UnexpectedResponseError("GitHub answered a GraphQL document with neither data nor errors")
        return response.data

    async def graphql_response(
        self, document: str, variables: Mapping[str, Json] | None = None, *, find_existing: FindExisting | None = None
    ) -> GraphQLResponse:
        """Return data and errors of a GraphQL document, for callers that can use one without the other."""
        mutates = document.lstrip().startswith("mutation")  # every document of ours begins with its operation
        content = json.dumps({"query": document, "variables": dict(variables or {})}).encode()
        await self._renew_token()
        request = self._request("POST", self.graphql_url, content=content)
        read = partial(read_graphql, redact=self._redact, mutates=mutates)

        async def look() -> GraphQLResponse | None:
            answer = None if find_existing is None else await find_existing()
            return None if answer is None else GraphQLResponse(data=answer)

        return await self._send_until_done(request, read, mutates=mutates, look=look if find_existing else None)

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Json] | None = None,
        accept: str = JSON,
    ) -> Response:
        url = path if path.startswith(("http://", "https://")) else self.base_url + path
        url += f"?{urlencode(params)}" if params else ""
        content = b"" if body is None else json.dumps(body).encode()
        await self._renew_token()
        request = self._request(method, url, content=content, accept=accept)
        read = partial(read_rest, path=path.partition("?")[0])
        return await self._send_until_done(request, read, mutates=method not in _READING)

    async def _renew_token(self) -> None:
        """Get a token for the app's installation, where there is none that lasts."""
        now, installation_token = self.clock.now(), self._installation_token
        if self._app is None or (installation_token is not None and installation_token.is_fresh(now)):
            return
        self._signature = self._app.sign(now)
        url = f"{self.base_url}/app/installations/{self._app.installation_id}/access_tokens"
        # Asked for again after a failure: another token does no harm.
        request = self._request("POST", url, token=self._signature)
        response = await self._send_until_done(request, read_rest, mutates=False)
        match response.data:
            case {"token": str(token), "expires_at": str(expires_at)}:
                self._token = token
                self._installation_token = InstallationToken(token=token, expires_at=datetime.fromisoformat(expires_at))
            case _:
                raise UnexpectedResponseError("GitHub answered the request for an installation token with none")

    def _request(
        self, method: str, url: str, *, content: bytes = b"", accept: str = JSON, token: str | None = None
    ) -> Request:
        headers = {"Accept": accept, "User-Agent": "ghx-bench", "X-GitHub-Api-Version": _API_VERSION}
        if content:
            headers["Content-Type"] = "application/json"
        # A link to a next page, or a redirect, may lead to any host: the token is for ours alone.
        if (secret := token or self._token) and self._is_ours(url):
            headers["Authorization"] = f"Bearer {secret}"
        return Request(method=method, url=url, headers=headers, body=content)

    async def _send_until_done(
        self,
        request: Request,
        read: Callable[[Response], T],
        *,
        mutates: bool,
        look: Callable[[], Awaitable[T | None]] | None = None,
    ) -> T:
        """Send a request until it is carried out, refused for good, or was tried often enough.

        `look` returns the answer to a change that was made although its answer was lost.
        """
        waits: list[float] = []
        while True:
            try:
                # Read inside the loop: a GraphQL response with status 200 may still say that it was a rate limit.
                return read(await self._send_following_redirects(request))
            except CapabilityError as error:
                now_s = self.clock.now().timestamp()
                may_be_done = mutates and not _may_retry(error, mutates=True) and _may_retry(error, mutates=False)
                must_not_repeat = mutates and look is None
                wait = self._retries.wait_before_retry(error, waits=waits, mutates=must_not_repeat, now_s=now_s)
                if wait is None:
                    if may_be_done:
                        error.details[MAY_BE_DONE] = True
                    raise
                waits.append(wait)
                await self._sleep(wait)
                if may_be_done and look is not None and (until_done := await look()) is not None:
                    return until_done

    async def _send_following_redirects(self, request: Request) -> Response:
        response = await self._send(request)
        for _ in range(_MOST_REDIRECTS):
            place = self._redirected_to(request, response)
            if place is None:
                break
            # Made again rather than copied, so that the token is left out where the new address is not ours.
            request = self._request(request.method, place, content=request.body, accept=request.headers["Accept"])
            response = await self._send(request)
        if response.status < _FIRST_REDIRECT:
            return response
        # What follows becomes the text of an error, which agents and reports show: our token is taken out, in case
        # the server repeats it, and a relative address is made whole.
        headers = dict(response.headers)
        if place := headers.get("location"):
            headers["location"] = self._redact(urljoin(request.url, place).encode()).decode()
        return Response(status=response.status, headers=headers, body=self._redact(response.body))

    def _redirected_to(self, request: Request, response: Response) -> str | None:
        """Return the address at which a request is to be made again; `None` if it is not to be."""
        place = response.headers.get("location")
        if response.status not in _REDIRECTS or not place:
            return None
        url = urljoin(request.url, place)
        if request.method in _READING:
            return url
        # A change is made elsewhere only if GitHub asks for the same request again, and at an address of ours.
        return url if response.status in _REDIRECTS_OF_CHANGES and self._is_ours(url) else None

    def _redact(self, content: bytes) -> bytes:
        for secret in (self._token, self._signature):
            if secret and len(secret) >= _SHORTEST_SECRET:
                content = content.replace(secret.encode(), b"<token>")
        return content

    def _is_ours(self, url: str) -> bool:
        return _origin(url) in {_origin(self.base_url), _origin(self.graphql_url)}

    async def _send(self, request: Request) -> Response:
        try:
            return await self._transport.send(request, patience_s=self._patience_s)
        except TimeoutError:
            host = urlsplit(request.url).hostname
            # `sent`: how far the request got is not known, so a change must not be made again.
            raise UnreachableError(f"{host} did not answer within {self._patience_s:g} s", sent=True) from None


def rest_path(*parts: str | int) -> str:
    """Return the path of a REST resource; special characters in its parts are escaped, slashes too."""
    return "".join("/" + quote(str(part), safe="") for part in parts)


def graphql_url_beside(base_url: str) -> str:
    """Return the address of the GraphQL API that belongs to a REST API at `base_url`."""
    base = base_url.rstrip("/")
    # An enterprise server has REST at /api/v3 and GraphQL at /api/graphql; github.com has both at one root.
    return f"{base.removesuffix('/v3')}/graphql" if base.endswith("/api/v3") else f"{base}/graphql"


def _origin(url: str) -> tuple[str, str]:
    place = urlsplit(url)
    return place.scheme, place.netloc
