"""Where GitHub sends a request on to: what reads follows, what changes something follows only where it is safe."""

from urllib.parse import urljoin

import pytest
from scripted_server import json_answer, scripted_server

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.errors import ErrorCode, GitHubError

pytestmark = pytest.mark.anyio

TOKEN = "ghp_0123456789abcdef"


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("method", ["post", "patch", "put", "delete"])
async def test_a_change_in_a_repository_that_was_renamed_happens_there(method: str, status: int) -> None:
    moved = json_answer(status, location="/repositories/7/issues?a=b")
    with scripted_server([moved, json_answer(201, {"number": 1})]) as server:
        async with GitHubClient(server.url, TOKEN) as client:
            assert (await getattr(client, method)("/repos/a/b/issues", {"title": "x"})).data == {"number": 1}

    first, second = (request.partition(b"\r\n\r\n") for request in server.requests)
    assert second[0].startswith(f"{method.upper()} /repositories/7/issues?a=b ".encode())
    assert f"Authorization: Bearer {TOKEN}".encode() in second[0]
    assert first[2] == second[2] == b'{"title": "x"}'


@pytest.mark.parametrize(
    ("status", "place"),
    [
        (301, "/repositories/7/issues"),
        (302, "/repositories/7/issues"),
        (303, "/repositories/7/issues"),
        (307, "https://elsewhere.example.com/x"),
        (308, "//127.0.0.1:1/x"),
    ],
)
@pytest.mark.parametrize("method", ["post", "patch", "put", "delete"])
async def test_a_change_that_is_sent_elsewhere_did_not_happen(method: str, status: int, place: str) -> None:
    with scripted_server([json_answer(status, {"message": "Moved"}, location=f"{place}?signed={TOKEN}")]) as server:
        async with GitHubClient(server.url, TOKEN) as client:
            with pytest.raises(GitHubError) as caught:
                await getattr(client, method)("/repos/a/b/issues", {"title": "x"})

    error = caught.value
    assert (error.error_code, error.status, error.retryable) == (ErrorCode.NOT_FOUND, status, False)
    assert error.details["location"] == urljoin(server.url, place)
    assert urljoin(server.url, place) in str(error)
    assert TOKEN not in str(error)


@pytest.mark.parametrize(("where", "times"), [({}, 1), ({"location": "/again"}, 5)])
async def test_nobody_is_sent_round_for_ever(where: dict[str, str], times: int) -> None:
    with scripted_server([json_answer(302, **where)] * times) as server:
        async with GitHubClient(server.url, TOKEN) as client:
            with pytest.raises(GitHubError) as caught:
                await client.get("/x")

    assert caught.value.status == 302
    assert len(server.requests) == times


async def test_a_document_that_is_sent_elsewhere_was_not_carried_out() -> None:
    with scripted_server([json_answer(301, location="/v2/graphql")]) as server:
        async with GitHubClient(server.url, TOKEN) as client:
            with pytest.raises(GitHubError) as caught:
                await client.graphql("mutation B { closeIssue(input: {}) { issue { id } } }")

    assert caught.value.details["location"] == f"{server.url}/v2/graphql"
