"""What a report says of the machines of a run: which is slower is told by the same cases, not by all cells."""

import json
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, write_run

from ghx_profiler.machine import MachineRecord
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.data.machines import MachineTally

WHAT = MachineRecord(system="Linux", release="6.1", architecture="arm64", processors=4, versions={"python": "3.12.1"})


def timed(mode: str, scenario: str, iteration: int, machine: str | None, wall_ms: int) -> ProfileRow:
    return a_row(mode, scenario, iteration, machine=machine, timing={"wallMs": wall_ms})


def rows() -> list[ProfileRow]:
    """Return rows of a machine that is twice as fast, and that has most blocks of the long scenario."""
    takes, speed = {"long": 80_000, "short": 1_000}, {"fast": 1, "slow": 2}
    blocks = [("long", 0, "fast"), ("long", 1, "fast"), ("long", 2, "slow"), ("short", 0, "fast")]
    blocks += [("short", number, "slow") for number in range(1, 6)]
    return [
        timed(mode, scenario, iteration, machine, takes[scenario] * speed[machine])
        for scenario, iteration, machine in blocks
        for mode in ("baseline", "ghx")
    ]


def test_machines_are_compared_by_the_cases_that_they_share() -> None:
    tally = MachineTally()
    for row in (*rows(), timed("ghx", "long", 7, None, 5)):
        tally.add(row)

    fast, slow = tally.lines({"fast": WHAT})

    assert fast[:3] == ("fast", "Linux 6.1, 4 x arm64, Python 3.12.1", "6")
    assert (fast[4], slow[4]) == ("0.50 x", "2.00 x")
    # The mean of all cells says the opposite, since the machines have different scenarios.
    assert float(fast[3].split()[0]) > float(slow[3].split()[0])
    assert (slow[1], slow[2], tally.split_blocks, len(tally.remarks())) == ("unknown", "12", 0, 1)


def test_a_machine_that_shares_no_case_is_compared_with_none() -> None:
    tally = MachineTally()
    for row in (timed("ghx", "one", 0, "a", 10), timed("ghx", "other", 0, "b", 10)):
        tally.add(row)

    assert tally.compare_speed("a") is None


@pytest.mark.slow
@pytest.mark.parametrize("is_split", [False, True])
def test_a_report_shows_the_machines_of_a_run_and_blocks_that_were_split(tmp_path: Path, is_split: bool) -> None:
    given = rows()
    changes: dict[str, Any] = {"machine": "fast"} if is_split else {}
    given[-1] = given[-1].model_copy(update=changes)

    made = generate_report([write_run(tmp_path / "run", given, machines={"fast": WHAT})], sessions="none")

    text = (made.directory / "report.md").read_text()
    assert "| fast | Linux 6.1, 4 x arm64, Python 3.12.1 |" in text
    assert ("1 block of 9 has rows of more than one machine" in text) is is_split
    summary = json.loads((made.directory / "data" / "summary.json").read_text())
    assert summary["sources"][0]["machines"] == {"fast": 6 + is_split, "slow": 12 - is_split}
