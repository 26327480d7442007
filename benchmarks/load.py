"""Many clients on many worlds of one server: mixed reads and writes for a minute, nothing lost, no memory kept.

Each client has a world of its own and one connection. It comments on an issue, and in between reads the issue, a list,
a search and a GraphQL query, as fast as it is answered. Then the comments in each world are counted: those that were
acknowledged must be there, and no others. The server is a process of its own, whose memory is read from outside.
"""

import argparse
import json
import sys
import threading
import time
from dataclasses import dataclass, field
from statistics import median

import psutil

from _figures import Budget, Figure, show
from _http_load import Connection, Target
from _processes import running

CLIENTS, SECONDS, EARLY_S = 64, 60.0, 10.0
SERVE = """
import json, signal, sys
from ghx_twin.commands import issues, repositories, users
from ghx_twin.server.loopback import Server
from ghx_twin.world import World
with World.create() as first, Server() as server:
    with first.acting(None) as act:
        owner = users.create_user(act, login="octocat")
        home = repositories.create(act, owner=owner, name="widgets", auto_init=True)
        for number in range(40):
            issues.create(act, home, title=f"Issue {number}", body="It breaks. " * 20)
    worlds = [first.fork() for _ in range(int(sys.argv[1]))]
    tokens = [server.hosting.issue_token(world, owner) for world in worlds]
    print(json.dumps({"url": server.url, "tokens": tokens}), flush=True)
    signal.pause()
"""
ISSUE = "/repos/octocat/widgets/issues/1"
READS: tuple[tuple[str, str, object], ...] = (
    ("GET", ISSUE, None),
    ("GET", "/repos/octocat/widgets/issues?per_page=30", None),
    ("GET", "/search/issues?q=repo:octocat/widgets+breaks&per_page=10", None),
    ("POST", "/graphql", {"query": '{repository(owner:"octocat",name:"widgets"){issues(first:10){nodes{title}}}}'}),
)


@dataclass(slots=True)
class Client:
    """What one client sent, and how it was answered."""

    target: Target
    written: list[str] = field(default_factory=list[str])
    failures: list[int] = field(default_factory=list[int])
    latencies_s: list[float] = field(default_factory=list[float])

    def warm_up(self) -> None:
        """Ask for everything once: what a world reads first, it keeps."""
        with self.target.connect() as connection:
            for each in READS:
                self._ask(connection, self.target.request(*each))

    def work(self, until: float) -> None:
        """Write and read until a moment of the monotonic clock."""
        reads = [self.target.request(*each) for each in READS]
        with self.target.connect() as connection:
            turn = 0
            while time.monotonic() < until:
                body = f"Comment {len(self.written)}"
                write = self.target.request("POST", f"{ISSUE}/comments", {"body": body})
                if self._ask(connection, write) == 201:
                    self.written.append(body)
                for _ in range(3):
                    turn += 1
                    self._ask(connection, reads[turn % len(reads)])

    def _ask(self, connection: Connection, request: bytes) -> int:
        began = time.perf_counter()
        status, _ = connection.ask(request)
        self.latencies_s.append(time.perf_counter() - began)
        if status >= 400:
            self.failures.append(status)
        return status

    def count_wrong(self) -> int:
        """Return how many comments are not as they were acknowledged."""
        found: list[str] = []
        with self.target.connect() as connection:
            page = 1
            while True:
                path = f"{ISSUE}/comments?per_page=100&page={page}"
                _, content = connection.ask(self.target.request("GET", path))
                bodies = [each["body"] for each in json.loads(content)]
                found += bodies
                page += 1
                if not bodies:
                    return len(set(found) ^ set(self.written)) + abs(len(found) - len(self.written))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    requests: int
    writes: int
    failures: int
    wrong: int
    median_ms: float
    early_mb: float
    late_mb: float
    seconds: float


def measure(clients: int, seconds: float, early_s: float) -> Outcome:
    """Load a server for some seconds; its memory is taken early and late."""
    with running([sys.executable, "-c", SERVE, str(clients)]) as process:
        ready = json.loads(process.stdout.readline()) if process.stdout else {}
        workers = [Client(Target(url=ready["url"], token=token)) for token in ready["tokens"]]
        for each in workers:
            each.warm_up()
        memory = psutil.Process(process.pid).memory_info
        began = time.monotonic()
        threads = [threading.Thread(target=each.work, args=(began + seconds,)) for each in workers]
        for thread in threads:
            thread.start()
        time.sleep(early_s)
        early_mb = memory().rss / 1e6
        for thread in threads:
            thread.join()
        return Outcome(
            requests=sum(len(each.latencies_s) for each in workers),
            writes=sum(len(each.written) for each in workers),
            failures=sum(len(each.failures) for each in workers),
            late_mb=memory().rss / 1e6,
            wrong=sum(each.count_wrong() for each in workers),
            median_ms=median(took for each in workers for took in each.latencies_s) * 1000,
            early_mb=early_mb,
            seconds=time.monotonic() - began,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=CLIENTS, help="clients, each with a world of its own")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long they work")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="a few clients for two seconds; to see that it runs")
    given = parser.parse_args()
    clients, seconds = (8, 2.0) if given.quick else (given.clients, given.seconds)
    found = measure(clients, seconds, min(EARLY_S, seconds / 2))
    show(
        [
            Figure(what=f"requests of {clients} clients", value=found.requests / found.seconds, unit="requests/s"),
            Figure(what="  median time of one", value=found.median_ms, unit="ms"),
            Figure(what="acknowledged writes", value=found.writes),
            Figure(what="  lost or twice", value=found.wrong, budget=Budget(value=0, words="none")),
            Figure(what="answers with 4xx or 5xx", value=found.failures, budget=Budget(value=0, words="none")),
            Figure(what="memory of the server, early", value=found.early_mb, unit="MB"),
            Figure(what="memory of the server, at the end", value=found.late_mb, unit="MB"),
            Figure(
                what="  at the end / early",
                value=found.late_mb / found.early_mb,
                budget=Budget(value=1.2, words="at most 1.2"),
            ),
        ],
        packages=["ghx-bench", "uvicorn"],
        as_json=given.json,
    )


if __name__ == "__main__":
    main()
