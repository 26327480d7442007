"""Real git clients against the smart HTTP functions, served by uvicorn."""

import hashlib
import io
import os
import random
import socket
import struct
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import uvicorn
from git_histories import write_commit
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ghx_twin.git import http, program
from ghx_twin.git.objects import RefUpdate
from ghx_twin.git.packets import FLUSH, packet
from ghx_twin.git.receiving import RefRule, Rules
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage
from ghx_twin.reply import Reply

pytestmark = pytest.mark.process

NO_FORCE = "Cannot force-push to this branch"
NO_DIRECT_PUSH = "Changes must be made through a pull request."
NO_DELETION = "Cannot delete this protected branch"


@dataclass
class Server:
    """One repository on a loopback port, and what its clients did."""

    repository: GitRepository
    rules: Rules = field(default=lambda _: RefRule())
    updates: list[RefUpdate] = field(default_factory=list)
    encodings: list[str] = field(default_factory=list)
    protocols: list[str | None] = field(default_factory=list)
    url: str = ""
    address: tuple[str, int] = ("", 0)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/r.git/info/refs", self.info_refs),
                Route("/r.git/git-upload-pack", self.upload_pack, methods=["POST"]),
                Route("/r.git/git-receive-pack", self.receive_pack, methods=["POST"]),
            ]
        )

    async def info_refs(self, request: Request) -> Response:
        protocol = request.headers.get("git-protocol")
        self.protocols.append(protocol)
        answer = await http.info_refs(self.repository, request.query_params.get("service", ""), protocol)
        return self._response(answer)

    async def upload_pack(self, request: Request) -> Response:
        protocol = request.headers.get("git-protocol")
        answer = await http.upload_pack(self.repository, request.stream(), protocol, gzip=self._gzip(request))
        return self._response(answer)

    async def receive_pack(self, request: Request) -> Response:
        answer = await http.receive_pack(
            self.repository,
            request.stream(),
            gzip=self._gzip(request),
            rules=self.rules,
            record=self.record,
        )
        return self._response(answer)

    def record(self, names: Collection[str]) -> Sequence[RefUpdate]:
        updates = self.repository.pushed_refs(names)
        self.repository.accept_push(updates)
        self.updates += updates
        return updates

    def _response(self, reply: Reply) -> Response:
        if reply.stream is not None:
            return StreamingResponse(reply.stream, reply.status, reply.headers, reply.media_type)
        return Response(reply.content, reply.status, reply.headers, reply.media_type)

    def _gzip(self, request: Request) -> bool:
        self.encodings.append(
            request.headers.get("content-encoding") or request.headers.get("transfer-encoding") or "identity"
        )
        return request.headers.get("content-encoding") == "gzip"


@contextmanager
def serving(server: Server) -> Generator[None]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server.address = listening.getsockname()
        server.url = f"http://127.0.0.1:{server.address[1]}/r.git"
        config = uvicorn.Config(server.app(), lifespan="off", log_level="error", http="httptools", ws="none")
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture
def repository() -> Generator[GitRepository]:
    storage = GitStorage.temporary()
    yield storage.create(1, "main")
    storage.close()


@pytest.fixture
def server(repository: GitRepository) -> Generator[Server]:
    """A repository with two commits on main."""
    first = write_commit(repository, {"README.md": "hello\n"}, message="First", branch="main")
    write_commit(repository, {"src/a.py": "a = 1\n"}, parents=[first], message="Second", minute=1, branch="main")
    server = Server(repository)
    with serving(server):
        yield server


@pytest.fixture
def empty_server(repository: GitRepository) -> Generator[Server]:
    server = Server(repository)
    with serving(server):
        yield server


class Client:
    """A user with git and a home of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            **{f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in WHO.items()},
        }

    def git(self, *arguments: str, cwd: Path | None = None, code: int = 0) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def clone(self, server: Server, *options: str) -> Path:
        target = self.home / "clone"
        self.git("clone", "--quiet", *options, server.url, str(target))
        return target

    def commit(self, clone: Path, path: str, content: bytes, message: str = "Change") -> str:
        target = clone / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        self.git("add", "-A", cwd=clone)
        self.git("commit", "--quiet", "-m", message, cwd=clone)
        return self.git("rev-parse", "HEAD", cwd=clone).strip()


WHO = {"NAME": "Hubot", "EMAIL": "hubot@example.com", "DATE": "2026-02-03T04:05:06Z"}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    home = tmp_path / "home"
    home.mkdir()
    return Client(home)


def protected(**refused: Sequence[str]) -> Rules:
    rule = RefRule(**{kind: tuple(reasons) for kind, reasons in refused.items()})
    return lambda update: rule if update.ref == "refs/heads/main" else RefRule()


@pytest.mark.parametrize("version", ["0", "1", "2"])
def test_a_clone_has_the_files_of_the_default_branch(server: Server, client: Client, version: str) -> None:
    clone = client.clone(server, "-c", f"protocol.version={version}")

    assert (clone / "src/a.py").read_text() == "a = 1\n"
    assert client.git("branch", "--show-current", cwd=clone).strip() == "main"
    assert server.protocols == [None if version == "0" else f"version={version}"]


def test_a_clone_of_an_empty_repository_is_empty_and_takes_the_first_push(empty_server: Server, client: Client) -> None:
    clone = client.clone(empty_server)
    sha = client.commit(clone, "README.md", b"first\n")

    client.git("push", "origin", "HEAD", cwd=clone)

    assert empty_server.repository.refs() == {"refs/heads/main": sha}
    assert empty_server.updates == [RefUpdate("refs/heads/main", None, sha)]


def test_what_was_pushed_is_there_for_the_world_at_once(server: Server, client: Client) -> None:
    clone = client.clone(server)
    before = server.repository.ref("refs/heads/main")
    sha = client.commit(clone, "docs/é.md", b"new\n")

    client.git("push", "origin", "main", "main:refs/heads/feature/x", cwd=clone)

    assert server.repository.entry(sha, "docs/é.md") is not None
    assert server.repository.ref("refs/heads/feature/x") == sha
    assert server.updates == [
        RefUpdate("refs/heads/main", before, sha),
        RefUpdate("refs/heads/feature/x", None, sha),
    ]


def test_a_push_that_rewrites_history_needs_force(server: Server, client: Client) -> None:
    clone = client.clone(server)
    before = server.repository.ref("refs/heads/main")
    client.git("commit", "--quiet", "--amend", "-m", "Other", cwd=clone)
    sha = client.git("rev-parse", "HEAD", cwd=clone).strip()

    assert "non-fast-forward" in client.git("push", "origin", "main", cwd=clone, code=1)
    assert server.repository.ref("refs/heads/main") == before
    client.git("push", "--force", "origin", "main", cwd=clone)

    assert server.repository.ref("refs/heads/main") == sha
    assert server.updates == [RefUpdate("refs/heads/main", before, sha)]


def test_a_branch_and_a_tag_are_deleted(server: Server, client: Client) -> None:
    clone = client.clone(server)
    client.git("tag", "-a", "v1", "-m", "One", cwd=clone)
    client.git("push", "--quiet", "origin", "HEAD:refs/heads/old", "v1", cwd=clone)

    client.git("push", "--quiet", "origin", ":old", ":refs/tags/v1", cwd=clone)

    assert set(server.repository.refs()) == {"refs/heads/main"}
    assert [update.new for update in server.updates[2:]] == [None, None]


def test_a_direct_push_to_a_protected_branch_is_refused_in_the_words_of_github(server: Server, client: Client) -> None:
    server.rules = protected(refused=[NO_DIRECT_PUSH])
    before = server.repository.refs()
    clone = client.clone(server)
    client.commit(clone, "a", b"a")

    said = client.git("push", "--quiet", "origin", "main", cwd=clone, code=1)

    assert [line.rstrip() for line in said.splitlines()] == [
        "remote: error: GH006: Protected branch update failed for refs/heads/main.",
        "remote:",
        "remote: - Changes must be made through a pull request.",
        f"To {server.url}",
        " ! [remote rejected] main -> main (protected branch hook declined)",
        f"error: failed to push some refs to '{server.url}'",
    ]
    assert server.repository.refs() == before
    assert server.updates == []


def test_a_push_that_is_denied_says_so_after_the_name(server: Server, client: Client) -> None:
    server.rules = lambda update: RefRule(denied="permission denied" if update.ref == "refs/heads/main" else None)
    clone = client.clone(server)
    client.commit(clone, "a", b"a")

    said = client.git("push", "--quiet", "origin", "main", "main:other", cwd=clone, code=1)

    assert " ! [remote rejected] main -> main (permission denied)" in said.splitlines()
    assert "GH006" not in said
    assert [update.ref for update in server.updates] == ["refs/heads/other"]


def test_a_workflow_is_refused_by_its_name_unless_a_branch_has_it(server: Server, client: Client) -> None:
    clone = client.clone(server)
    (clone / ".github" / "workflows").mkdir(parents=True)
    client.commit(clone, ".github/workflows/known.yml", b"known")
    client.git("push", "--quiet", "origin", "main", cwd=clone)
    server.rules = lambda _: RefRule(workflows_refused=True, force_push_refused=("no",))
    client.commit(clone, "other.txt", b"other")
    client.git("push", "--quiet", "origin", "main", "main:refs/heads/copy", "main:refs/tags/v1", cwd=clone)
    before = server.repository.refs()
    client.commit(clone, ".github/workflows/n\u00e9w one.yml", b"new")

    said = client.git("push", "--quiet", "origin", "main", "main:refs/tags/v2", cwd=clone, code=1)

    reason = (
        "refusing to allow a Personal Access Token to create or update workflow "
        "`.github/workflows/n\u00e9w one.yml` without `workflow` scope"
    )
    assert [line.rstrip() for line in said.splitlines()] == [
        f"To {server.url}",
        f" ! [remote rejected] main -> main ({reason})",
        f" ! [remote rejected] main -> v2 ({reason})",
        f"error: failed to push some refs to '{server.url}'",
    ]
    assert server.repository.refs() == before
    client.git("reset", "--quiet", "--hard", "HEAD~1", cwd=clone)
    client.git("rm", "--quiet", ".github/workflows/known.yml", cwd=clone)
    client.git("commit", "--quiet", "-m", "Remove it", cwd=clone)
    client.git("push", "--quiet", "origin", "main", cwd=clone)


def test_a_protected_branch_takes_fast_forwards_and_no_force_push(server: Server, client: Client) -> None:
    server.rules = protected(force_push_refused=[NO_FORCE])
    clone = client.clone(server)
    sha = client.commit(clone, "a", b"a")
    client.git("push", "--quiet", "origin", "main", cwd=clone)
    client.git("commit", "--quiet", "--amend", "-m", "Other", cwd=clone)

    said = client.git("push", "--quiet", "--force", "origin", "main", cwd=clone, code=1)

    assert [line.rstrip() for line in said.splitlines()][:5] == [
        "remote: error: GH006: Protected branch update failed for refs/heads/main.",
        "remote:",
        "remote: - Cannot force-push to this branch",
        f"To {server.url}",
        " ! [remote rejected] main -> main (protected branch hook declined)",
    ]
    assert server.repository.ref("refs/heads/main") == sha
    assert [update.new for update in server.updates] == [sha]


def test_a_refused_branch_does_not_hold_up_the_others_of_a_push(server: Server, client: Client) -> None:
    server.rules = protected(refused=[NO_DIRECT_PUSH])
    clone = client.clone(server)
    sha = client.commit(clone, "a", b"a")

    said = client.git("push", "origin", "main", "main:topic", cwd=clone, code=1)

    assert "* [new branch]      main -> topic" in said
    assert server.updates == [RefUpdate("refs/heads/topic", None, sha)]


def test_an_atomic_push_with_a_refused_branch_changes_nothing(server: Server, client: Client) -> None:
    server.rules = protected(refused=[NO_DIRECT_PUSH])
    before = server.repository.refs()
    clone = client.clone(server)
    client.commit(clone, "a", b"a")

    client.git("push", "--atomic", "origin", "main", "main:topic", cwd=clone, code=1)

    assert server.repository.refs() == before
    assert server.updates == []


def test_a_protected_branch_is_not_deleted(server: Server, client: Client) -> None:
    server.rules = lambda update: RefRule(refused=(NO_DELETION,) if update.new is None else ())
    clone = client.clone(server)
    client.git("push", "--quiet", "origin", "main:release", cwd=clone)

    said = client.git("push", "--quiet", "origin", ":release", cwd=clone, code=1)

    assert [line.rstrip() for line in said.splitlines()] == [
        "remote: error: GH006: Protected branch update failed for refs/heads/release.",
        "remote:",
        "remote: - Cannot delete this protected branch",
        f"To {server.url}",
        " ! [remote rejected] release (protected branch hook declined)",
        f"error: failed to push some refs to '{server.url}'",
    ]
    assert server.repository.ref("refs/heads/release") is not None


def test_the_default_branch_is_not_deleted(server: Server, client: Client) -> None:
    clone = client.clone(server)

    said = client.git("push", "--quiet", "origin", ":main", cwd=clone, code=1)

    assert said.splitlines() == [
        f"To {server.url}",
        " ! [remote rejected] main (refusing to delete the current branch: refs/heads/main)",
        f"error: failed to push some refs to '{server.url}'",
    ]
    assert server.repository.ref("refs/heads/main") is not None


def test_the_head_of_a_pull_request_can_be_fetched_and_not_pushed(server: Server, client: Client) -> None:
    clone = client.clone(server)
    main = server.repository.ref("refs/heads/main")
    assert main is not None
    head = write_commit(server.repository, {"b": "b\n"}, parents=[main], message="Head", minute=2)
    server.repository.set_ref("refs/pull/7/head", head)

    client.git("fetch", "--quiet", "origin", "refs/pull/7/head:pr", cwd=clone)
    said = client.git("push", "origin", "main:refs/pull/7/head", cwd=clone, code=1)

    assert client.git("rev-parse", "pr", cwd=clone).strip() == head
    assert "! [remote rejected] main -> refs/pull/7/head (deny updating a hidden ref)" in said
    assert server.repository.ref("refs/pull/7/head") == head
    assert "refs/pull/7/head" in client.git("ls-remote", "origin", cwd=clone)


def test_a_commit_that_no_ref_names_can_be_fetched_by_its_sha(server: Server, client: Client) -> None:
    clone = client.clone(server)
    lost = write_commit(server.repository, {"lost": "lost\n"}, message="Lost")

    client.git("fetch", "--quiet", "origin", lost, cwd=clone)

    assert client.git("show", "FETCH_HEAD:lost", cwd=clone) == "lost\n"


def test_a_push_of_five_megabytes_comes_in_chunks(server: Server, client: Client) -> None:
    clone = client.clone(server)
    content = random.Random(5).randbytes(5_000_000)
    sha = client.commit(clone, "large.bin", content)

    client.git("push", "--quiet", "origin", "main", cwd=clone)

    assert "chunked" in server.encodings
    entry = server.repository.entry(sha, "large.bin")
    assert entry is not None
    assert server.repository.blob(entry.sha) == content


def test_a_fetch_whose_question_is_long_comes_packed(server: Server, client: Client) -> None:
    for number in range(40):
        write_commit(server.repository, {"n": str(number)}, branch=f"b{number}")

    clone = client.clone(server, "-c", "protocol.version=0")

    assert "gzip" in server.encodings
    assert client.git("show", "origin/b39:n", cwd=clone) == "39"


def test_a_shallow_clone_has_one_commit_and_can_push(server: Server, client: Client) -> None:
    clone = client.clone(server, "--depth", "1")
    assert client.git("rev-list", "--count", "HEAD", cwd=clone).strip() == "1"
    sha = client.commit(clone, "a", b"a")

    client.git("push", "--quiet", "origin", "main", cwd=clone)
    client.git("fetch", "--quiet", "--unshallow", "origin", cwd=clone)

    assert server.repository.ref("refs/heads/main") == sha
    assert client.git("rev-list", "--count", "HEAD", cwd=clone).strip() == "3"


def test_a_clone_without_blobs_fetches_them_when_needed(server: Server, client: Client) -> None:
    clone = client.clone(server, "--filter=blob:none", "--no-checkout")

    assert client.git("show", "HEAD:README.md", cwd=clone) == "hello\n"


def test_a_tree_that_holds_a_folder_named_git_is_refused(server: Server, client: Client) -> None:
    clone = client.clone(server)
    blob = client.git("hash-object", "-w", "README.md", cwd=clone).strip()
    inner = _mktree(client, clone, f"100644 blob {blob}\tconfig\n")
    outer = _mktree(client, clone, f"040000 tree {inner}\t.git\n")
    commit = client.git("commit-tree", "-m", "Evil", outer, cwd=clone).strip()

    said = client.git("push", "origin", f"{commit}:refs/heads/evil", cwd=clone, code=1)

    assert "hasDotgit" in said
    assert server.repository.ref("refs/heads/evil") is None


def _mktree(client: Client, clone: Path, listing: str) -> str:
    done = subprocess.run(
        ["git", "mktree"], cwd=clone, env=client.environment, input=listing, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_git_server_of_another_owner_answers_too(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = program.environment
    monkeypatch.setattr(
        program, "environment", lambda extra=None: {**plain(extra), "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    )
    clone = client.clone(server)
    sha = client.commit(clone, "a", b"a")

    client.git("push", "--quiet", "origin", "main", cwd=clone)

    assert server.repository.ref("refs/heads/main") == sha


def test_settings_and_variables_of_the_user_who_runs_the_server_change_nothing(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".gitconfig").write_text("[receive]\n\tdenyDeletes = true\n[transfer]\n\thideRefs = refs/heads\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "transfer.hideRefs")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "refs")
    clone = client.clone(server)

    client.git("push", "--quiet", "origin", "main:old", cwd=clone)
    client.git("push", "--quiet", "origin", ":old", cwd=clone)

    assert len(server.updates) == 2


def post(server: Server, service: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(f"{server.url}/{service}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def push_request(server: Server, pack: bytes) -> bytes:
    line = f"{'0' * 40} {'1' * 40} refs/heads/x\0 report-status side-band-64k agent=test\n"
    return packet(line.encode()) + FLUSH + pack


EMPTY_PACK = b"PACK\0\0\0\2\0\0\0\0"
EMPTY_PACK += hashlib.sha1(EMPTY_PACK).digest()


def move_request(old: str | None, new: str | None, ref: bytes, capabilities: bytes, *more: bytes) -> bytes:
    line = f"{old or '0' * 40} {new or '0' * 40} ".encode() + ref
    return b"".join(map(packet, (line + b"\0" + capabilities, *more))) + FLUSH + EMPTY_PACK


@pytest.mark.parametrize("capabilities", [b"", b" agent=test", b" side-band-64k", b" quiet atomic", b" delete-refs"])
def test_a_push_that_asks_for_no_report_is_recorded_all_the_same(server: Server, capabilities: bytes) -> None:
    git = server.repository
    second = git.ref("refs/heads/main")
    assert second is not None
    first = git.commit(second).parents[0]

    post(server, "git-receive-pack", move_request(second, first, b"refs/heads/main", capabilities))
    post(server, "git-receive-pack", move_request(None, first, b"refs/heads/other", capabilities))

    assert git.ref("refs/heads/main") == first
    assert server.updates == [
        RefUpdate("refs/heads/main", second, first),
        RefUpdate("refs/heads/other", None, first),
    ]


def test_a_push_that_asks_for_a_report_too_late_is_recorded(server: Server) -> None:
    git = server.repository
    main = git.ref("refs/heads/main")
    late = f"{'0' * 40} {main} refs/heads/b\0 report-status side-band-64k".encode()

    status, _ = post(server, "git-receive-pack", move_request(None, main, b"refs/heads/a", b"", late))

    assert status == 200
    assert [update.ref for update in server.updates] == [ref for ref in git.refs() if ref != "refs/heads/main"]


def test_a_ref_whose_name_is_no_text_is_refused(server: Server) -> None:
    main = server.repository.ref("refs/heads/main")

    status, _ = post(server, "git-receive-pack", move_request(None, main, b"refs/heads/\xff", b" report-status"))

    assert status == 400
    assert list(server.repository.refs()) == ["refs/heads/main"]


def test_a_replaced_commit_does_not_get_a_force_push_past_the_protection(server: Server, client: Client) -> None:
    server.rules = protected(force_push_refused=[NO_FORCE])
    clone = client.clone(server)
    main = client.git("rev-parse", "HEAD", cwd=clone).strip()
    client.git("commit", "--quiet", "--amend", "-m", "Other", cwd=clone)
    forced = client.git("rev-parse", "HEAD", cwd=clone).strip()
    grafted = client.git("commit-tree", "HEAD^{tree}", "-p", main, "-m", "Grafted", cwd=clone).strip()
    client.git("push", "--quiet", "origin", f"{forced}:refs/heads/aside", cwd=clone)
    client.git("push", "--quiet", "origin", f"{grafted}:refs/replace/{forced}", cwd=clone)

    client.git("push", "--quiet", "--force", "origin", f"{forced}:refs/heads/main", cwd=clone, code=1)

    assert server.repository.ref("refs/heads/main") == main


@pytest.mark.parametrize("pack", [b"", b"PACK", b"PACK\0\0\0\2\0\0\0\1nonsense", b"\0" * 1000, b"not a pack at all"])
def test_a_push_with_a_wrong_pack_is_told_so_and_changes_nothing(server: Server, client: Client, pack: bytes) -> None:
    before = server.repository.refs()

    status, said = post(server, "git-receive-pack", push_request(server, pack))

    assert status == 200
    assert b"ng refs/heads/x" in said
    assert server.repository.refs() == before
    assert server.updates == []
    client.clone(server)


@pytest.mark.parametrize(
    "body", [b"x", b"zzzz", b"0003", b"0009x", b"ffff", b"0008abcd0000", packet(b"0 1 refs/heads/x") + FLUSH, b"000"]
)
def test_a_push_that_is_no_sequence_of_packets_is_a_bad_request(server: Server, body: bytes) -> None:
    status, said = post(server, "git-receive-pack", body)

    assert status == 400
    assert said.count(b"\n") == 1
    assert server.updates == []


@pytest.mark.parametrize("service", ["git-receive-pack", "git-upload-pack"])
@pytest.mark.parametrize("body", [b"no gzip", b"\x1f\x8b\x08\x00", b""])
def test_a_request_that_only_says_it_is_gzip_is_a_bad_request(server: Server, service: str, body: bytes) -> None:
    status, _ = post(server, service, body, **{"Content-Encoding": "gzip"})

    assert status == 400


def test_the_probe_that_git_sends_before_chunks_is_answered_with_nothing(server: Server) -> None:
    assert post(server, "git-receive-pack", FLUSH) == (200, b"")


@pytest.mark.parametrize(
    "body", [b"", b"x", b"zzzz", packet(b"want nonsense\n") + FLUSH, packet(b"command=nope") + FLUSH]
)
def test_a_fetch_that_makes_no_sense_is_answered_and_the_server_goes_on(
    server: Server, client: Client, body: bytes
) -> None:
    status, _ = post(server, "git-upload-pack", body)

    assert status == 200
    client.clone(server)


def test_the_old_protocol_without_a_service_is_refused(server: Server) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{server.url}/info/refs", timeout=300)


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if "git" in child.name()]


def test_a_client_that_leaves_in_the_middle_of_a_push_leaves_nothing_behind(server: Server, client: Client) -> None:
    before = set(server.repository.path.rglob("*"))
    body = push_request(server, b"PACK\0\0\0\2\0\0\0\1")
    with socket.create_connection(server.address) as connection:
        head = f"POST /r.git/git-receive-pack HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body) + 1000}\r\n\r\n"
        connection.sendall(head.encode() + body)

    client.clone(server)  # the server is still there
    assert children() == []
    assert set(server.repository.path.rglob("*")) == before
    assert server.updates == []


def test_a_client_that_leaves_in_the_middle_of_a_clone_leaves_no_process_behind(server: Server, client: Client) -> None:
    noise = random.Random(1)
    large = write_commit(server.repository, {f"{n}.bin": noise.randbytes(1_000_000) for n in range(16)}, branch="large")
    question = packet(f"want {large} side-band-64k\n".encode()) + FLUSH + packet(b"done\n")
    with socket.create_connection(server.address) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # leave without a word
        head = f"POST /r.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nContent-Length: {len(question)}\r\n\r\n"
        connection.sendall(head.encode() + question)
        received = b""
        while len(received) < 100_000:
            received += connection.recv(65_536)
        left = children()

    _, alive = psutil.wait_procs(left, timeout=300)
    assert alive == []
    assert left
    client.clone(server, "--single-branch")


def test_a_long_report_is_divided_into_packets_that_git_takes(server: Server, client: Client) -> None:
    server.rules = lambda update: RefRule(refused=("no",) if update.ref.endswith("7") else ())
    clone = client.clone(server)
    names = [f"main:refs/heads/{'long-' * 48}{number:03}" for number in range(270)]

    said = client.git("push", "origin", *names, cwd=clone, code=1)

    assert said.count("protected branch hook declined") == 27
    assert len(server.updates) == 243
    assert len(server.repository.refs("refs/heads/long-")) == 243


def test_packets_are_read_back_as_they_were_written() -> None:
    from ghx_twin.git.packets import pack_band, read_packets

    content = bytes(range(256)) * 1000
    read = list(read_packets(io.BytesIO(pack_band(2, content) + FLUSH)))

    assert {piece[0] for piece in read} == {2}
    assert b"".join(piece[1:] for piece in read) == content
    assert max(map(len, read)) <= 65_516
