"""A report on variants: listed under their scenario, told apart by name, and counted as one task."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from report_runs import made_up_rows, write_run

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.report import generate_report
from ghx_profiler.reports.wording import TIMES

FORMS = (
    "scenario-000",
    "scenario-000@large",
    "scenario-000@vague",
    "scenario-001",
    "scenario-001@large",
    "scenario-002",
)


def rows() -> list[ProfileRow]:
    """Return rows of three scenarios in six forms; of one, the large form is never solved by baseline."""
    renamed: list[ProfileRow] = []
    for row in made_up_rows(modes=("baseline", "ghx"), scenarios=len(FORMS), repetitions=6):
        form = FORMS[int(row.scenario_id[-3:])]
        lost = {"success": False} if (form, row.mode) == ("scenario-001@large", "baseline") else {}
        renamed.append(row.model_copy(update={"scenario_id": form, **lost}))
    return renamed


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = write_run(tmp_path_factory.mktemp("runs") / "run_1", rows())
    return generate_report([run], generated_at="2026-03-04T00:00:00Z", sessions="all").directory


def test_words_count_scenarios_and_not_variants(report: Path) -> None:
    text = (report / "report.md").read_text()

    assert f"3 tasks in 6 variants {TIMES} 2 modes {TIMES} 6 repetitions" in text
    assert "On these 3 tasks" in text
    assert "6 tasks" not in text.replace("at least 6 tasks", "")
    assert "paired within variant and model; every scenario weighs the same" in text
    summary = json.loads((report / "data" / "summary.json").read_text())
    assert {each["n"] for each in summary["comparisons"] if each["metric"] == "success"} == {3}
    assert summary["modes"]["ghx"]["scenarios"] == 3
    assert list(summary["matrix"]["scenarios"]) == list(FORMS)


def test_forms_of_a_scenario_stand_together(report: Path) -> None:
    table = (report / "report.md").read_text().partition("## Verdicts")[0]
    listed = re.findall(r"^\| (scenario-\d+\S*) \|", table, re.MULTILINE)

    assert sorted(listed) == sorted(FORMS)
    tasks = [name.partition("@")[0] for name in listed]
    assert len([task for task, before in zip(tasks, ["", *tasks], strict=False) if task != before]) == 3
    assert listed[:2] == ["scenario-001", "scenario-001@large"], "where arms are farthest apart comes first"


def test_variants_are_told_beside_the_plain_form_of_the_same_scenarios(report: Path) -> None:
    text = (report / "report.md").read_text()
    section = text.partition("## Variants, beside the plain form")[2].partition("\n## ")[0]
    cells = [line.split(" | ") for line in section.splitlines() if line.startswith(("| large", "| vague"))]

    assert [cell[:2] for cell in cells] == [["| large", "2"], ["| vague", "1"]]
    won = {mode: sum(row.success is True for row in rows() if _is(row, mode, "@large")) for mode in ("baseline", "ghx")}
    plain = {mode: sum(row.success is True for row in rows() if _is(row, mode, "")) for mode in ("baseline", "ghx")}
    assert cells[0][2] == rf"{won['baseline']}/12 \({plain['baseline']}/12\)"
    assert cells[0][3] == rf"{won['ghx']}/12 \({plain['ghx']}/12\) |"


def _is(row: ProfileRow, mode: str, variant: str) -> bool:
    return row.mode == mode and row.scenario_id in {f"scenario-000{variant}", f"scenario-001{variant}"}


def test_a_report_without_variants_says_nothing_of_them(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run_1", made_up_rows(scenarios=3))
    report = generate_report([run], generated_at="2026-03-04T00:00:00Z").directory

    assert "ariant" not in (report / "report.md").read_text()
    assert '"forms"' not in (report / "data" / "summary.json").read_text()


def test_every_variant_has_pages_that_links_lead_to(report: Path) -> None:
    page = (report / "index.html").read_text()
    links = {unquote(each) for each in re.findall(r'href="(sessions/[^"#?]+)"', page)}

    assert all((report / each).is_file() for each in links)
    listing = next(report.glob("sessions/index.html")).read_text()
    assert "scenario-000@vague" in listing
