"""Bodies that are too large, no JSON, or JSON of the wrong kind: GitHub's 4xx, and nothing has changed."""

import json
import resource
import sys
from collections.abc import Generator, Iterator

import httpx2
import pytest
from served_world import Served

from ghx_twin.server.request import MOST_BYTES

pytestmark = pytest.mark.slow

MEGABYTE = 1024 * 1024
ISSUES = "/repos/acme/widgets/issues"


@pytest.fixture(autouse=True)
def _nothing_has_changed(served: Served, client: httpx2.Client) -> Generator[None]:
    before = served.world.database.last_change()
    yield
    assert served.world.database.last_change() == before
    assert client.get("/user").status_code == 200


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"{'title': 'x'}",
        b'{"title": "x",}',
        b'{"title": NaN}',
        b'{"title": "\xff\xfe"}',
        b'{"title": "\\ud800"}',
        b'{"title": "x"} trailing',
        b"\x00",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"title": ' + b"1" * 10_000 + b"}",
        b"title=x&body=y",
        "{}".encode("utf-16"),
    ],
)
def test_what_is_no_json_is_a_bad_request(client: httpx2.Client, content: bytes) -> None:
    reply = client.post(ISSUES, content=content, headers={"Content-Type": "application/json"})

    assert reply.status_code in {400, 422}
    assert reply.json()["message"]
    assert reply.json()["status"] == str(reply.status_code)


@pytest.mark.parametrize("value", [None, 7, "text", [], [{}], True])
def test_json_that_is_no_object_is_a_bad_request(client: httpx2.Client, value: object) -> None:
    reply = client.post(ISSUES, content=json.dumps(value).encode())

    assert (reply.status_code, reply.json()["message"]) == (400, "Body should be a JSON object")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": None},
        {"title": ["x"]},
        {"title": {"x": 1}},
        {"title": "x", "labels": "bug"},
        {"title": "x", "labels": [7]},
        {"title": "x", "assignees": {"a": 1}},
        {"title": "x", "milestone": "one"},
        {"title": "x", "milestone": 2**70},
        {"title": "x", "body": 7},
        {"title": ""},
        {"title": "x" * 300},
    ],
)
def test_a_value_of_the_wrong_kind_is_unprocessable(client: httpx2.Client, body: object) -> None:
    reply = client.post(ISSUES, json=body)

    assert reply.status_code == 422
    assert reply.json()["message"]


def test_fields_nobody_knows_are_ignored(client: httpx2.Client, served: Served) -> None:
    reply = client.patch("/repos/acme/widgets/issues/999", json={"no_such_field": {"deep": [1]}})

    assert reply.status_code == 404


def test_a_body_of_100_megabytes_is_too_large_and_is_never_held(client: httpx2.Client) -> None:
    before = _peak_megabytes()

    announced = client.post(ISSUES, content=b" " * (100 * MEGABYTE))
    chunked = client.post(ISSUES, content=_spaces(100))

    assert (announced.status_code, chunked.status_code) == (413, 413)
    assert announced.json()["message"] == "Request Entity Too Large"
    sent = 100  # this very process sends it, too
    assert _peak_megabytes() - before < sent + MOST_BYTES / MEGABYTE + 60


def test_a_body_of_100_megabytes_for_graphql_is_too_large(client: httpx2.Client) -> None:
    assert client.post("/graphql", content=_spaces(100)).status_code == 413


def test_a_body_just_below_the_limit_is_read(client: httpx2.Client) -> None:
    reply = client.post(ISSUES, content=b" " * (MOST_BYTES - 2) + b"[]")

    assert (reply.status_code, reply.json()["message"]) == (400, "Body should be a JSON object")


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "multipart/form-data", "", "image/png;charset=x"])
def test_the_content_type_is_not_what_decides(client: httpx2.Client, kind: str) -> None:
    reply = client.post(ISSUES, content=b'{"title": null}', headers={"Content-Type": kind})

    assert reply.status_code == 422


def test_text_that_is_too_long_is_refused(client: httpx2.Client) -> None:
    body = client.post(ISSUES, json={"title": "x", "body": "a" * 70_000})
    comment = client.post(f"{ISSUES}/1/comments", json={"body": "a" * 270_000})

    assert (body.status_code, comment.status_code) == (422, 422)


def _spaces(megabytes: int) -> Iterator[bytes]:
    piece = b" " * MEGABYTE
    return (piece for _ in range(megabytes))


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else MEGABYTE)
