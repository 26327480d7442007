"""What the verdicts of a report say first, say once, and do not say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, made_up_rows, write_run

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import generate_report

pytestmark = pytest.mark.slow

NOW = "2026-04-01T12:00:00.000Z"


def report_on(rows: list[ProfileRow], folder: Path) -> tuple[str, dict[str, Any]]:
    made = generate_report([write_run(folder / "run", rows)], generated_at=NOW)
    return (made.directory / "report.md").read_text().replace("\\", ""), dict(made.summary)


def top_of(text: str) -> str:
    """Return the headline, and what must be known of it."""
    return text.partition("\n## ")[0]


def verdicts_of(text: str) -> str:
    return text.partition("## Verdicts, one by one")[2].partition("\n## ")[0]


def spoilt(row: ProfileRow) -> ProfileRow:
    """Return the row as the bench leaves it when it breaks at once: cheap, quick, and not measured."""
    changes = {"success": None, "error": "no such file", "cause": "bench", "timing": {"wallMs": 12}}
    return a_row(row.mode, row.scenario_id, row.iteration, **changes, tokens={"active": 3}, cost={"totalUsd": 0.001})


def test_a_mode_without_a_measured_row_is_warned_of_first_and_wins_nothing(tmp_path: Path) -> None:
    rows = [spoilt(row) if row.mode == "mcp" else row for row in made_up_rows(scenarios=3)]

    text, summary = report_on(rows, tmp_path)

    assert "Nothing is known about mcp: none of its 15 sessions could be measured.**" in top_of(text)
    assert "> Nothing is known about mcp: none of its 15 rows could be measured (15 bench)." in top_of(text)
    said = verdicts_of(text)
    assert "mcp is better" not in said
    assert said.count("no row of mcp could be measured.") == 3  # once for each amount
    assert "| mcp | 0/15 (0 % to 20 %) | unknown (n 0)" in text
    assert summary["modes"]["mcp"]["metrics"]["latency_wall_ms"]["leftOutCauses"] == {"bench": 15}
    assert "Amounts over all attempts, on these scenarios" in text


def test_a_single_row_is_not_called_rows(tmp_path: Path) -> None:
    rows = [a_row("baseline"), spoilt(a_row("ghx"))]

    text, _ = report_on(rows, tmp_path)

    assert "none of its 1 row could be measured" in text
    assert not re.search(r"\b1 (rows|scenarios|tests|modes|sessions)\b", text)


def test_a_mode_that_never_succeeds_is_said_to_spend_on_failing(tmp_path: Path) -> None:
    rows = [
        a_row(mode, f"s{n}", r, success=mode == "ghx") for mode in ("baseline", "ghx") for n in (1, 2) for r in (0, 1)
    ]

    text, _ = report_on(rows, tmp_path)

    assert "> No row of baseline succeeded: what it spends is what failing costs" in top_of(text)
    assert "No row of ghx" not in text


def test_success_comes_first_and_what_cannot_be_told_is_told_once(tmp_path: Path) -> None:
    rows = [
        row.model_copy(
            update={
                "success": True,
                "error": None,
                "cause": None,
                "cost": row.cost.model_copy(update={"total_usd": None}),
            }
        )
        for row in made_up_rows(scenarios=3)
    ]

    text, _ = report_on(rows, tmp_path)

    lines = [line for line in verdicts_of(text).splitlines() if line.startswith("- ")]
    assert "ghx, mcp and baseline solve every task; ghx " in top_of(text)
    assert "about success between ghx and baseline, mcp and baseline on these scenarios" in lines[0]
    assert "every row of both succeeded" in lines[0]
    assert sum("every row of both succeeded" in line for line in lines) == 1
    assert "cost is not known in any row of either" in lines[-1]
    assert "Holm over 4 of 8 tests; 4 could not be estimated." in verdicts_of(text)


def test_tasks_like_these_are_refused_in_plain_words(tmp_path: Path) -> None:
    text, _ = report_on(list(made_up_rows(scenarios=1)), tmp_path)

    assert (
        "*Nothing can be concluded on tasks like these: at least 6 scenarios with rows of both are needed "
        "to say anything about other tasks, and there is 1."
    ) in verdicts_of(text)


def test_before_and_after_runs_are_compared_as_a_whole_first_and_the_page_opens_with_that(tmp_path: Path) -> None:
    rows = [a_row(mode, f"s{n}", i, runId="before") for mode in ("gh", "ghx") for n in range(5) for i in range(2)]
    lost = {("gh", "s1"), ("ghx", "s2"), ("ghx", "s3")}
    later = [
        row.model_copy(update={"run_id": "after", "success": (row.mode, row.scenario_id) not in lost}) for row in rows
    ]
    runs = [write_run(tmp_path / name, of, run_id=name) for name, of in (("before", rows), ("after", later))]

    made = generate_report(runs, generated_at=NOW, output_dir=tmp_path / "out")

    text = (made.directory / "report.md").read_text().replace("\\", "")
    assert re.search(r"\*\*Worse: 14 of 20 solved instead of 20 \(-30 points, -\d+ to -\d+\)\.", top_of(text))
    assert made.summary["headline"]["sentences"][0].startswith("Worse: ")  # type: ignore[index,call-overload]


def test_the_plan_of_the_summary_is_written_as_everything_else_in_it(tmp_path: Path) -> None:
    _, summary = report_on([a_row("ghx")], tmp_path)

    assert {"marginPct", "higherIsBetter"} <= summary["plan"].keys()
    assert not [key for key in summary["plan"] if "_" in key]


def test_nothing_is_called_minus_zero_or_beyond_what_can_be(tmp_path: Path) -> None:
    text, _ = report_on(list(made_up_rows(scenarios=6)), tmp_path)

    assert not re.search(r"-\$?0(\.0+)?(?![\d.])", text.replace("2026-0", ""))
    assert not re.search(r"(?<!to )-[\d.,]+ ms", text.partition("## All comparisons")[0])


def test_chunks_of_rows_agree_on_categories_that_only_one_of_them_has(tmp_path: Path) -> None:
    shell, mcp = ({"total": 2, "byCategory": {name: 2}} for name in ("shell", "mcp"))
    rows = [a_row("baseline", "s1", n, toolCalls=shell, sessionId="") for n in range(2_000)]
    rows.append(a_row("ghx", "s1", 0, toolCalls=mcp))
    (tmp_path / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))

    made = generate_report(
        results=[tmp_path / "rows.jsonl"], generated_at=NOW, output_dir=tmp_path / "out", formats=["data"]
    )

    modes: Any = made.summary["modes"]
    assert modes["baseline"]["metrics"]["tool_calls_category_mcp"]["n"] == 2_000
    assert modes["ghx"]["metrics"]["tool_calls_category_shell"]["max"] == 0


def test_an_old_row_that_was_stopped_is_no_wrong_answer(tmp_path: Path) -> None:
    rows = [
        a_row("ghx", iteration=number, version=None, completionReason=end, success=False)
        for number, end in enumerate(("timeout", "tool_limit"))
    ]

    _, summary = report_on(rows, tmp_path)

    assert [each["cause"] for each in summary["failures"]] == ["agent budget", "agent timeout"]


def priced(mode: str, costs: dict[str, float]) -> list[ProfileRow]:
    cells = [(f"s{number}", each) for number in range(6) for each in range(4)]
    return [
        a_row(mode, scenario, each, cost={"totalUsd": costs[mode] * (1 + each)}, tokens={"active": 10 + each})
        for scenario, each in cells
    ]


def test_where_b_is_zero_the_difference_is_shown_in_the_metrics_own_unit(tmp_path: Path) -> None:
    costs = {"baseline": 0.0, "ghx": 0.5}

    text, summary = report_on([row for mode in costs for row in priced(mode, costs)], tmp_path)

    line = next(line for line in text.splitlines() if line.startswith("| cost: ghx vs baseline | +$1.2500 |"))
    _, _, _, interval, _, p, _, verdict, *_ = (cell.strip() for cell in line.split("|"))
    assert re.fullmatch(r"\+\$\d\.\d{4} to \+\$\d\.\d{4}", interval)
    assert (verdict, "not estimable" in line, p.startswith("<") or float(p) < 0.01) == ("worse", False, True)
    assert "Not drawn, for the second mode's mean is not above 0 and there is nothing to take per cent of: cost" in text
    cost = next(each for each in summary["comparisons"] if each["metric"] == "cost_total_usd")
    assert (cost["reductionPct"], cost["raw"]["reduction"]) == (None, -1.25)
    assert cost["raw"]["low"] < cost["raw"]["high"] < 0


def test_nothing_is_missed_in_a_chart_of_what_nothing_can_be_said_about(tmp_path: Path) -> None:
    costs = {"baseline": 0.0, "ghx": 0.0}

    text, _ = report_on([row for mode in costs for row in priced(mode, costs)], tmp_path)

    assert "Not drawn" not in text


def test_what_could_not_have_been_shown_is_said_with_its_reason(tmp_path: Path) -> None:
    rows = [a_row(mode, "s1", each, success=each > 0) for mode in ("baseline", "ghx") for each in range(2)]

    text, _ = report_on(rows, tmp_path)

    assert "| success: ghx vs baseline | 0.0 points |" in text
    line = next(line for line in text.splitlines() if line.startswith("| success: ghx vs baseline | none |"))
    assert "No difference, however large, could have been shown: with so few repetitions" in line
    assert "unknown" not in line


def test_one_row_a_mode_is_called_too_few(tmp_path: Path) -> None:
    text, _ = report_on([a_row("baseline"), a_row("ghx", tokens={"active": 7})], tmp_path)

    assert "on these scenarios: one scenario, one repetition: too few." in verdicts_of(text)
    assert "zero variance" not in verdicts_of(text)


def test_one_wide_interval_does_not_rule_the_chart(tmp_path: Path) -> None:
    def row(mode: str, number: int, each: int) -> ProfileRow:
        slow = 10.0 ** (8 * (mode == "ghx")) * (1 + each)
        return a_row(mode, f"s{number}", each, timing={"wallMs": slow}, tokens={"active": 100 + each})

    rows = [row(mode, number, each) for mode in ("baseline", "ghx") for number in range(4) for each in range(4)]

    text, summary = report_on(rows, tmp_path)

    assert "wall time: ghx vs baseline | 100 million times as much | " in text
    assert "Arrows: reaches beyond the chart." in text
    latency = next(each for each in summary["comparisons"] if each["metric"] == "latency_wall_ms")
    assert latency["reductionPct"] < -1e9
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    charts = json.loads(page.partition('id="charts">')[2].partition("</script>")[0])
    drawn = charts["forest-amounts"]["data"]["values"]
    assert min(each["change"] for each in drawn) == -400


def test_of_controls_beside_agents_the_banner_says_which_modes_are_meant(tmp_path: Path) -> None:
    files = [tmp_path / "idle.jsonl", tmp_path / "agent.jsonl"]
    for file, row in zip(files, (a_row("baseline", provider="nop"), a_row("ghx")), strict=True):
        file.write_bytes(row.to_bytes() + b"\n")

    made = generate_report(results=files, output_dir=tmp_path / "report")

    text = (made.directory / "report.md").read_text().replace("\\", "")
    summary = json.loads((made.directory / "data" / "summary.json").read_text())
    assert "Of a control agent: baseline (nop)." in text
    assert "these rows are of a control agent" not in text
    assert summary["control"] is True
