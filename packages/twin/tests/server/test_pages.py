"""What GitHub's other hosts show beside the API, at the addresses that answers of the API name."""

import io
import tarfile
import zipfile
from typing import Any

import httpx2
import pytest
from served_world import Served

from ghx_twin.commands import releases
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.queries import lookup

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
        ("https://codeload.github.com/acme/widgets/legacy.tar.gz/none", 404),
        ("https://gist.github.com/ann", 501),
    ],
)
def test_what_the_twin_has_not_is_said_and_what_github_has_not_is_not_found(
    served: Served, address: str, status: int
) -> None:
    reply = ask(served, address)

    assert reply.status_code == status
    assert [entry.status for entry in served.world.journal] == [status]


def entries(content: bytes, kind: str) -> list[str]:
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return sorted(archive.namelist())
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return sorted(member.name for member in archive.getmembers())


@pytest.mark.parametrize(("endpoint", "kind"), [("tarball", "tar.gz"), ("zipball", "zip")])
def test_an_archive_is_where_the_api_says_and_always_the_same(
    served: Served, api: str, endpoint: str, kind: str
) -> None:
    sha = served.seeded.shas["main"]

    led = ask(served, f"{api}{WIDGETS}/{endpoint}/v1")
    reply = ask(served, led.headers["location"])

    assert led.status_code == 302
    assert led.headers["location"].endswith(f"/acme/widgets/legacy.{kind}/refs/tags/v1")
    assert f"acme-widgets-{sha[:7]}/src/app.py" in entries(reply.content, kind)
    assert reply.headers["content-disposition"] == f"attachment; filename=acme-widgets-v1-0-g{sha[:7]}.{kind}"
    assert ask(served, led.headers["location"]).content == reply.content


def test_an_archive_page_leads_to_a_folder_named_after_the_ref(served: Served) -> None:
    led = ask(served, "https://github.com/acme/widgets/archive/refs/tags/v1.zip")
    reply = ask(served, led.headers["location"])

    assert led.headers["location"] == "https://codeload.github.com/acme/widgets/zip/refs/tags/v1"
    assert "widgets-1/src/app.py" in entries(reply.content, "zip")
    assert reply.headers["content-disposition"] == "attachment; filename=widgets-1.zip"


def test_an_archive_of_a_tag_with_any_letters_is_served(served: Served) -> None:
    home = lookup.repository(served.world, None, "acme", "widgets")
    with served.world.acting(None) as act:
        refs.create(act, home, ref="refs/tags/größe/日", sha=served.seeded.shas["main"])

    led = ask(served, f"https://api.github.com{WIDGETS}/zipball/gr%C3%B6%C3%9Fe/%E6%97%A5")
    reply = ask(served, led.headers["location"])

    assert reply.status_code == 200
    assert "widgets-größe-日/src/app.py" in entries(
        ask(served, led.headers["location"].replace("legacy.", "")).content, "zip"
    )


def test_the_archive_of_a_private_repository_takes_the_token_of_its_address(served: Served) -> None:
    address = ask(served, "https://api.github.com/repos/ann/secret/tarball").headers["location"]
    plain, _, token = address.partition("?")
    as_bob = {"Authorization": f"token {served.token('bob')}"}

    assert token.startswith("token=")
    assert ask(served, address, **as_bob).status_code == 200
    assert ask(served, plain, **as_bob).status_code == 404
    assert ask(served, address.replace("main", "v1"), **as_bob).status_code == 404


@pytest.mark.parametrize("host", ["https://github.com", "port"])
def test_a_file_of_a_release_is_at_its_download_address(served: Served, host: str) -> None:
    host = served.server.url if host == "port" else host
    led = ask(served, f"{host}/acme/widgets/releases/latest/download/app.bin")
    reply = ask(served, led.headers["location"])

    assert led.headers["location"] == f"{host}/acme/widgets/releases/download/v1/app.bin"
    assert (reply.status_code, reply.content) == (200, b"\x00\xff")
    assert ask(served, f"{host}/acme/widgets/releases/download/v1/none").status_code == 404
    assert ask(served, f"{host}/acme/widgets/releases/latest").headers["location"].endswith("/releases/tag/v1")


def test_a_file_of_a_draft_is_only_for_those_who_can_push(served: Served) -> None:
    home = lookup.repository(served.world, None, "acme", "widgets")
    with served.world.acting(None) as act:
        draft = releases.create(act, home, tag_name="v3", draft=True)
        releases.upload_asset(act, draft, name="a.txt", content=b"a")
    shown = ask(served, f"https://api.github.com{WIDGETS}/releases/{draft.id}").json()["assets"][0]

    assert ask(served, shown["browser_download_url"]).content == b"a"
    as_eve = {"Authorization": f"token {served.token('eve')}"}
    assert ask(served, shown["browser_download_url"], **as_eve).status_code == 404
    assert ask(served, shown["url"], Accept="application/octet-stream", **as_eve).status_code == 404


@pytest.mark.parametrize(("host", "status"), [("uploads.github.com", 201), ("api.github.com", 404)])
def test_files_are_uploaded_to_their_own_host(served: Served, host: str, status: int) -> None:
    path = f"{WIDGETS}/releases/{served.seeded.ids['release']}/assets?name=b.txt"
    headers = {"Authorization": f"token {served.token()}", "Host": host, "Content-Type": "text/plain"}

    reply = httpx2.post(served.server.url + path, headers=headers, content=b"b")

    assert reply.status_code == status
    empty = httpx2.post(served.server.url + path, headers={**headers, "Host": "uploads.github.com"}, content=b"")
    assert empty.json()["errors"][0]["message"] == "size must be greater than or equal to 1"
    assert ask(served, f"https://uploads.github.com{WIDGETS}").status_code == 404
