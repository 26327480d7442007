"""What the emulator costs, next to vercel-labs' `emulate` in the same run.

1. Cold start: from the start of the process until the first answer.
2. A fork of a world, against the size of the world.
3. Requests one after the other and eight clients at once: a REST read (one issue), a write (a comment), and the GraphQL
   query that the real `gh pr view` sends, which `emulate` has no answer for.
4. A REST read by each door of the emulator: port, unix socket, and the proxy that has GitHub's own names.
5. Pages of a large world against those of a small one: a list of issues, the query of `gh pr list`, and a search, which
   is asked for again, and after a write.

Both servers run in processes of their own, and each figure is taken of one and then of the other; cold starts and doors
are measured in turns. The budgets are goals, not gates.
"""

import argparse
import contextlib
import json
import socket
import ssl
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import _emulate as rival
from _figures import Budget, Figure, show
from _http_load import Connection, Target, latencies, throughput
from _processes import running, workplace
from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.pulls import pulls
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.queries import lookup
from ghx_twin.seed.worlds import open_world, person
from ghx_twin.server.loopback import Server
from ghx_twin.world import World

SEED = """\
version: 1
users:
  - {login: octocat, tokens: [{token: benchmark-token}]}
  - {login: reviewer}
repositories:
  - name: octocat/widgets
    collaborators: {reviewer: write}
    files: {README.md: "# Widgets\\n", src/a.py: "a = 1\\n"}
    history: [{branch: feature, message: Add b, files: {src/b.py: "b = 2\\nc = 3\\n"}}]
    issues: [{number: 1, title: It breaks, body: When used, labels: [bug], assignees: [octocat]}]
    pulls:
      - number: 2
        title: Add b
        body: "Fixes #1"
        head: feature
        author: reviewer
        labels: [enhancement]
        reviews: [{author: octocat, state: COMMENTED, body: Look}]
        checks: [{name: build, conclusion: success}]
"""
CLIENTS = 8
WARM_UP = 1000  # what the rival's compiler needs until answers are as fast as ever


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="cold starts of each side")
    # Not more: the rival refuses more than 5,000 requests an hour.
    parser.add_argument("--requests", type=int, default=400, help="requests of one kind")
    parser.add_argument("--issues", type=int, default=10_000, help="issues in the largest world that is forked")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="once and little of everything; to see that it runs")
    given = parser.parse_args()
    rounds, requests, most = (1, 40, 100) if given.quick else (given.rounds, given.requests, given.issues)
    with workplace() as folder:
        seed = folder / "seed.yaml"
        seed.write_text(SEED)
        figures = [
            *measure_starts(rounds),
            *measure_forks(most, 5 * rounds),
            *measure_requests(seed, requests),
            *measure_doors(seed, requests),
            *measure_sizes((50, 50), (100, 60) if given.quick else (5000, 500), 5 if given.quick else 50),
        ]
    show(figures, packages=["ghx-bench", "graphql-core", "pygit2", "uvicorn"], as_json=given.json)


def figure(what: str, seconds: Sequence[float], budget: Budget | None = None) -> Figure:
    scaled = [value * 1000 for value in seconds]
    spread = (min(scaled), max(scaled))
    return Figure(what=what, value=statistics.median(scaled), unit="ms", spread=spread, budget=budget)


def measure_starts(rounds: int) -> list[Figure]:
    rest, graphql, theirs = list[float](), list[float](), list[float]()
    time_start(our_command(free_port()), {"query": "{ viewer { login } }"})  # compiles what has no bytecode yet
    for _ in range(rounds):
        rest.append(time_start(our_command(free_port()), None))
        graphql.append(time_start(our_command(free_port()), {"query": "{ viewer { login } }"}))
        with contextlib.suppress(rival.NotObtainableError):
            theirs.append(time_start(rival.command(port := free_port()), None, port=port))
    return [
        figure("cold start to the first REST answer", rest, Budget(value=300, words="under 0.3 s")),
        figure("cold start to the first GraphQL answer", graphql, Budget(value=500, words="under 0.5 s")),
        *versus("emulate: cold start to the first REST answer", rest, theirs),
    ]


def versus(what: str, ours: Sequence[float], theirs: Sequence[float]) -> list[Figure]:
    if not theirs:
        return []
    ratio = statistics.median(ours) / statistics.median(theirs)
    return [figure(what, theirs), Figure(what="  ours / theirs", value=ratio)]


def our_command(port: int, *flags: str) -> list[str]:
    return [str(Path(sysconfig.get_path("scripts"), "ghx-twin")), "serve", f"--port={port}", *flags]


def time_start(command: list[str], query: object, *, port: int | None = None) -> float:
    """Start a server, ask as soon as it listens, and say how long the first good answer took."""
    began = time.perf_counter()
    with running(command) as process:
        if port is None:  # it says itself when it is ready
            ready = json.loads(process.stdout.readline()) if process.stdout else {}
            target = Target(url=ready["url"], token=ready["token"])
        else:
            target = Target(url=f"http://127.0.0.1:{port}", token=rival.TOKEN)
            wait_for(port)
        status, _ = target.ask("GET", "/user") if query is None else target.ask("POST", "/graphql", query)
        seconds = time.perf_counter() - began
    if status != 200:
        raise SystemExit(f"{command} answered {status}")
    return seconds


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def wait_for(port: int) -> None:
    for _ in range(20_000):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.001)
    raise SystemExit(f"nothing listens on port {port}")


def measure_forks(most_issues: int, times: int) -> list[Figure]:
    figures: list[Figure] = []
    for repository_count, issue_count in ((1, 10), (5, 10), (50, 10), (5, 1000), (5, most_issues)):
        with World.create() as world:
            fill(world, repository_count, min(issue_count, most_issues))
            took = [time_fork(world) for _ in range(times)]
        is_large = repository_count > 5 or issue_count > 1000
        budget = Budget(value=2, words="under 2 ms") if is_large else Budget(value=1, words="under 1 ms")
        what = f"fork of {repository_count} repositories, {min(issue_count, most_issues):,} issues"
        figures.append(figure(what, took, budget))
    return figures


def fill(world: World, repository_count: int, issue_count: int) -> None:
    with world.acting(None) as act:
        owner = users.create_user(act, login="octocat")
        homes = [repositories.create(act, owner=owner, name=f"r{n}", auto_init=True) for n in range(repository_count)]
        for home in homes:
            contents.put(act, home, path="src/a.py", content=b"a = 1\n", message="Add a")
        for number in range(issue_count):
            issues.create(act, homes[number % repository_count], title=f"Issue {number}", body="It breaks. " * 20)


def time_fork(world: World) -> float:
    began = time.perf_counter()
    fork = world.fork()
    seconds = time.perf_counter() - began
    fork.close()
    return seconds


def measure_requests(seed: Path, times: int) -> list[Figure]:
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(running(our_command(0, f"--seed={seed}")))
        ready = json.loads(process.stdout.readline()) if process.stdout else {}
        ours = Target(url=ready["url"], token=ready["token"])
        theirs = start_rival(stack)
        read = ("GET", "/repos/{}/widgets/issues/1", None)
        write = ("POST", "/repos/{}/widgets/issues/1/comments", {"body": "Hm"})
        view = ("POST", "/graphql", gh_query(seed))
        return [
            *compare("REST read", (ours, theirs), read, times, warm_up=WARM_UP, has_budget=True),
            *compare("comment write", (ours, theirs), write, times, warm_up=times),
            *compare("GraphQL `gh pr view`", (ours, None), view, times, warm_up=times),
        ]


def start_rival(stack: contextlib.ExitStack) -> Target | None:
    port = free_port()
    try:
        stack.enter_context(running(rival.command(port)))
    except rival.NotObtainableError as error:
        print(f"without emulate: {error}", file=sys.stderr)
        return None
    wait_for(port)
    target = Target(url=f"http://127.0.0.1:{port}", token=rival.TOKEN)
    target.ask("POST", "/user/repos", {"name": "widgets", "auto_init": True})
    target.ask("POST", "/repos/admin/widgets/issues", {"title": "It breaks", "body": "When used"})
    return target


def compare(
    what: str,
    sides: tuple[Target, Target | None],
    request: tuple[str, str, object],
    times: int,
    *,
    warm_up: int,
    has_budget: bool = False,
) -> list[Figure]:
    ours, theirs = sides
    method, path, body = request
    measured = load(ours, ours.request(method, path.format("octocat"), body), times, warm_up)
    figures = figures_of(what, measured)
    if theirs is not None:
        rivals = load(theirs, theirs.request(method, path.format("admin"), body), times, warm_up)
        slower, busier = measured[0] / rivals[0], measured[2] / rivals[2]
        most, least = Budget(value=2, words="at most 2"), Budget(value=0.5, words="at least 0.5", at_least=True)
        figures += [
            *figures_of(f"emulate: {what}", rivals),
            Figure(what=f"  {what}, p50 ours / theirs", value=slower, budget=most if has_budget else None),
            Figure(
                what=f"  {what}, {CLIENTS} clients ours / theirs", value=busier, budget=least if has_budget else None
            ),
        ]
    return figures


def load(target: Target, request: bytes, times: int, warm_up: int) -> tuple[float, float, float]:
    """Return p50 and p95 in seconds, one request after the other, and requests per second with many clients."""
    latencies(target, request, warm_up)
    took = sorted(latencies(target, request, times))
    return took[len(took) // 2], took[len(took) * 95 // 100], throughput(target, request, times, CLIENTS)


def figures_of(what: str, measured: tuple[float, float, float]) -> list[Figure]:
    middle, slow, rate = measured
    return [
        Figure(what=f"{what}, p50", value=middle * 1000, unit="ms"),
        Figure(what=f"{what}, p95", value=slow * 1000, unit="ms"),
        Figure(what=f"{what}, {CLIENTS} clients", value=rate, unit="requests/s"),
    ]


SERVE = """
import json, signal, sys
from pathlib import Path
from ghx_twin.seed.worlds import open_world, person
from ghx_twin.server.loopback import Server
with open_world(Path(sys.argv[1])) as world, Server() as server:
    server.add(world)
    given = server.client_environment(world, person(world, None)).variables
    print(json.dumps({**given, "URL": server.url}), flush=True)
    signal.pause()
"""


def measure_doors(seed: Path, times: int) -> list[Figure]:
    with running([sys.executable, "-c", SERVE, str(seed)]) as process:
        given = json.loads(process.stdout.readline()) if process.stdout else {}
        target = Target(url=given["URL"], token=given["GH_TOKEN"])
        trust = ssl.create_default_context(cafile=given["NODE_EXTRA_CA_CERTS"])
        doors: dict[str, Callable[[], Connection]] = {
            "port": target.connect,
            "unix socket": lambda: connect_unix(given["GHX_UNIX_SOCKET"]),
            "proxy": lambda: connect_by_proxy(given["HTTPS_PROXY"], trust),
        }
        request = target.request("GET", "/repos/octocat/widgets/issues/1")
        latencies(target, request, times)
        new, kept = {door: list[float]() for door in doors}, {door: list[float]() for door in doors}
        with contextlib.ExitStack() as stack:
            opened = {door: stack.enter_context(connect()) for door, connect in doors.items()}
            for _ in range(times):  # in turns, so that whatever else the machine does meets all of them
                for door, connect in doors.items():
                    new[door].append(time_read(connect, request))
                    kept[door].append(time_read(lambda door=door: contextlib.nullcontext(opened[door]), request))
    return [
        *(figure(f"REST read by {door}, new connection", seconds) for door, seconds in new.items()),
        *(figure(f"REST read by {door}, kept connection", seconds) for door, seconds in kept.items()),
    ]


LIST_OF_PULLS = """
query PullRequestList($owner: String!, $repo: String!, $limit: Int!, $state: [PullRequestState!] = OPEN) {
  repository(owner: $owner, name: $repo) {
    pullRequests(states: $state, first: $limit, orderBy: {field: CREATED_AT, direction: DESC}) {
      totalCount
      nodes { number title state url headRefName headRepositoryOwner { id login } isCrossRepository isDraft createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
}"""
PAGES: dict[str, tuple[str, str, object]] = {
    "page of 30 issues": ("GET", "/repos/octocat/r0/issues?per_page=30", None),
    "`gh pr list`": (
        "POST",
        "/graphql",
        {"query": LIST_OF_PULLS, "variables": {"owner": "octocat", "repo": "r0", "limit": 30}},
    ),
    "search": ("GET", "/search/issues?q=repo:octocat/r0+breaks&per_page=30", None),
}


def measure_sizes(small: tuple[int, int], large: tuple[int, int], times: int) -> list[Figure]:
    """Ask worlds with so many issues and pull requests for pages, in turns."""
    figures: list[Figure] = []
    with contextlib.ExitStack() as stack:
        targets: list[Target] = []
        server = stack.enter_context(Server())
        for issue_count, pull_count in (small, large):
            world = stack.enter_context(World.create())
            fill(world, 1, 0)
            add_conversations(world, issue_count, pull_count)
            targets.append(Target(url=server.url, token=server.hosting.issue_token(world, person(world, "octocat"))))
        write = ("POST", "/repos/octocat/r0/issues/1/comments", {"body": "Hm"})
        for what, request in PAGES.items():
            figures += compare_sizes(what, targets, request, times, None)
        figures += compare_sizes("search after a write", targets, PAGES["search"], times, write)
    return figures


def add_conversations(world: World, issue_count: int, pull_count: int) -> None:
    """Add pull requests and then issues to the first repository."""
    home = lookup.repository(world, None, "octocat", "r0")
    tip = world.git(home).refs()["refs/heads/main"]
    with world.acting(None) as act:
        for number in range(pull_count):
            refs.create(act, home, ref=f"refs/heads/b{number}", sha=tip)
            contents.put(act, home, path=f"f{number}.py", content=b"x", message="Add", branch=f"b{number}")
            pulls.create(act, home, title=f"Pull {number}", head=f"b{number}", base="main")
        for number in range(issue_count):
            issues.create(act, home, title=f"Issue {number}", body="It breaks. " * 20)


def compare_sizes(
    what: str,
    targets: Sequence[Target],
    request: tuple[str, str, object],
    times: int,
    before: tuple[str, str, object] | None,
) -> list[Figure]:
    took: list[list[float]] = [[] for _ in targets]
    for _ in range(times):  # in turns, so that whatever else the machine does meets both
        for target, seconds in zip(targets, took, strict=True):
            if before is not None:
                target.ask(*before)
            with target.connect() as connection:
                began = time.perf_counter()
                status, content = connection.ask(target.request(*request))
                seconds.append(time.perf_counter() - began)
            if status != 200 or b'"errors":' in content[:40]:
                raise SystemExit(f"{what} was answered {status}: {content[:300]!r}")
    small, large = (statistics.median(each) for each in took)
    budget = None if before else Budget(value=3, words="at most 3")
    return [
        figure(f"{what}, small world", took[0]),
        figure(f"{what}, large world", took[1]),
        Figure(what="  large / small", value=large / small, budget=budget),
    ]


def time_read(connect: Callable[[], contextlib.AbstractContextManager[Connection]], request: bytes) -> float:
    began = time.perf_counter()
    with connect() as connection:
        status, _ = connection.ask(request)
        seconds = time.perf_counter() - began
    if status != 200:
        raise SystemExit(f"the twin answered {status}")
    return seconds


def connect_unix(path: str) -> Connection:
    opened = socket.socket(socket.AF_UNIX)
    opened.connect(path)
    return Connection(opened)


def connect_by_proxy(url: str, trust: ssl.SSLContext) -> Connection:
    place = urlsplit(url)
    opened = socket.create_connection((place.hostname, place.port))
    opened.sendall(b"CONNECT api.github.com:443 HTTP/1.1\r\n\r\n")
    opened.recv(4096)
    return Connection(trust.wrap_socket(opened, server_hostname="api.github.com"))


def gh_query(seed: Path) -> object:
    """Let the real `gh` view a pull request, and return the query it sent for it."""
    sent: list[bytes] = []
    server = Server()
    server.app = listening(server.app, sent)
    with open_world(seed) as world, server:
        environment = server.client_environment(world, person(world, None))
        gh = Path(sysconfig.get_path("scripts"), "gh")
        command = [str(gh), "pr", "view", "2", "--repo", "octocat/widgets"]
        subprocess.run(command, env=environment.over({}), check=True, capture_output=True)
    return json.loads(max(sent, key=len))


def listening(app: Any, sent: list[bytes]) -> Any:
    """Wrap an application so that the bodies of its requests are kept."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def hear() -> Any:
            message = await receive()
            sent.append(message.get("body", b""))
            return message

        await app(scope, hear, send)

    return wrapped


if __name__ == "__main__":
    main()
