"""Who gets in: every scheme that clients use, and nobody else."""

import base64

import httpx2
import pytest
from served_world import Served

from ghx_twin.server.tokens import token_of

pytestmark = pytest.mark.slow


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("token T", "T"),
        ("Token T", "T"),
        ("Bearer T", "T"),
        ("bearer  T ", "T"),
        (basic("x-access-token:T"), "T"),
        (basic("ann:T"), "T"),
        (basic("T:x-oauth-basic"), "T"),
        (basic("T:"), "T"),
        (basic("T"), "T"),
        (basic("a:b:c"), "b:c"),
        (None, None),
        ("", None),
        ("token", None),
        ("Bearer ", None),
        ("Digest T", None),
        ("T", None),
        ("Basic", None),
        ("Basic !!!", None),
        ("Basic \xff\xff", None),
        ("Basic //79/A==", None),
    ],
)
def test_the_token_of_a_header(header: str | None, token: str | None) -> None:
    assert token_of(header) == token


@pytest.mark.parametrize("scheme", ["token {}", "Bearer {}", "TOKEN {}"])
def test_a_token_opens_its_world_in_every_scheme(served: Served, scheme: str) -> None:
    reply = httpx2.get(f"{served.server.url}/user", headers={"Authorization": scheme.format(served.token("bob"))})

    assert reply.json()["login"] == "bob"


@pytest.mark.parametrize(
    "credentials", [("x-access-token", "{}"), ("anyone", "{}"), ("{}", "x-oauth-basic"), ("{}", "")]
)
def test_a_token_opens_its_world_as_a_password_or_as_a_name(served: Served, credentials: tuple[str, str]) -> None:
    name, password = (part.format(served.token("eve")) for part in credentials)

    assert httpx2.get(f"{served.server.url}/user", auth=(name, password)).json()["login"] == "eve"


@pytest.mark.parametrize("path", ["/", "/user", "/repos/acme/widgets", "/no/such/path", "/api/v3/user", "/rate_limit"])
@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "Requires authentication"),
        ({"Authorization": "token unknown"}, "Bad credentials"),
        ({"Authorization": "Bearer \xe9"}, "Bad credentials"),
        ({"Authorization": "Digest x"}, "Requires authentication"),
    ],
)
def test_a_stranger_is_unauthorized_everywhere(
    served: Served, path: str, headers: dict[str, str], message: str
) -> None:
    sent = {name: value.encode("latin-1") for name, value in headers.items()}

    reply = httpx2.get(f"{served.server.url}{path}", headers=sent)

    assert reply.status_code == 401
    assert reply.json() == {"message": message, "documentation_url": "https://docs.github.com/rest", "status": "401"}
    assert b'","' in reply.content  # as compact as every answer
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert "x-oauth-scopes" not in reply.headers


@pytest.mark.parametrize("path", ["/graphql", "/api/graphql"])
def test_a_stranger_cannot_ask_graphql(served: Served, path: str) -> None:
    reply = httpx2.post(f"{served.server.url}{path}", json={"query": "{ viewer { login } }"})

    assert reply.status_code == 401
    assert reply.json()["message"] == "Requires authentication"


@pytest.mark.parametrize("service", ["git-upload-pack", "git-receive-pack"])
def test_git_is_asked_for_credentials(served: Served, service: str) -> None:
    reply = httpx2.get(f"{served.server.url}/acme/widgets.git/info/refs", params={"service": service})

    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == 'Basic realm="GitHub"'


def test_a_token_without_a_scope_does_not_see_private_things(served: Served) -> None:
    token = served.token("ann", frozenset({"public_repo"}))
    headers = {"Authorization": f"token {token}"}

    public = httpx2.get(f"{served.server.url}/repos/acme/widgets", headers=headers)
    private = httpx2.get(f"{served.server.url}/repos/ann/secret", headers=headers)
    git = httpx2.get(f"{served.server.url}/ann/secret.git/info/refs?service=git-upload-pack", headers=headers)

    assert (public.status_code, private.status_code, git.status_code) == (200, 404, 404)
    assert public.headers["x-oauth-scopes"] == "public_repo"
    assert public.headers["x-accepted-oauth-scopes"] == "repo"


def test_deleting_a_repository_needs_a_scope_of_its_own(served: Served) -> None:
    headers = {"Authorization": f"token {served.token('ann', frozenset({'repo'}))}"}

    reply = httpx2.delete(f"{served.server.url}/repos/ann/empty", headers=headers)

    assert reply.status_code == 403
    assert reply.headers["x-accepted-oauth-scopes"] == "delete_repo"
    assert "delete_repo" not in reply.headers["x-oauth-scopes"]
