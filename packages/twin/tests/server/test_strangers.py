"""Requests without a token: they read what is public, where it is known which world they are for."""

import os
import subprocess

import httpx2
import pytest
from served_world import Served

from ghx_twin.server.clients.environment import ClientEnvironment
from ghx_twin.server.loopback import Server


@pytest.fixture
def default(served: Served) -> Served:
    served.server.add(served.world, is_default=True)
    return served


@pytest.fixture
def client(served: Served) -> ClientEnvironment:
    return served.server.client_environment(served.world, "ann")


@pytest.mark.process
def test_curl_and_git_read_through_their_proxy_what_is_public(served: Served, client: ClientEnvironment) -> None:
    variables = {**client.over(os.environ), "GIT_ASKPASS": "", "GIT_CONFIG_GLOBAL": "/dev/null"}

    def run(*words: str) -> str:
        return subprocess.run(words, env=variables, capture_output=True, text=True, check=True).stdout

    shown = run("curl", "-sS", "https://api.github.com/repos/acme/widgets")
    raw = run("curl", "-sS", "https://raw.githubusercontent.com/acme/widgets/main/src/app.py")
    refs = run("git", "ls-remote", "https://github.com/acme/widgets.git")

    assert '"full_name":"acme/widgets"' in shown
    assert raw.startswith("value_1 = 1\n")
    assert "refs/heads/main" in refs
    assert {entry.actor for entry in served.world.journal} == {None}
    assert {entry.surface for entry in served.world.journal} == {"rest", "git"}


@pytest.mark.process
@pytest.mark.parametrize("repository", ["ann/secret", "ann/none"])
def test_git_is_asked_for_credentials_where_nothing_is_public(client: ClientEnvironment, repository: str) -> None:
    variables = {**client.over(os.environ), "GIT_ASKPASS": "", "GIT_CONFIG_GLOBAL": "/dev/null"}

    done = subprocess.run(
        ["git", "ls-remote", f"https://github.com/{repository}.git"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "could not read Username" in done.stderr


def test_a_port_answers_for_its_default_world(default: Served) -> None:
    reply = httpx2.get(f"{default.server.url}/repos/acme/widgets")

    assert reply.status_code == 200
    assert "permissions" not in reply.json()
    assert (reply.headers["x-ratelimit-limit"], reply.headers["x-ratelimit-remaining"]) == ("60", "59")
    assert reply.headers["cache-control"].startswith("public")
    assert not {"x-oauth-scopes", "x-accepted-oauth-scopes"} & set(reply.headers)


def test_what_is_left_without_a_token_is_what_github_gives(default: Served) -> None:
    """Known by GitHub's documentation: 60 an hour, 10 searches a minute, no GraphQL."""
    found = httpx2.get(f"{default.server.url}/rate_limit").json()["resources"]

    assert {name: each["limit"] for name, each in found.items()} == {
        "core": 60, "search": 10, "code_search": 60, "graphql": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/graphql", 401),
        ("GET", "/user", 401),
        ("POST", "/repos/acme/widgets/issues", 401),
        ("GET", "/acme/widgets.git/info/refs?service=git-receive-pack", 401),
        ("POST", "/acme/widgets.git/git-receive-pack", 401),
        ("GET", "/ann/secret.git/info/refs?service=git-upload-pack", 401),
        ("GET", "/acme/widgets.git/info/refs?service=git-upload-pack", 200),
        ("GET", "/no/such/path", 404),
    ],
)
def test_nothing_is_written_without_a_token(default: Served, method: str, path: str, status: int) -> None:
    before = default.world.database.last_change()

    reply = httpx2.request(
        method,
        f"{default.server.url}{path}",
        json={"query": "{ viewer { login } }", "title": "x"} if method == "POST" else None,
    )

    assert reply.status_code == status
    assert default.world.database.last_change() == before
    assert [entry.status for entry in default.world.journal] == ([] if status == 401 else [status])


@pytest.mark.parametrize("header", [{"Origin": "https://example.com"}, {"Authorization": "Digest x"}])
def test_pages_of_web_sites_and_odd_credentials_read_nothing(default: Served, header: dict[str, str]) -> None:
    reply = httpx2.get(f"{default.server.url}/repos/acme/widgets", headers=header)

    assert (reply.status_code, reply.json()["message"]) == (401, "Requires authentication")


def test_a_world_that_was_removed_answers_nobody(default: Served, github_server: Server) -> None:
    github_server.remove(default.world)

    assert httpx2.get(f"{default.server.url}/repos/acme/widgets").status_code == 401
