"""Rows of control agents: what they prove, and what they object to, said where it cannot be overlooked."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import a_row, write_run

from ghx_bench.cli.running.measuring import show_result
from ghx_profiler.control_kinds import CONTROLS, control_kind_of_name
from ghx_profiler.plan.cell import Arm
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.data.controls import ControlTally, alarms
from ghx_profiler.suite import SuiteResult

pytestmark = pytest.mark.slow

WRONG: dict[str, Any] = {"success": False}
UNMEASURED: dict[str, Any] = {"success": None, "error": "step 1 failed", "cause": "bench", "completionReason": "error"}
UNSOLVED = "Not every scenario is solved by reference"
FREE = "Doing nothing passes"
PROVEN = "can be solved and checked"


def written(folder: Path, rows: list[Any]) -> tuple[str, str, dict[str, Any]]:
    """Return the page, the Markdown and the summary of a report on these rows."""
    made = generate_report([write_run(folder / "run", rows, provider="reference")], sessions="none")
    texts = [(made.directory / name).read_text().split("<script>")[0] for name in ("index.html", "report.md")]
    return texts[0], texts[1], json.loads((made.directory / "data" / "summary.json").read_text())


def test_a_reference_that_solves_everything_proves_it_and_objects_to_nothing(tmp_path: Path) -> None:
    page, text, summary = written(tmp_path, [a_row(provider="reference"), a_row("baseline", provider="reference")])

    assert PROVEN in page
    assert PROVEN in text
    assert 'class="alarm"' not in page
    assert summary["controlObjections"] == []


def test_what_the_reference_does_not_solve_is_named_by_scenario_and_mode_and_nothing_is_called_proven(
    tmp_path: Path,
) -> None:
    rows = [
        a_row("ghx", "fine-001", provider="reference"),
        a_row("ghx", "wrong-001", provider="reference", **WRONG),
        a_row("baseline", "broken-001", provider="reference", **UNMEASURED),
    ]

    page, text, summary = written(tmp_path, rows)

    for shown in (page, text):
        assert UNSOLVED in shown
        assert PROVEN not in shown
    assert f"WARNING: {UNSOLVED}" in text
    assert "Not proved that broken-001 and wrong-001 can be solved: reference passed 1 of 3 sessions." in page
    said = page.partition('class="alarm"')[2].partition("</p>")[0]
    assert "broken-001 in baseline (0 of 1 passed, 1 not measured); wrong-001 in ghx (0 of 1 passed)" in said
    assert "fine-001" not in said
    assert summary["controlObjections"] == [
        {"agent": "reference", "scenario": scenario, "mode": mode, "rows": 1, "passed": 0, "notMeasured": unmeasured}
        for scenario, mode, unmeasured in (("broken-001", "baseline", 1), ("wrong-001", "ghx", 0))
    ]


def test_a_scenario_that_nop_passes_is_named_and_one_that_it_does_not_is_fine(tmp_path: Path) -> None:
    rows = [a_row("ghx", "free-001", provider="nop"), a_row("ghx", "hard-001", provider="nop", **WRONG)]

    page, text, summary = written(tmp_path, rows)

    assert f"{FREE}: free-001 in ghx (1 of 1 passed)." in page
    assert FREE in text
    assert "doing nothing does not pass" not in page
    assert [each["scenario"] for each in summary["controlObjections"]] == ["free-001"]


def test_a_nop_that_never_passes_proves_that_and_not_that_scenarios_can_be_solved(tmp_path: Path) -> None:
    page, _, summary = written(tmp_path, [a_row(provider="nop", **WRONG)])

    assert "Doing nothing passes none of 1 task: nop passed 0 of 1 session." in page
    assert PROVEN not in page
    assert summary["controlObjections"] == []


def test_agents_under_test_may_fail_without_an_alarm(tmp_path: Path) -> None:
    page, _, summary = written(tmp_path, [a_row(**WRONG), a_row("baseline")])

    assert 'class="alarm"' not in page
    assert summary["controlObjections"] == []


def test_many_unsolved_scenarios_are_counted_and_the_table_lists_them_all(tmp_path: Path) -> None:
    rows = [a_row("ghx", f"s-{number:02}", provider="reference", **WRONG) for number in range(9)]

    page, _, summary = written(tmp_path, rows)

    assert "; and 3 more scenarios." in page
    assert "What control agents object to: 9 cases" in page
    assert len(summary["controlObjections"]) == 9


@pytest.mark.parametrize(("provider", "fate", "says"), [("reference", WRONG, UNSOLVED), ("nop", {}, FREE)])
def test_the_end_of_a_run_warns_in_the_terminal_and_in_json(
    provider: str, fate: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", [a_row("ghx", "mine-001", provider=provider, **fate)], provider=provider)
    result = SuiteResult(run_id="r", directory=run, total=1, measured=1)

    show_result(result, as_json=False)
    assert f"WARNING: {says}: mine-001 in ghx" in capsys.readouterr().out

    show_result(result, as_json=True)
    (objection,) = json.loads(capsys.readouterr().out)["controlObjections"]
    assert (objection["agent"], objection["scenario"]) == (provider, "mine-001")


def test_the_end_of_a_run_is_quiet_where_nothing_speaks_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", [a_row(provider="reference"), a_row("baseline", **WRONG)])

    show_result(SuiteResult(run_id="r", directory=run, total=2, measured=2), as_json=False)

    assert "WARNING" not in capsys.readouterr().out


FATES = st.sampled_from([{}, WRONG, UNMEASURED])
CELLS = st.tuples(
    st.sampled_from([*(each.agent for each in CONTROLS.values()), "opencode"]),
    st.sampled_from("xyz"),
    st.sampled_from("ab"),
    FATES,
)


@given(st.lists(CELLS, max_size=12))
def test_either_something_is_proven_of_a_control_or_something_is_objected(cells: list[Any]) -> None:
    tally, rows = ControlTally(), []
    for agent, scenario, mode, fate in cells:
        rows.append(a_row(mode, scenario, len(rows), provider=agent, **fate))
    for row in rows:
        kind = control_kind_of_name(row.agent_name)
        if kind is not None:
            tally.add(row, Arm(mode=row.mode), kind)

    unsolved = {(row.scenario_id, row.mode) for row in rows if row.provider == "reference" and row.success is not True}
    free = {(row.scenario_id, row.mode) for row in rows if row.provider == "nop" and row.success is True}
    found = [each for each in tally.violations if each.agent == "reference"]
    assert {(each.scenario, each.mode) for each in found} == unsolved
    assert {(e.scenario, e.mode) for e in tally.violations if e.agent == "nop" and e.passed} == free
    said, proofs = " ".join(alarms(tally.violations)), " ".join(tally.confirmations())
    assert (UNSOLVED in said, FREE in said) == (bool(unsolved), bool(free))
    has_reference = any(row.provider == "reference" for row in rows)
    assert (PROVEN in proofs) == (has_reference and not unsolved)
