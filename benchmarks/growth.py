"""How the cost of one thing grows with how much there is: a page, a fork, a row of a report, a cell of a run.

Each line is one thing, measured at several sizes, with the exponent of the power law that fits best: 0 is a cost that
size does not change, 1 one that doubles with the size. Rows and cells are given as processor time divided by their
number, without what a small report or run takes: a fixed start that more and more share would hide that the rest
grows. Pages and forks are given as medians of the wall clock.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

import _bench_worker as cells
import report
import twin
from _figures import Budget, Machine, short
from _http_load import Target, latencies
from _processes import time_program, workplace
from ghx_twin.seed.worlds import person
from ghx_twin.server.loopback import Server
from ghx_twin.server.tokens import ensure_token
from ghx_twin.world import World

PER_PAGE = 10  # all pages are full, also those of the smallest repository
CONCURRENCY = 10
SMALL_REPORT = 100  # rows: as many charts and comparisons as with more of them
THREEFOLD = Budget(value=math.log(3) / math.log(100), words="at most 0.24: 100 x as many, 3 x the time")
TENFOLD = Budget(value=math.log(10) / math.log(1000), words="at most 0.33: 1,000 x as many, 10 x the time")
LINEAR = Budget(value=0.1, words="at most 0.1: the whole is linear")


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What one thing costs in milliseconds, by how much there is of something."""

    what: str
    by: str
    costs_ms: dict[int, float]
    budget: Budget | None = None

    @property
    def exponent(self) -> float:
        """The slope of the straight line through the logarithms, by least squares."""
        sizes, costs = map(math.log, self.costs_ms), map(math.log, self.costs_ms.values())
        return statistics.linear_regression(list(sizes), list(costs)).slope

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of the table."""
        costs = ", ".join(f"{size:,}: {short(cost)}" for size, cost in self.costs_ms.items())
        if self.budget is None:
            return self.what, self.by, costs, f"{self.exponent:+.2f}", ""
        verdict = "met" if self.budget.is_met_by(self.exponent) else "not met"
        return self.what, self.by, costs, f"{self.exponent:+.2f}", f"{self.budget.words} ({verdict})"


def by_size(sizes: Sequence[int], cost_ms: Callable[[int], float]) -> dict[int, float]:
    return {size: cost_ms(size) for size in sizes}


def by_size_beyond(first: int, sizes: Sequence[int], total_ms: Callable[[int], float]) -> dict[int, float]:
    """Return the cost of each beyond the first ones, which bear the start."""
    total_ms(first)  # what is made once for all that follow is no matter of size
    start = total_ms(first)
    return {size: (total_ms(size) - start) / (size - first) for size in sizes}


def measure_pages(sizes: Sequence[int], times: int) -> list[Growth]:
    """Ask for pages of a repository with more and more issues."""
    paths = {
        "first page of issues": "/repos/octocat/r0/issues?per_page={per_page}",
        "last page of issues": "/repos/octocat/r0/issues?per_page={per_page}&page={last}",
        "page of a search": "/search/issues?q=repo:octocat/r0+breaks&per_page={per_page}",
    }
    costs: dict[str, dict[int, float]] = {what: {} for what in paths}
    for size in sizes:
        with World.create() as world, Server() as server:
            twin.fill(world, 1, size)
            token = ensure_token(world, person(world, "octocat"))
            server.add(world)
            target = Target(url=server.url, token=token)
            for what, path in paths.items():
                wanted = target.request("GET", path.format(per_page=PER_PAGE, last=math.ceil(size / PER_PAGE)))
                latencies(target, wanted, 5)
                costs[what][size] = statistics.median(latencies(target, wanted, times)) * 1000
    # The first search after a change looks at every issue and counts what it found; only lists can do without.
    return [
        Growth(what=what, by="issues", costs_ms=each, budget=None if "search" in what else THREEFOLD)
        for what, each in costs.items()
    ]


def measure_forks(issues: Sequence[int], repositories: Sequence[int], times: int) -> list[Growth]:
    def fork_ms(repository_count: int, issue_count: int) -> float:
        with World.create() as world:
            twin.fill(world, repository_count, issue_count)
            twin.time_fork(world)
            return statistics.median(twin.time_fork(world) for _ in range(times)) * 1000

    return [
        Growth(
            what="fork, 5 repositories",
            by="issues",
            costs_ms=by_size(issues, lambda size: fork_ms(5, size)),
            budget=TENFOLD,
        ),
        Growth(
            what="fork, 10 issues",
            by="repositories",
            costs_ms=by_size(repositories, lambda size: fork_ms(size, 10)),
            budget=THREEFOLD,
        ),
    ]


def measure_rows(sizes: Sequence[int], folder: Path) -> Growth:
    def report_ms(count: int) -> float:
        path = report.write_rows(folder, count)
        command = [sys.executable, report.__file__, "--report", path, folder / f"growth-{count}"]
        return time_program(command).cpu_s * 1000

    return Growth(
        what="row of a report", by="rows", costs_ms=by_size_beyond(SMALL_REPORT, sizes, report_ms), budget=LINEAR
    )


def measure_cells(sizes: Sequence[int], folder: Path) -> Growth:
    def run_ms(count: int) -> float:
        began = time.process_time()
        anyio.run(cells.measure, count, 1, CONCURRENCY, 0, Path(tempfile.mkdtemp(dir=folder)))
        return (time.process_time() - began) * 1000

    return Growth(what="cell of a run", by="cells", costs_ms=by_size_beyond(1, sizes, run_ms), budget=LINEAR)


def show(growths: Sequence[Growth], *, as_json: bool) -> None:
    machine = Machine.here(["ghx-bench"])
    if as_json:
        measured = [asdict(growth) | {"exponent": growth.exponent} for growth in growths]
        print(json.dumps({"machine": asdict(machine), "growths": measured}, indent=2))
        return
    print(f"{machine}\n\n| one | by | milliseconds by size | exponent | budget |\n|---|---|---|---:|---|")
    for growth in growths:
        print(f"| {' | '.join(growth.cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the largest report, from 1,000 on")
    parser.add_argument("--times", type=int, default=50, help="pages and forks of each size")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="little of everything; to see that it runs")
    given = parser.parse_args()
    if given.rows < 2000:
        parser.error("--rows is at least 2000")
    with workplace() as folder:
        if given.quick:
            growths = [
                *measure_pages([10, 100], 3),
                *measure_forks([10, 100], [1, 5], 3),
                measure_rows([200, 400], folder),
                measure_cells([10, 30], folder),
            ]
        else:
            growths = [
                *measure_pages([10, 100, 1_000, 10_000], given.times),
                *measure_forks([10, 100, 1_000, 10_000], [1, 10, 50], given.times),
                measure_rows(sorted({1_000, min(10_000, given.rows), given.rows}), folder),
                measure_cells([10, 100, 1_000], folder),
            ]
    show(growths, as_json=given.json)


if __name__ == "__main__":
    main()
