"""Reads a GitHub API: pages, rate limits and retries, and errors in one line."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit

import httpx2

from ghx_base.errors import OperationError
from ghx_base.problems import one_line, plural

Json = dict[str, Any]
GITHUB_COM = "https://api.github.com"
_PAGE = 100
_TIMEOUT_S = 60.0
_TRIES = 4
_LONGEST_WAIT_S = 3700  # a rate limit of GitHub is over within the hour
_WAIT_S = 60.0  # as GitHub's documentation asks where it names no time
_LIMITED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _GONE = 429, 401, 403, 404, 410
_SERVER_ERROR = 500
_NOT_IMPLEMENTED = 501


class ImportFailedError(OperationError):
    """The repository could not be read; the message says what to do."""

    code: ClassVar[str] = "IMPORT_FAILED"


class RefusedError(ImportFailedError):
    """The API does not show something to this token, or does not have it."""

    code: ClassVar[str] = "IMPORT_REFUSED"

    def __init__(self, status: int, path: str, message: str) -> None:
        super().__init__(one_line(f"GET {path}: {status} {message}"))
        self.status = status

    @property
    def is_fault(self) -> bool:
        """Return whether the server failed; 501 does not count, since it means "not implemented"."""
        return self.status >= _SERVER_ERROR and self.status != _NOT_IMPLEMENTED


@dataclass(slots=True)
class GitHubReader:
    """One API with one token (none: what is public); `say` gets lines about progress."""

    api: str = GITHUB_COM
    token: str | None = None
    say: Callable[[str], None] = lambda _line: None
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    requests: int = 0
    skipped: list[str] = field(default_factory=list[str])
    _client: httpx2.Client | None = None

    def __enter__(self) -> "GitHubReader":
        self._client = httpx2.Client(
            headers={
                "Accept": "application/vnd.github+json",
                "User-Agent": "ghx-twin-import",
                "X-GitHub-Api-Version": "2022-11-28",
                **({} if self.token is None else {"Authorization": f"Bearer {self.token}"}),
            },
            timeout=_TIMEOUT_S,
            follow_redirects=True,  # a repository that was renamed; the token stays with its host
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def graphql_url(self) -> str:
        """Return the address of GraphQL, which on GitHub Enterprise Server is next to the API, not below it."""
        return f"{self.api.removesuffix('/v3')}/graphql"

    def get(self, path: str, **query: object) -> Json:
        """Return the object that a path answers; raise `RefusedError` where it is not shown."""
        reply = self._ask("GET", f"{self.api}{path}", params={name: str(value) for name, value in query.items()})
        return self._read_object(reply)

    def pages(self, path: str, *, within: str | None = None, **query: object) -> Iterator[Json]:
        """Yield the items of a list, page by page; `within` is the key of the list, where that is in an object."""
        url: str | None = f"{self.api}{path}"
        parameters: dict[str, str] | None = {"per_page": str(_PAGE), **{k: str(v) for k, v in query.items()}}
        while url is not None:
            reply = self._ask("GET", url, params=parameters)
            yield from self._read_list(reply, within)
            url, parameters = reply.links.get("next", {}).get("url"), None

    def pages_if_visible(self, what: str, path: str, *, within: str | None = None, **query: object) -> list[Json]:
        """Return the items of a list; where the token may not see it, say so and return none."""
        try:
            return list(self.pages(path, within=within, **query))
        except RefusedError as error:
            if error.is_fault:
                raise
            self.skip(f"{what} ({error})")
            return []

    def has_any(self, path: str, *, within: str | None = None) -> bool:
        """Return whether a list has an item; not where the token may not see it."""
        try:
            return bool(self._read_list(self._ask("GET", f"{self.api}{path}", params={"per_page": "1"}), within))
        except RefusedError as error:
            if error.is_fault:
                raise
            return False

    def download(self, path: str, *, accept: str = "application/vnd.github+json") -> bytes:
        """Return the bytes of a file; some paths give it only where that is what is accepted."""
        return self._ask("GET", f"{self.api}{path}", headers={"Accept": accept}).content

    def graphql(self, query: str, variables: Mapping[str, object]) -> Json | None:
        """Return the data of a query; None where this API or token does not answer it."""
        if self.token is None:
            return None
        for _ in range(_TRIES):
            try:
                reply = self._ask("POST", self.graphql_url, json={"query": query, "variables": dict(variables)})
            except RefusedError as error:
                if error.is_fault:
                    raise
                return None
            content = self._read_object(reply)
            if not any(each.get("type") == "RATE_LIMITED" for each in content.get("errors", ())):
                return content.get("data") or None
            self._wait(self._until_reset(reply))  # GraphQL says so with status 200
        raise ImportFailedError(f"GraphQL: still over the rate limit after {plural(_TRIES, 'attempt')}; try later")

    def nodes(self, what: str, identities: Sequence[str], selection: str, *, at_once: int = 50) -> dict[str, Json]:
        """Return by global id what GraphQL alone tells of some objects."""
        nodes: dict[str, Json] = {}
        query = f"query($ids: [ID!]!) {{ nodes(ids: $ids) {{ nodeId: id {selection} }} }}"
        for start in range(0, len(identities), at_once):
            data = self.graphql(query, {"ids": list(identities[start : start + at_once])})
            if data is None:
                self.skip(f"{what} (GraphQL {'needs a token' if self.token is None else 'does not answer'})")
                return nodes
            nodes |= {node["nodeId"]: node for node in data["nodes"] if node}
        return nodes

    def skip(self, what: str) -> None:
        """Remember and say that something is not in the seed."""
        if what not in self.skipped:
            self.skipped.append(what)
            self.say(f"left out: {what}")

    def no_github(self) -> ImportFailedError:
        """Return the error for an answer that GitHub never gives."""
        return ImportFailedError(f"{self.api} is no GitHub API; check --api")

    def _read_object(self, reply: httpx2.Response) -> Json:
        content = self._read_json(reply)
        if not isinstance(content, dict):
            raise self.no_github()
        return cast("Json", content)

    def _read_list(self, reply: httpx2.Response, within: str | None) -> list[Json]:
        content = self._read_json(reply) if within is None else self._read_object(reply).get(within)
        if not isinstance(content, list):
            raise self.no_github()
        return cast("list[Json]", content)

    def _read_json(self, reply: httpx2.Response) -> object:
        try:
            return reply.json()
        except ValueError:
            raise self.no_github() from None

    def _ask(self, method: str, url: str, **rest: Any) -> httpx2.Response:
        assert self._client is not None  # noqa: S101 - it is used inside its block
        host = urlsplit(self.api).netloc
        if urlsplit(url).netloc != host:  # the address of a next page, which would get the token
            raise ImportFailedError(one_line(f"{host} leads to {url}, which is another server; check --api"))
        for attempt in range(1, _TRIES + 1):
            self.requests += 1
            try:
                reply = self._client.request(method, url, **rest)
            except httpx2.HTTPError as error:
                if attempt == _TRIES:
                    problem = f"{host} cannot be reached: {error or type(error).__name__}; check --api and the network"
                    raise ImportFailedError(one_line(problem)) from error
                self._try_again(one_line(f"{host} cannot be reached: {error or type(error).__name__}"), attempt)
                continue
            if reply.is_success:
                return reply
            self._wait_or_raise(reply, attempt)
        raise ImportFailedError(f"{urlsplit(url).path}: still no answer after {plural(_TRIES, 'attempt')}; try later")

    def _wait_or_raise(self, reply: httpx2.Response, attempt: int) -> None:
        wait = self._limit_wait(reply)
        if wait is not None:
            self._wait(wait)
            return
        refusal = self._refusal(reply)
        if not refusal.is_fault or attempt == _TRIES:
            raise refusal
        self._try_again(str(refusal), attempt)

    def _try_again(self, problem: str, attempt: int) -> None:
        seconds = 2.0 ** (attempt - 1)
        self.say(f"{problem}; trying again in {seconds:.0f} s")
        self.sleep(seconds)

    def _wait(self, seconds: float) -> None:
        if seconds > _LONGEST_WAIT_S:
            raise ImportFailedError(f"the rate limit ends in {seconds:.0f} s only; try again then")
        self.say(f"rate limit reached: waiting {seconds:.0f} s")
        self.sleep(seconds)

    def _until_reset(self, reply: httpx2.Response) -> float:
        reset = reply.headers.get("x-ratelimit-reset", "")
        return max(1.0, float(reset) - self.now() + 1) if reset.isdigit() else _WAIT_S

    def _limit_wait(self, reply: httpx2.Response) -> float | None:
        """Return how long a rate limit asks to wait; None where it is not why a request was refused."""
        if reply.status_code not in {_FORBIDDEN, _LIMITED}:
            return None
        if (after := reply.headers.get("retry-after", "")).isdigit():
            return float(after)
        if reply.headers.get("x-ratelimit-remaining") == "0":
            return self._until_reset(reply)
        return _WAIT_S if reply.status_code == _LIMITED else None

    def _refusal(self, reply: httpx2.Response) -> RefusedError:
        path, status = urlsplit(str(reply.request.url)).path, reply.status_code
        try:
            message = str(reply.json()["message"])
        except (ValueError, KeyError, TypeError):
            message = reply.reason_phrase
        if status == _UNAUTHORIZED and self.token is not None:
            message = f"{message}; the token is not valid for {urlsplit(self.api).netloc}"
        return RefusedError(status, path, message)


def is_absent(error: RefusedError) -> bool:
    """Return whether what was requested does not exist, or is hidden as if it did not."""
    return error.status in {_NOT_FOUND, _GONE}
