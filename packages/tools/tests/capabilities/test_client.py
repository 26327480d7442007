"""The client: what it sends, what it retries, what it never lets out."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from ghx_tools.capabilities.client import GitHubClient, RetryPolicy, graphql_url_beside, rest_path
from ghx_tools.capabilities.errors import (
    CapabilityError,
    ErrorCode,
    GitHubError,
    UnexpectedResponseError,
    UnreachableError,
)
from ghx_tools.capabilities.transports.exchange import Request, Response

pytestmark = pytest.mark.anyio

TOKEN = "ghp_0123456789abcdef"
NOW_S = 1_700_000_000
QUERY, MUTATION = "query A { viewer { login } }", "mutation B { closeIssue(input: {}) { issue { id } } }"


class FakeClock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(NOW_S, UTC)

    def monotonic(self) -> float:
        return 0.0


class FakeTransport:
    """Answers from a script: responses, or errors to raise."""

    def __init__(self, script: Sequence[Response | CapabilityError]) -> None:
        self.script, self.requests, self.closed = list(script), list[Request](), False

    async def send(self, request: Request, *, patience_s: float) -> Response:
        self.requests.append(request)
        answer = self.script.pop(0)
        if isinstance(answer, CapabilityError):
            raise answer
        return answer

    async def aclose(self) -> None:
        self.closed = True


class Client(GitHubClient):
    """A client on a script, whose waits are noted."""

    def __init__(self, *script: Response | CapabilityError, **options: Any) -> None:
        self.fake, self.waits = FakeTransport(script), list[float]()

        async def note(wait: float) -> None:
            self.waits.append(wait)

        super().__init__("https://api.github.com", TOKEN, transport=self.fake, clock=FakeClock(), sleep=note, **options)


def answer(status: int = 200, body: object = None, **headers: str) -> Response:
    content = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers=names, body=content)


LOST, REFUSED = UnreachableError("reset", sent=True), UnreachableError("refused", sent=False)


async def test_the_token_goes_to_github_in_a_header_and_nowhere_else() -> None:
    client = Client(answer())

    await client.get("/user", params={"q": "a b"})

    request = client.fake.requests[0]
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.url == "https://api.github.com/user?q=a+b"
    assert TOKEN not in repr(client) + repr(request) + request.url


async def test_without_a_token_nobody_is_named() -> None:
    transport = FakeTransport([answer()])
    async with GitHubClient("https://api.github.com/", None, transport=transport) as client:
        await client.get("/rate_limit")

    assert "Authorization" not in transport.requests[0].headers
    assert transport.closed


async def test_a_reading_request_follows_where_it_is_sent_and_leaves_the_token_at_home() -> None:
    client = Client(
        answer(301, location="/repositories/7"),
        answer(302, location="https://files.example.com/x"),
        answer(body=[1]),
    )

    assert (await client.get("/repos/a/b")).data == [1]

    urls = [request.url for request in client.fake.requests]
    assert urls[1:] == ["https://api.github.com/repositories/7", "https://files.example.com/x"]
    assert "Authorization" in client.fake.requests[1].headers
    assert "Authorization" not in client.fake.requests[2].headers


@pytest.mark.parametrize("passing", [answer(502), answer(503), answer(504), LOST, REFUSED])
async def test_what_passes_is_asked_again_by_those_who_only_read(passing: Response | CapabilityError) -> None:
    client = Client(passing, passing, answer(body=[1]))

    assert (await client.get("/x")).data == [1]
    assert client.waits == [0.25, 0.5]


async def test_a_query_reads_although_it_is_posted() -> None:
    client = Client(answer(502), answer(body={"data": {"viewer": {"login": "octo"}}}))

    assert await client.graphql(QUERY) == {"viewer": {"login": "octo"}}


@pytest.mark.parametrize("unsure", [answer(502), answer(504), LOST])
async def test_a_change_that_may_have_happened_is_not_asked_for_again(unsure: Response | CapabilityError) -> None:
    for ask in (
        lambda client: client.post("/x", {}),
        lambda client: client.patch("/x", {}),
        lambda client: client.put("/x", {}),
        lambda client: client.delete("/x"),
        lambda client: client.graphql(MUTATION),
        lambda client: client.graphql(f"\n  {MUTATION}"),
    ):
        client = Client(unsure)

        with pytest.raises(CapabilityError) as caught:
            await ask(client)

        assert caught.value.retryable
        assert len(client.fake.requests) == 1


@pytest.mark.parametrize(
    "sure",
    [REFUSED, answer(429, retry_after="1"), answer(403, retry_after="1"), answer(403, x_ratelimit_remaining="0")],
)
async def test_a_change_that_did_not_happen_is_asked_for_again(sure: Response | CapabilityError) -> None:
    client = Client(sure, answer(201, {"number": 1}))

    assert (await client.post("/x", {})).data == {"number": 1}


@pytest.mark.parametrize("final", [400, 401, 403, 404, 405, 409, 410, 422, 501])
async def test_a_refusal_is_final(final: int) -> None:
    client = Client(answer(final, {"message": "No"}))

    with pytest.raises(GitHubError) as caught:
        await client.get("/x")

    assert (caught.value.status, str(caught.value), client.waits) == (final, "No", [])


async def test_the_time_github_names_is_waited() -> None:
    client = Client(
        answer(403, retry_after="7"),
        answer(429, x_ratelimit_remaining="0", x_ratelimit_reset=str(NOW_S + 30)),
        answer(body=[1]),
    )

    await client.get("/x")

    assert client.waits == [7.0, 30.0]


async def test_a_limit_that_was_over_before_the_answer_came_is_not_waited_for() -> None:
    client = Client(answer(403, x_ratelimit_remaining="0", x_ratelimit_reset=str(NOW_S - 5)), answer())

    await client.get("/x")

    assert client.waits == [0.0]


@pytest.mark.parametrize("limited", [answer(429), answer(403, {"documentation_url": "https://x/#rate-limits"})])
async def test_a_limit_without_a_time_is_given_a_minute(limited: Response) -> None:
    client = Client(limited, answer(201, [1]))

    assert (await client.post("/x", {})).data == [1]
    assert client.waits == [60.0]


@pytest.mark.parametrize("limited", [answer(429), answer(429, retry_after="40")])
async def test_all_waiting_together_is_no_longer_than_the_bound(limited: Response) -> None:
    client = Client(*[limited] * 9)

    with pytest.raises(GitHubError) as caught:
        await client.get("/x")

    assert (caught.value.error_code, caught.value.retryable) == (ErrorCode.RATE_LIMIT, True)
    assert len(client.waits) == 1


async def test_a_short_bound_is_no_time_for_a_limit_without_one() -> None:
    client = Client(answer(429), retries=RetryPolicy(longest_wait_s=5))

    with pytest.raises(GitHubError) as caught:
        await client.get("/x")

    assert (caught.value.error_code, caught.value.retryable, client.waits) == (ErrorCode.RATE_LIMIT, True, [])


async def test_nobody_waits_longer_than_the_bound() -> None:
    client = Client(answer(403, retry_after="61"))

    with pytest.raises(GitHubError) as caught:
        await client.get("/x")

    assert caught.value.error_code == ErrorCode.RATE_LIMIT
    assert caught.value.details["retryAfterS"] == 61
    assert client.waits == []


async def test_enough_is_enough() -> None:
    client = Client(*[answer(503)] * 9, retries=RetryPolicy(attempts=4))

    with pytest.raises(GitHubError):
        await client.get("/x")

    assert len(client.fake.requests) == 4


async def test_a_rate_limit_of_graphql_comes_inside_an_answer_that_is_fine() -> None:
    limited = {"data": None, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    headers = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": str(NOW_S + 3)}
    client = Client(answer(body=limited, **headers), answer(body={"data": {"closeIssue": None}}))

    await client.graphql(MUTATION)

    assert client.waits == [3.0]


DONE_BUT = {"a": {"id": 1}, "b": None}
LIMITED = {"type": "RATE_LIMITED", "message": "was submitted too quickly"}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (DONE_BUT, {**LIMITED, "path": ["b"]}),
        (DONE_BUT, LIMITED),
        ({"b": None}, {**LIMITED, "path": ["b"]}),
        (None, {**LIMITED, "path": ["b"]}),
    ],
)
async def test_a_change_that_was_begun_before_a_limit_is_told_and_not_asked_for_again(data: Any, error: Any) -> None:
    client = Client(answer(body={"data": data, "errors": [error]}, retry_after="1"))

    read = await client.graphql_response(MUTATION)

    assert (read.data, read.errors, client.waits) == (data, [error], [])


@pytest.mark.parametrize("data", [None, {"a": None, "b": None}])
async def test_a_change_that_a_limit_turned_away_as_a_whole_is_asked_for_again(data: Any) -> None:
    client = Client(answer(body={"data": data, "errors": [LIMITED]}, retry_after="1"), answer(body={"data": DONE_BUT}))

    assert await client.graphql(MUTATION) == DONE_BUT
    assert client.waits == [1.0]


async def test_what_reads_is_asked_again_if_a_limit_left_a_part_out() -> None:
    limited = answer(body={"data": DONE_BUT, "errors": [{**LIMITED, "path": ["b"]}]}, retry_after="1")

    assert await Client(limited, answer(body={"data": {"a": 1, "b": 2}})).graphql(QUERY) == {"a": 1, "b": 2}


WRONG = answer(body={"data": None, "errors": [{"message": "Something went wrong while executing your query."}]})


async def test_a_query_that_github_broke_at_is_asked_again() -> None:
    client = Client(WRONG, WRONG, answer(body={"data": {"a": 1}}))

    assert await client.graphql(QUERY) == {"a": 1}
    assert client.waits == [0.25, 0.5]


async def test_a_change_that_github_broke_at_is_not_asked_for_again() -> None:
    client = Client(WRONG)

    with pytest.raises(GitHubError) as caught:
        await client.graphql(MUTATION)

    assert (caught.value.error_code, caught.value.retryable, client.waits) == (ErrorCode.SERVER, True, [])


async def test_the_first_error_of_a_document_is_raised_with_its_place() -> None:
    errors = [{"type": "NOT_FOUND", "path": ["repository", "issue"], "message": "Could not resolve"}, {"message": "b"}]
    client = Client(answer(body={"data": {"repository": None}, "errors": errors}))

    with pytest.raises(GitHubError) as caught:
        await client.graphql(QUERY)

    assert caught.value.error_code == ErrorCode.NOT_FOUND
    assert caught.value.details == {"type": "NOT_FOUND", "path": ["repository", "issue"]}


async def test_data_beside_errors_is_there_for_those_who_can_use_it() -> None:
    client = Client(answer(body={"data": {"a": 1, "b": None}, "errors": [{"message": "x", "path": ["b"]}]}))

    read = await client.graphql_response(QUERY)

    assert read.data == {"a": 1, "b": None}
    assert [error["path"] for error in read.errors] == [["b"]]


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'{"data": null}', b'"x"'])
async def test_an_answer_that_is_no_graphql_is_no_surprise(body: bytes) -> None:
    with pytest.raises(UnexpectedResponseError):
        await Client(answer(body=body)).graphql(QUERY)


async def test_an_error_page_is_told_by_its_status() -> None:
    with pytest.raises(GitHubError) as caught:
        await Client(answer(501, b"<html>oops</html>")).get("/x")

    assert str(caught.value) == "GitHub answered with status 501"


async def test_pages_are_read_to_the_last() -> None:
    more = '<https://api.github.com/x?page=2>; rel="next", <https://api.github.com/x?page=9>; rel="last"'
    client = Client(answer(body=[1, 2], link=more), answer(body=[3]))

    read = [page.data async for page in client.pages("/x", params={"state": "all"})]

    assert read == [[1, 2], [3]]
    assert client.fake.requests[0].url == "https://api.github.com/x?per_page=100&state=all"
    assert client.fake.requests[1].url == "https://api.github.com/x?page=2"


async def test_a_list_without_end_is_not_cut_off_in_silence() -> None:
    client = Client(*[answer(body=[1], link='<https://api.github.com/x>; rel="next"')] * 101)
    pages = client.pages("/x")
    read = [await anext(pages) for _ in range(100)]

    with pytest.raises(CapabilityError) as caught:
        await anext(pages)

    assert (len(read), caught.value.error_code) == (100, ErrorCode.TOO_LARGE)


async def test_what_goes_well_is_left_as_it_is_whatever_the_token() -> None:
    for token in ("t", TOKEN):
        said = {"data": {"token": f"about {token}"}}
        transport = FakeTransport([answer(body=said), answer(body=said)])
        async with GitHubClient("https://api.github.com", token, transport=transport) as client:
            assert await client.graphql(QUERY) == said["data"]
            assert (await client.get("/x")).data == said


@pytest.mark.parametrize(("token", "message"), [("t", "not that token"), (TOKEN, "bad <token>")])
async def test_a_refusal_does_not_repeat_what_can_be_a_token(token: str, message: str) -> None:
    said = "not that token" if token == "t" else f"bad {TOKEN}"
    script = [answer(400, {"message": said}), answer(body={"errors": [{"message": said, "type": "NOT_FOUND"}]})]
    async with GitHubClient("https://api.github.com", token, transport=FakeTransport(script)) as client:
        for ask in (client.get("/x"), client.graphql(QUERY)):
            with pytest.raises(GitHubError) as caught:
                await ask
            assert str(caught.value) == message


async def test_a_server_that_never_answers_is_not_waited_for_forever() -> None:
    class Silent(FakeTransport):
        async def send(self, request: Request, *, patience_s: float) -> Response:
            assert patience_s == 0.001
            raise TimeoutError

    client = GitHubClient("https://api.github.com", TOKEN, transport=Silent([]), patience_s=0.001)

    with pytest.raises(UnreachableError) as caught:
        await client.post("/x", {})

    assert caught.value.sent
    assert TOKEN not in str(caught.value)


def test_paths_are_escaped() -> None:
    assert rest_path("repos", "a/b", "ü", 7) == "/repos/a%2Fb/%C3%BC/7"


@pytest.mark.parametrize(
    ("rest", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://ghe.example.com/api/v3", "https://ghe.example.com/api/graphql"),
        ("https://ghe.example.com/api/v3/", "https://ghe.example.com/api/graphql"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/graphql"),
    ],
)
def test_graphql_is_beside_rest(rest: str, graphql: str) -> None:
    assert graphql_url_beside(rest) == graphql
