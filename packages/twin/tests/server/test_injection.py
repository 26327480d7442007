"""Names and texts made to break out of where they belong: nothing leaks, nothing is lost."""

import base64
import json
from urllib.parse import quote

import httpx2
import pytest
from hostile_requests import INJECTIONS, TRAVERSALS
from raw_http import RawClient
from served_world import Served

from ghx_twin.queries import lookup
from ghx_twin.state import records

pytestmark = pytest.mark.slow

ESCAPES = [
    "../secret.txt",
    "..",
    ".",
    "a/../../b",
    "a/./b",
    "/etc/passwd",
    "a//b",
    "a/",
    ".git/config",
    ".GIT/config",
    "a/.git/hooks/x",
    ".git",
    "a\0b",
]
CONTENT = base64.b64encode(b"x").decode()


@pytest.mark.parametrize("path", [path for path in ESCAPES if path.strip("/") == path])
@pytest.mark.parametrize("is_spelled_out", [False, True])
def test_a_path_that_leaves_the_repository_is_refused(
    raw: RawClient, served: Served, path: str, is_spelled_out: bool
) -> None:
    target = "".join(f"%{byte:02x}" for byte in path.encode()) if is_spelled_out else quote(path, safe="/")
    before = _files(served)

    written = raw.ask(
        f"PUT /repos/ann/secret/contents/{target} HTTP/1.1".encode(),
        *_json(body := f'{{"message": "m", "content": "{CONTENT}"}}'.encode()),
        body=body,
    )
    read = raw.ask(f"GET /repos/acme/widgets/contents/{target} HTTP/1.1".encode())

    assert written.status in {404, 422}
    assert read.status in {404, 422} or (path == "." and isinstance(json.loads(read.content), list))
    assert b"root:" not in read.content
    assert _files(served) == before


@pytest.mark.parametrize("path", ["/etc/passwd", "a/"])
def test_a_slash_at_an_end_of_a_path_leads_nowhere_else(client: httpx2.Client, path: str) -> None:
    target = f"/repos/ann/secret/contents/{quote(path, safe='')}"

    reply = client.put(target, json={"message": "m", "content": CONTENT})

    assert reply.json()["content"]["path"] == path.strip("/")


@pytest.mark.parametrize("path", ESCAPES)
def test_a_tree_cannot_name_a_path_outside(client: httpx2.Client, path: str) -> None:
    entry = {"path": path, "mode": "100644", "type": "blob", "content": "x"}

    reply = client.post("/repos/acme/widgets/git/trees", json={"tree": [entry]})

    assert reply.status_code == 422


@pytest.mark.parametrize(
    "ref",
    [
        "refs/heads/../../x",
        "refs/heads/a..b",
        "refs/../config",
        "HEAD",
        "refs/heads/a.lock",
        "refs/heads/-x\0",
        "refs/heads/.a",
        "refs/heads/a b",
        "refs/pull/1/head",
        "refs/heads/",
    ],
)
def test_a_ref_cannot_name_a_file_outside(client: httpx2.Client, served: Served, ref: str) -> None:
    before = _files(served)

    reply = client.post("/repos/acme/widgets/git/refs", json={"ref": ref, "sha": served.seeded.shas["main"]})

    assert reply.status_code == 422
    assert _files(served) == before


@pytest.mark.parametrize("name", [*TRAVERSALS, "a\0b", "a b/c", "x" * 200, "", ".git", "a.git/../b"])
def test_a_repository_cannot_have_a_name_that_is_a_path(client: httpx2.Client, served: Served, name: str) -> None:
    before = _files(served)

    reply = client.post("/user/repos", json={"name": name, "auto_init": True})

    if reply.status_code == 201:  # GitHub makes a harmless name of many a strange one
        assert reply.json()["name"].strip(".") != ""
        assert not set(reply.json()["name"]) & set("/\\\0 ")
        assert _files(served) - before == {f"{reply.json()['id']}.git"}
    else:
        assert reply.status_code == 422


@pytest.mark.parametrize("owner", ["..", "%2e%2e", "%2E%2E%2F..", "acme%00", "acme%2f..", "~"])
@pytest.mark.parametrize("name", ["..", "%2e%2e", "widgets%00", "widgets%2f..%2f..", "1.git", "widgets.git%2f.."])
def test_git_serves_no_folder_that_is_no_repository(raw: RawClient, owner: str, name: str) -> None:
    for target in (f"/{owner}/{name}", f"/acme/{name}", f"/{owner}/widgets"):
        reply = raw.ask(f"GET {target}/info/refs?service=git-upload-pack HTTP/1.1".encode())

        assert reply.status == 404


@pytest.mark.parametrize(
    "text", [*INJECTIONS, "a\0b", "\N{SNOWMAN}", "<script>", "${jndi:x}", "{{x}}", "%s%n", "$(id)"]
)
def test_text_is_kept_as_it_is(client: httpx2.Client, served: Served, text: str) -> None:
    issue = client.post("/repos/acme/widgets/issues", json={"title": f"t {text}", "body": text})
    number = issue.json()["number"]
    comment = client.post(f"/repos/acme/widgets/issues/{number}/comments", json={"body": text + "!"})
    query = 'query($number: Int!) { repository(owner: "acme", name: "widgets") { issue(number: $number) { body } } }'
    asked = client.post("/graphql", json={"query": query, "variables": {"number": number}})

    assert (issue.status_code, comment.status_code) == (201, 201)
    assert client.get(f"/repos/acme/widgets/issues/{number}").json()["body"] == text
    assert asked.json()["data"]["repository"]["issue"]["body"] == text
    _nothing_is_lost(served)


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injection_in_a_name_finds_nothing(client: httpx2.Client, served: Served, text: str) -> None:
    name = quote(text, safe="")
    targets = [
        f"/users/{name}",
        f"/orgs/{name}",
        f"/repos/{name}/widgets",
        f"/repos/acme/{name}",
        f"/repos/acme/widgets/labels/{name}",
        f"/repos/acme/widgets/issues/{name}",
        f"/repos/acme/widgets/milestones/{name}",
        f"/repos/acme/widgets/branches/{name}",
        f"/repos/acme/widgets/git/ref/{name}",
        f"/repos/acme/widgets/git/trees/{name}",
        f"/repos/acme/widgets/collaborators/{name}/permission",
        f"/orgs/acme/teams/{name}",
    ]
    found = {target: client.get(target).status_code for target in targets}

    assert {target for target, status in found.items() if status not in {404, 422}} == set()
    _nothing_is_lost(served)


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injection_in_a_filter_selects_nothing_more(client: httpx2.Client, served: Served, text: str) -> None:
    names = ("state", "labels", "assignee", "creator", "mentioned", "milestone", "sort", "direction", "since", "page")
    for name in names:
        reply = client.get("/repos/acme/widgets/issues", params={name: text})
        assert reply.status_code in {200, 422}
        assert "token" not in reply.text or "ghp_" not in reply.text
    for kind in ("issues", "repositories", "code", "users", "commits"):
        reply = client.get(f"/search/{kind}", params={"q": f"{text} repo:acme/widgets", "sort": text, "order": text})
        assert reply.status_code in {200, 422}
    _nothing_is_lost(served)


def _json(body: bytes) -> tuple[bytes, bytes]:
    return b"Content-Type: application/json", b"Content-Length: %d" % len(body)


def _files(served: Served) -> set[str]:
    """Return the folders of the world's storage: nothing may appear beside the repositories."""
    folder = served.world.git(lookup.repository(served.world, None, "acme", "widgets")).path.parent
    return {path.name for path in folder.iterdir()}


def _nothing_is_lost(served: Served) -> None:
    database = served.world.database
    assert {user.login for user in database.all(records.User)} >= {"ann", "bob", "eve", "acme"}
    assert database.count(records.Repository) >= 4
