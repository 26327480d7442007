"""What GitHub's other hosts show beside the API, at the addresses that answers of the API name."""

from typing import Any

import httpx2
import pytest
from served_world import Served

from ghx_bench.twin.commands import contents, refs
from ghx_bench.twin.queries import lookup

WIDGETS = "/repos/acme/widgets"


def ask(served: Served, address: str, **headers: str) -> httpx2.Response:
    """Ask for an address: on a host of GitHub's, as through the proxy, or on the server's own port."""
    known = {"Authorization": f"token {served.token()}", **headers}
    url = httpx2.URL(address)
    if url.host != "127.0.0.1":
        known["Host"] = url.host
        url = httpx2.URL(served.server.url + url.raw_path.decode())
    return httpx2.get(url, headers=known)


@pytest.fixture(params=["https://api.github.com", "port"])
def api(request: pytest.FixtureRequest, served: Served) -> str:
    return served.server.url if request.param == "port" else request.param


@pytest.fixture
def branch(served: Served) -> str:
    """A branch with slashes in its name, and a file that is only there."""
    home = lookup.repository(served.world, None, "acme", "widgets")
    with served.world.acting(None) as act:
        tip = served.world.git(home).refs()[f"refs/heads/{home.default_branch}"]
        refs.create(act, home, ref="refs/heads/a/b+c", sha=tip)
        contents.put(act, home, path="docs/a file.md", content=b"here\xff", message="Add", branch="a/b+c")
    return "a/b+c"


def test_a_file_is_at_its_download_address(served: Served, api: str, branch: str) -> None:
    found = ask(served, f"{api}{WIDGETS}/contents/docs/a%20file.md?ref=a/b%2Bc").json()

    reply = ask(served, found["download_url"])

    assert (reply.status_code, reply.content) == (200, b"here\xff")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_raw_address_of_a_changed_file_leads_to_it(served: Served, branch: str) -> None:
    commit = ask(served, f"https://api.github.com{WIDGETS}/commits/a/b%2Bc").json()
    (changed,) = commit["files"]

    reply = ask(served, changed["raw_url"])

    assert reply.status_code == 302
    assert reply.headers["location"].startswith(f"https://raw.githubusercontent.com/acme/widgets/{commit['sha']}/docs/")
    assert ask(served, reply.headers["location"]).content == b"here\xff"


@pytest.mark.parametrize(
    "path", ["/", "/acme", "/acme/widgets", "/acme/widgets/main", "/acme/widgets/main/none", "/a/b/c/d"]
)
def test_what_is_no_file_is_not_found_among_files(served: Served, path: str) -> None:
    reply = ask(served, f"https://raw.githubusercontent.com{path}")

    assert (reply.status_code, reply.text) == (404, "404: Not Found")


@pytest.mark.parametrize("kind", ["diff", "patch"])
def test_a_difference_is_at_its_address(served: Served, kind: str) -> None:
    pull: dict[str, Any] = ask(served, f"https://api.github.com{WIDGETS}/pulls?state=all").json()[0]
    shown = ask(served, pull["url"], Accept=f"application/vnd.github.{kind}")

    reply = ask(served, pull[f"{kind}_url"])

    assert (reply.status_code, reply.text) == (200, shown.text)
    assert "diff --git" in reply.text
    assert ask(served, f"https://github.com/acme/widgets/pull/999.{kind}").status_code == 404


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("https://github.com/acme/widgets", 501),
        ("https://www.github.com/acme/widgets/issues/1", 501),
        ("https://github.com/acme/none", 404),
        ("https://codeload.github.com/acme/widgets/legacy.tar.gz/main", 501),
        ("https://gist.github.com/ann", 501),
    ],
)
def test_what_the_twin_has_not_is_said_and_what_github_has_not_is_not_found(
    served: Served, address: str, status: int
) -> None:
    reply = ask(served, address)

    assert reply.status_code == status
    assert [entry.status for entry in served.world.journal] == [status]
