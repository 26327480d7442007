"""The doors of GitHub: which host and path lead where, and that every address in an answer leads back in."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from rest_cases import CASES
from served_world import Served

from ghx_twin.rest.operations import OPERATIONS

ELSEWHERE = (  # pages and pictures that no installation of GitHub has itself
    "https://docs.github.com/", "https://avatars.githubusercontent.com/", "https://api.github.com/licenses/",
    "http://choosealicense.com/", "https://spdx.org/", "git@github.com:", "https://help.github.com/",
)  # fmt: skip
ADDRESS = re.compile(r"^(https?|git|ssh)://|^git@")
READING = [
    operation.name
    for operation in OPERATIONS
    # An app signs for itself, which the tests of the tools try.
    if operation.method == "GET" and not CASES[operation.name][0].user.startswith("fixer")
]


def ask(served: Served, path: str, host: str | None = None, **options: Any) -> httpx2.Response:
    headers = {"Authorization": f"token {served.token()}", **({"Host": host} if host else {})}
    return httpx2.get(f"{served.server.url}{path}", headers=headers, **options)


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from strings(inner)
        case list():
            for inner in value:
                yield from strings(inner)


def addresses(value: Any) -> list[str]:
    return [text for text in strings(value) if ADDRESS.match(text)]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "github.com.evil.example:80", "10.0.0.1"],
)
@pytest.mark.parametrize(
    "path", ["/user", "/api/v3/user", "/graphql", "/acme/widgets.git/info/refs?service=git-upload-pack"]
)
def test_a_page_of_another_host_reads_nothing(served: Served, host: str, path: str) -> None:
    reply = ask(served, path, host)

    assert reply.status_code == 421
    assert "octocat" not in reply.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1", "twin.localhost", "api.github.com"])
def test_this_machine_and_github_are_answered(served: Served, host: str) -> None:
    assert ask(served, "/user", host).status_code == 200


@pytest.mark.parametrize(
    ("host", "prefix", "api", "html"),
    [
        ("api.github.com", "", "https://api.github.com", "https://github.com"),
        ("API.GitHub.com", "", "https://api.github.com", "https://github.com"),
        ("api.github.localhost", "", "http://api.github.localhost", "http://github.localhost"),
        ("ghe.localhost", "/api/v3", "http://ghe.localhost/api/v3", "http://ghe.localhost"),
        ("ghe.localhost:8080", "", "http://ghe.localhost:8080", "http://ghe.localhost:8080"),
        ("[::1]:80", "", "http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_a_host_is_answered_with_its_own_addresses(served: Served, host: str, prefix: str, api: str, html: str) -> None:
    body = ask(served, f"{prefix}/repos/acme/widgets", host).json()

    assert body["url"] == f"{api}/repos/acme/widgets"
    assert body["html_url"] == f"{html}/acme/widgets"
    assert body["clone_url"] == f"{html}/acme/widgets.git"


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", "/api/v3"])
def test_every_address_in_an_answer_is_on_the_host_that_was_asked(served: Served, prefix: str) -> None:
    with httpx2.Client(base_url=served.server.url, headers={"Authorization": f"token {served.token()}"}) as client:
        complaints = {name: complaints_about(client, served, name, prefix) for name in READING}

    assert {name: found for name, found in complaints.items() if found} == {}


def complaints_about(client: httpx2.Client, served: Served, name: str, prefix: str) -> list[str]:
    """Return the addresses in the answer of an operation that lead elsewhere or nowhere."""
    path = CASES[name][0].path
    path = path.replace("R", "/repos/acme/widgets", 1) if path.startswith("R") else path
    path = path.format_map({**served.seeded.ids, **served.seeded.shas})
    root = served.server.url
    reply = client.get(f"{prefix}{path}")
    if reply.status_code not in {200, 204, 302}:
        return [f"{reply.status_code} of {path}"]
    known = root, root.replace("http://", "git://"), *ELSEWHERE
    return [
        each
        for each in addresses([reply.json() if reply.content else None, reply.headers.get("location")])
        if not each.startswith(known)
        or (prefix and each.startswith(f"{root}/repos/"))
        or "{}" in each
        or "None" in each
    ]


def test_graphql_names_addresses_on_the_host_that_was_asked(served: Served) -> None:
    query = (
        '{ repository(owner: "acme", name: "widgets") { url sshUrl owner { avatarUrl url } issue(number: 1) { url } } }'
    )
    for path, host, root in (
        ("/graphql", None, served.server.url),
        ("/api/graphql", None, served.server.url),
        ("/graphql", "api.github.com", "https://github.com"),
    ):
        headers = {"Authorization": f"token {served.token()}", **({"Host": host} if host else {})}
        body = httpx2.post(f"{served.server.url}{path}", json={"query": query}, headers=headers).json()

        assert body["data"]["repository"]["url"] == f"{root}/acme/widgets"
        assert body["data"]["repository"]["issue"]["url"] == f"{root}/acme/widgets/issues/1"


def test_the_links_between_pages_lead_on(served: Served) -> None:
    for prefix in ("", "/api/v3"):
        target = f"{served.server.url}{prefix}/repos/acme/widgets/labels?per_page=3"
        seen: list[str] = []
        with served.client() as client:
            while target:
                reply = client.get(target)
                seen += [label["name"] for label in reply.json()]
                target = reply.links.get("next", {}).get("url", "")
                assert target.startswith(f"{served.server.url}{prefix}/") or not target
        assert len(seen) == len(set(seen)) == 10


def test_the_web_host_has_git_and_neither_pages_nor_the_api(served: Served) -> None:
    page = ask(served, "/acme/widgets/pull/3", "github.com")
    api = ask(served, "/repos/acme/widgets", "github.com")
    git = ask(served, "/acme/widgets.git/info/refs?service=git-upload-pack", "github.com")

    assert (page.status_code, api.status_code, git.status_code) == (501, 404, 200)


def test_the_paths_of_enterprise_lead_to_the_same_world(served: Served) -> None:
    own, enterprise = ask(served, "/repos/acme/widgets/issues/1"), ask(served, "/api/v3/repos/acme/widgets/issues/1")

    assert own.json()["id"] == enterprise.json()["id"]
    assert enterprise.json()["url"] == f"{served.server.url}/api/v3/repos/acme/widgets/issues/1"


@pytest.mark.parametrize("path", ["/api/v3", "/api/v3/"])
def test_the_root_of_enterprise_is_the_root_of_the_api(served: Served, path: str) -> None:
    assert ask(served, path).json()["current_user_url"] == f"{served.server.url}/api/v3/user"


@pytest.mark.parametrize("path", ["/api", "/api/v4/user", "/api/v3x/user", "/apix", "/api/v3/api/v3/user"])
def test_what_only_looks_like_a_door_is_none(served: Served, path: str) -> None:
    assert ask(served, path).status_code == 404


def test_a_request_without_a_host_is_served(served: Served, raw) -> None:
    reply = raw.exchange(f"GET /user HTTP/1.0\r\nAuthorization: token {raw.token}\r\n\r\n".encode())

    assert reply.status == 200
    assert b"http://localhost/users/ann" in reply.content
