"""Records, refs and images that are kept until they change: no answer shows that they are."""

import hashlib
import json
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import httpx2
import pytest
from anyio import to_thread
from asgi_client import AsgiClient, AsgiReply
from git_histories import write_commit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_commands import BRANCHES, Step, base_world, perform, steps
from served_world import Served

from ghx_twin.commands import issues
from ghx_twin.commands.issues import comments
from ghx_twin.commands.repositories import refs
from ghx_twin.git import http
from ghx_twin.git.packets import FLUSH, packet
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.server.hosting import Hosting
from ghx_twin.state.connection import from_image, image
from ghx_twin.state.database import Database
from ghx_twin.state.records import Issue, Pull, Repository, User
from ghx_twin.state.records.tables import RECORDS
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, Snapshot, World

pytestmark = [pytest.mark.slow, pytest.mark.client]

CLIENTS, PARTS, ACTS = 64, 2, 60
ABSENT = "0" * 40
WIDGETS = "/repos/acme/widgets"
READS = (
    WIDGETS,
    f"{WIDGETS}/issues?state=all&per_page=5",
    f"{WIDGETS}/issues/1/timeline",
    f"{WIDGETS}/issues/comments",
    f"{WIDGETS}/issues/events",
    f"{WIDGETS}/pulls?state=all&sort=updated",
    f"{WIDGETS}/pulls/2",
    f"{WIDGETS}/pulls/2/reviews",
    f"{WIDGETS}/branches",
    f"{WIDGETS}/labels",
    f"{WIDGETS}/milestones?state=all",
    f"{WIDGETS}/collaborators",
    "/repos/eve/widgets",
    "/user/repos",
    "/search/issues?q=repo:acme/widgets",
)
QUERY = """{ repository(owner: "acme", name: "widgets") {
  pushedAt issues(first: 5) { totalCount nodes { title state labels(first: 3) { nodes { name } }
    comments(last: 2) { nodes { body isMinimized } } timelineItems(last: 4) { nodes { __typename } } } }
  pullRequests(last: 4) { nodes { title mergeable reviewDecision autoMergeRequest { mergeMethod }
    reviewThreads(first: 3) { nodes { isResolved } } headRefOid } }
  refs(refPrefix: "refs/heads/", first: 9) { nodes { name target { oid } } } } }"""

ISSUE = 'query($number: Int!) { repository(owner: "acme", name: "widgets") { issue(number: $number) { body } } }'


@dataclass
class Side:
    """A world and a client of it; a fork takes its place. One that does not remember reads everything anew."""

    world: World
    remembers: bool = True
    earlier: list[Snapshot] = field(default_factory=list[Snapshot])

    def __post_init__(self) -> None:
        self.hosting = Hosting()
        self.client = AsgiClient(self.hosting)
        self._issue_token()

    def _issue_token(self) -> None:
        self.token = self.hosting.issue_token(self.world, self.world.database.all(User, login="ann")[0])

    def prepare(self) -> None:
        """Drop whatever is kept, unless this side is to use it; what is read from git by its sha never changes."""
        if not self.remembers:
            self.world.database._forget_everything()
            for repository in self.world.database.all(Repository):
                self.world.git(repository).close()

    def move(self, move: "Move") -> object:
        self.prepare()
        done = move(self)
        return done.content if isinstance(done, AsgiReply) else done

    def ask(self, method: str, path: str, body: object = None, **options: str) -> AsgiReply:
        self.prepare()
        target, _, query = path.partition("?")
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.client.ask(method, target.encode(), token=self.token, query=query.encode(), body=content, **options)

    def fork(self) -> None:
        self.prepare()
        parent, self.world = self.world, self.world.fork()
        self.hosting.remove(parent)
        parent.close()
        self._issue_token()

    def answers(self) -> list[tuple[int, bytes, str | None]]:
        """Return what every door says."""
        found = [self.ask("GET", path) for path in READS]
        found.append(self.ask("POST", "/graphql", {"query": QUERY}))
        found.append(self.ask("GET", "/acme/widgets.git/info/refs?service=git-upload-pack", host="github.com"))
        return [(one.status, one.content, one.headers.get("link")) for one in found]

    def close(self) -> None:
        self.client.close()
        self.world.close()


Move = Callable[[Side], object]


def push_body(old: str | None, new: str | None, ref: str) -> bytes:
    """Return a push of one ref to an object that the repository has, which needs an empty pack."""
    head = packet(f"{old or ABSENT} {new or ABSENT} {ref}\0report-status".encode()) + FLUSH
    empty = b"PACK" + (2).to_bytes(4, "big") + bytes(4)
    return head if new is None else head + empty + hashlib.sha1(empty).digest()


def push(branch: str, target: str) -> Move:
    def move(side: Side) -> AsgiReply:
        home = side.world.database.all(Repository, order="id")[0]
        git = side.world.git(home)
        old, new = git.ref(f"refs/heads/{branch}"), git.ref(f"refs/heads/{target}")
        body = push_body(old, None if new == old else new, f"refs/heads/{branch}")
        path = f"/{lookup.full_name(side.world, home)}.git/git-receive-pack"
        return side.ask("POST", path, body, host="github.com")

    return move


def undo(wanted: list[Step], *, inside: bool) -> Move:
    """Return a move that is taken back: all of it, or a part while the rest stays."""

    def move(side: Side) -> None:
        with suppress(ZeroDivisionError), side.world.acting(None) as act:
            if inside:
                issues.create(act, act.database.all(Repository)[0], title="stays")
            with suppress(*([ZeroDivisionError] if inside else [])), side.world.acting(None):
                perform(side.world, wanted)
                side.answers()  # so that there is something to forget
                side.world.storage.refs()
                raise ZeroDivisionError

    return move


def restore(side: Side) -> None:
    side.prepare()
    side.earlier.append(side.world.snapshot())
    with suppress(IndexError):
        side.world.restore(side.earlier[-2])


MUTATIONS = """mutation { a: updateRepository(input: {repositoryId: "%s", description: "%s"}) { clientMutationId }
  b: addComment(input: {subjectId: "I_none", body: "x"}) { clientMutationId } }"""


def mutate(number: int) -> Move:
    """Return a document whose first mutation is done and whose second is refused."""

    def move(side: Side) -> AsgiReply:
        home = side.ask("GET", WIDGETS).json().get("node_id", "")
        return side.ask("POST", "/graphql", {"query": MUTATIONS % (home, number)})

    return move


BODIES = st.sampled_from([{"title": "New"}, {"title": ""}, {}, {"title": "x", "labels": ["bug"], "milestone": 99}])
KINDS = (
    steps(most=4).map(lambda wanted: lambda side: perform(side.world, wanted)),
    st.builds(undo, steps(most=4), inside=st.booleans()),
    st.builds(push, st.sampled_from(BRANCHES), st.sampled_from(BRANCHES)),
    st.just(Side.fork),
    st.just(restore),
    BODIES.map(lambda body: lambda side: side.ask("POST", f"{WIDGETS}/issues", body).status),
    st.builds(mutate, st.integers(0, 3)),
)


@st.composite
def moves_of_every_kind(draw: st.DrawFn) -> list[Move]:
    """Draw moves in any order, each kind among them; every one is followed by reads at every door."""
    kinds = draw(st.permutations((*KINDS, *draw(st.lists(st.sampled_from(KINDS), max_size=4)))))
    return [draw(kind) for kind in kinds]


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with base_world() as world:
        yield world


def without_cache(world: World) -> World:
    """Return a fork that reads every record from its table, every time."""
    with world.database.locked():
        database = Database(from_image(world.database.to_bytes()), most_cached_kb=0)
        return World(database, world.storage.fork())


@contextmanager
def two_sides(world: World) -> Generator[tuple[Side, Side]]:
    cached, plain = Side(world.fork()), Side(without_cache(world), remembers=False)
    try:
        yield cached, plain
    finally:
        cached.close()
        plain.close()


def check_kept(world: World) -> None:
    """What is kept must be what a fresh reader finds."""
    database = world.database
    assert database.to_bytes() == image(database._connection)
    for model in RECORDS:
        assert database.all(model) == database.select(model, "ORDER BY id")
        assert database.count(model) == len(database.all(model))
    for repository in database.all(Repository):
        fresh = GitRepository(world.git(repository).path)
        assert world.storage.refs()[repository.id] == {"HEAD": f"ref: {fresh.head()}", **fresh.refs()}
        fresh.close()
    check_noted_refs(world)


def check_noted_refs(world: World) -> None:
    """Records and refs must be of one moment: no move of a branch is noted and not done, or done and not noted."""
    noted: dict[tuple[int, str], object] = {}
    for change in world.database.changes():
        if change.table == "refs" and (change.field or "").startswith("refs/heads/"):
            noted[change.object_id, change.field or ""] = change.after
    found = world.storage.refs()
    for (identity, name), sha in noted.items():
        assert identity not in found or found[identity].get(name) == sha
    for one in world.database.all(Repository, parent_id=None):  # a fork begins with the branches of its parent
        branches = {name for name in found[one.id] if name.startswith("refs/heads/")}
        # The branch that a repository begins with is not noted.
        assert {name for name in branches if (one.id, name) not in noted} <= {f"refs/heads/{one.default_branch}"}
    for pull in world.database.select(Pull, "JOIN issues ON issues.id = pulls.issue_id WHERE issues.state = 'open'"):
        if pull.head_repository_id is not None:  # None: the fork is gone
            assert found[pull.head_repository_id][f"refs/heads/{pull.head_ref}"] == pull.head_sha
            assert found[pull.repository_id][f"refs/pull/{number_of(world, pull)}/head"] == pull.head_sha


def number_of(world: World, pull: Pull) -> int:
    issue = world.database.get(Issue, pull.issue_id)
    assert issue is not None
    return issue.number


@settings(max_examples=settings.default.max_examples // 6, suppress_health_check=[HealthCheck.too_slow])
@given(moves=moves_of_every_kind())
def test_whatever_happens_every_door_answers_as_without_a_cache(base: World, moves: list[Move]) -> None:
    with two_sides(base) as (cached, plain):
        for move in moves:
            assert cached.move(move) == plain.move(move)
            assert cached.answers() == plain.answers()
            plain.prepare()
            assert cached.world.snapshot() == plain.world.snapshot()
            check_kept(cached.world)


def test_a_closed_database_answers_nothing_from_its_cache(base: World) -> None:
    hosting = Hosting()
    world = base.fork()
    token = hosting.issue_token(world, world.database.all(User)[0])
    assert hosting.open(token) is not None
    world.close()
    assert hosting.open(token) is None


def move_refs(world: World) -> None:
    """Move a branch and write a comment in one act, many times."""
    for number in range(ACTS):
        with world.acting(None) as act:
            home = lookup.repository(world, None, "acme", "widgets")
            sha = world.git(home).ref("refs/heads/main") or ""
            refs.create(act, home, ref=f"refs/heads/act-{number}", sha=sha)
            comments.create(act, lookup.issue(world, home, 1), f"act-{number}")


def fork_again(world: World, stop: Event) -> int:
    """Fork and check whether it is whole, over and over."""
    forked = 0
    while not stop.is_set():
        with world.fork() as fork:
            check_noted_refs(fork)
            home = lookup.repository(fork, None, "acme", "widgets")
            heads = fork.git(home).refs("refs/heads/act-")
            said = {one.body for one in fork.database.select(comments.Comment, "WHERE body LIKE 'act-%'")}
            assert {name.removeprefix("refs/heads/") for name in heads} == said
        forked += 1
    return forked


def live(served: Served, number: int) -> None:
    """Write as one client, and read back what was written."""
    with served.client() as client:
        for part in range(PARTS):
            title = f"client {number} part {part}"
            made = client.post("/repos/acme/widgets/issues", json={"title": title}).json()
            path = f"/repos/acme/widgets/issues/{made['number']}"
            assert client.get(path).json()["title"] == title
            assert client.patch(path, json={"title": ""}).status_code == httpx2.codes.UNPROCESSABLE_CONTENT
            assert client.patch(path, json={"body": title}).json()["body"] == title
            asked = {"query": ISSUE, "variables": {"number": made["number"]}}
            assert client.post("/graphql", json=asked).json()["data"]["repository"]["issue"]["body"] == title
        if number % 8 == 0:  # a process each
            push_branch(served, client, f"client-{number}")
            push_twice(served, client, f"pull-{number}")


def push_branch(
    served: Served, client: httpx2.Client, branch: str, *, old: str | None = None, new: str | None = None
) -> None:
    """Push a branch: a new one, with the commit of main, unless commits are given."""
    home = lookup.repository(served.world, None, "acme", "widgets")
    sha = new or served.world.git(home).ref("refs/heads/main")
    body = push_body(old, sha, f"refs/heads/{branch}")
    assert b"ok refs/heads/" in client.post("/acme/widgets.git/git-receive-pack", content=body).content
    assert client.get(f"/repos/acme/widgets/git/ref/heads/{branch}").json()["object"]["sha"] == sha


def push_twice(served: Served, client: httpx2.Client, branch: str) -> None:
    """Push a branch, open a pull request of it, and push another commit to it."""
    git = served.world.git(lookup.repository(served.world, None, "acme", "widgets"))
    first = write_commit(git, {branch: "1"}, parents=[git.ref("refs/heads/main") or ""])
    second = write_commit(git, {branch: "2"}, parents=[first])
    push_branch(served, client, branch, new=first)
    assert client.post(f"{WIDGETS}/pulls", json={"title": branch, "head": branch, "base": "main"}).status_code == 201
    push_branch(served, client, branch, old=first, new=second)


def test_sixty_four_clients_at_once_read_what_they_wrote_and_forks_are_whole(served: Served) -> None:
    stop, world = Event(), served.world
    with ThreadPoolExecutor(2) as others, ThreadPoolExecutor(CLIENTS) as pool:
        acting = others.submit(move_refs, world)
        forking = others.submit(fork_again, world, stop)
        try:
            list(pool.map(lambda number: live(served, number), range(CLIENTS)))
        finally:
            stop.set()
        acting.result()
        assert forking.result() > 0
    assert world.database.count(Issue, "WHERE title LIKE 'client %'") == CLIENTS * PARTS
    check_kept(world)
    with two_sides(world) as (cached, plain):
        assert cached.answers() == plain.answers()


def test_a_fork_right_after_a_push_has_its_refs_and_its_records(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, forks, acting = served.world, list[World](), served.world.acting

    @contextmanager
    def act_and_fork(viewer: Viewer | None) -> Generator[Act]:
        with acting(viewer) as act:
            yield act
        forks.append(world.fork())

    monkeypatch.setattr(world, "acting", act_and_fork)
    home = lookup.repository(world, None, "acme", "widgets")
    with served.client() as client:
        push_branch(served, client, "pushed")
    with forks[0] as after:
        assert after.git(home).ref("refs/heads/pushed") == after.git(home).ref("refs/heads/main")
        check_noted_refs(after)


def move_another_branch(world: World, *, fails: bool = False) -> None:
    with suppress(ZeroDivisionError), world.acting(None) as act:
        home = lookup.repository(world, None, "acme", "widgets")
        refs.create(act, home, ref="refs/heads/beside", sha=world.git(home).ref("refs/heads/main") or "")
        if fails:
            raise ZeroDivisionError


def during_git(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something done in another thread when git has moved the refs of a push and nothing is recorded yet."""
    receive = http._receive

    async def receive_and_act(*arguments: Any) -> Any:
        done = await receive(*arguments)
        await to_thread.run_sync(act)
        return done

    monkeypatch.setattr(http, "_receive", receive_and_act)


@pytest.mark.parametrize(
    "beside",
    [
        lambda _: None,
        move_another_branch,
        lambda world: move_another_branch(world, fails=True),
        lambda world: world.restore(world.snapshot()),
    ],
    ids=["nothing else", "another act", "an act that fails", "a restored snapshot"],
)
def test_a_copy_in_the_middle_of_a_push_has_neither_its_refs_nor_its_records(
    served: Served, monkeypatch: pytest.MonkeyPatch, beside: Callable[[World], object]
) -> None:
    world, forks, snapshots = served.world, list[World](), list[Snapshot]()

    def copy() -> None:
        beside(world)
        forks.append(world.fork())
        snapshots.append(world.snapshot())

    during_git(monkeypatch, copy)
    home = lookup.repository(world, None, "acme", "widgets")
    with served.client() as client:
        client.post("/acme/widgets.git/git-receive-pack", content=push_body(None, main_of(world), "refs/heads/pushed"))
    (middle,) = forks
    with middle, world.fork() as after:
        assert middle.git(home).ref("refs/heads/pushed") is None
        assert snapshots[0].refs == middle.storage.refs()
        check_noted_refs(middle)
        check_noted_refs(after)
        check_kept(world)


def main_of(world: World) -> str:
    return world.git(lookup.repository(world, None, "acme", "widgets")).ref("refs/heads/main") or ""


def pull_head(world: World) -> str:
    """Return the branch of an open pull request in acme/widgets."""
    home = lookup.repository(world, None, "acme", "widgets")
    found = "JOIN issues ON issues.id = pulls.issue_id WHERE issues.state = 'open' AND pulls.head_repository_id = ?"
    return world.database.select(Pull, found, [home.id])[0].head_ref


def test_an_act_on_a_branch_that_is_being_pushed_is_done_or_undone_alone(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, home = served.world, lookup.repository(served.world, None, "acme", "widgets")
    name = f"refs/heads/{pull_head(world)}"
    git = world.git(home)
    old = git.ref(name) or ""
    pushed, acted = (write_commit(git, {"a": each}, parents=[old]) for each in ("pushed", "acted"))

    def act(*, fails: bool) -> None:
        with suppress(ZeroDivisionError), world.acting(None) as act:
            refs.update(act, home, ref=name, sha=acted, force=True)
            if fails:
                raise ZeroDivisionError

    found: list[str | None] = []
    for fails in (True, False):
        with monkeypatch.context() as patched, served.client() as client:
            during_git(patched, lambda fails=fails: act(fails=fails))
            body = push_body(old if fails else pushed, pushed if fails else old, name)
            client.post("/acme/widgets.git/git-receive-pack", content=body)
        found.append(git.ref(name))
        check_kept(world)
    assert found == [pushed, acted]


def test_a_push_that_cannot_be_recorded_moves_no_ref(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    world = served.world
    before = world.snapshot()

    def refuse(*_arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(refs, "record_push", refuse)
    with served.client() as client:
        body = push_body(None, main_of(world), "refs/heads/pushed")
        status = client.post("/acme/widgets.git/git-receive-pack", content=body).status_code

    assert status == 500
    assert world.snapshot().refs == before.refs
    check_kept(world)
