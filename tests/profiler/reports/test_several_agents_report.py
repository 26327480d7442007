"""Reports on runs of several agents: what is compared, what is missing, and what a control among them proves."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, glance_at, made_up_rows, write_run

from ghx_bench.cli.main import run
from ghx_bench.cli.running.measuring import SHOWN_METRICS, glance_table
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import generate_report
from ghx_profiler.reports.data.material import Material, gather
from ghx_profiler.reports.data.reading import read_sources
from ghx_profiler.reports.data.sources import open_run, open_sources
from ghx_profiler.store.record import AgentRecord

pytestmark = pytest.mark.slow

MODES = ("baseline", "ghx")


def rows_of(agents: Sequence[str], modes: Sequence[str] = MODES) -> Iterator[ProfileRow]:
    for seed, agent in enumerate(agents):
        for row in made_up_rows(modes=modes, scenarios=2, repetitions=3, seed=seed):
            yield row.model_copy(update={"agent": agent, "provider": agent})


def material_of(folder: Path, rows: Iterable[ProfileRow], **record: Any) -> Material:
    return gather(read_sources([open_run(write_run(folder, rows, **record))]), (), METRICS)


def report_on(run_folder: Path) -> tuple[str, dict[str, Any]]:
    made = generate_report([run_folder], sessions="none", formats=["markdown", "data"])
    text = (made.directory / "report.md").read_text().replace("\\", "")  # as it is read, without Markdown's escapes
    return text, json.loads((made.directory / "data/summary.json").read_text())


def test_one_control_among_several_agents_leaves_the_others_to_be_compared(tmp_path: Path) -> None:
    text, summary = report_on(write_run(tmp_path / "run", rows_of(["careful", "hasty", "nop"])))

    pairs = {(each["a"], each["b"]) for each in summary["comparisons"]}
    assert pairs == {
        ("careful / ghx", "careful / baseline"),
        ("hasty / ghx", "hasty / baseline"),
        ("hasty / baseline", "careful / baseline"),
        ("hasty / ghx", "careful / ghx"),
    }
    assert "16 planned comparisons of 2 agents in 2 modes on these scenarios" in text
    assert "| wall time, ghx: hasty vs careful |" in text
    assert "| wall time, hasty: ghx vs baseline |" in text
    assert "Control rows: among the agents is a control, nop. They " in text
    assert "They say nothing about agents." in text
    assert "nop / baseline: " in text
    assert "careful / baseline: " not in text.partition("## Verdicts")[2].partition("planned comparisons")[0]
    assert summary["control"] is True
    assert summary["controlModes"] == ["nop / baseline", "nop / ghx"]


def test_findings_are_compared_among_agents_under_test_alone(tmp_path: Path) -> None:
    # What the analyzers found differs by mode alone, so that one agent in one mode differs from none but the control.
    rows = [*rows_of(["careful"], modes=["ghx"]), *rows_of(["nop"])]

    text, _ = report_on(write_run(tmp_path / "alone", rows))
    both, _ = report_on(write_run(tmp_path / "both", rows_of(["careful", "nop"])))
    controls, _ = report_on(write_run(tmp_path / "controls", rows_of(["nop", "reference"])))

    assert "the modes differ in no finding by a tenth or more" in text
    assert "| finding | careful / baseline | careful / ghx |" in both
    assert "| finding | nop / baseline | nop / ghx | reference / baseline | reference / ghx |" in controls


def test_objections_name_the_agent_once(tmp_path: Path) -> None:
    rows = [a_row("ghx", "free-001", provider="nop"), a_row("ghx", "free-001", provider="opencode")]

    text, _ = report_on(write_run(tmp_path / "run", rows))

    assert "| scenario | agent / mode | rows | passed | not measured |" in text
    assert "| free-001 | nop / ghx | 1 | 1 | 0 |" in text


def test_a_control_beside_one_agent_in_one_mode_leaves_nothing_to_compare_and_the_page_says_so(tmp_path: Path) -> None:
    text, summary = report_on(write_run(tmp_path / "run", rows_of(["careful", "reference"], modes=["ghx"])))

    assert summary["comparisons"] == []
    assert "There is one mode, careful / ghx: nothing to compare it with." in text
    assert "## All comparisons" not in text


def test_a_run_of_controls_alone_compares_nothing(tmp_path: Path) -> None:
    text, summary = report_on(write_run(tmp_path / "run", rows_of(["nop", "reference"])))

    assert summary["comparisons"] == []
    assert (
        "A control run: it is worked by scripts that test the tasks and the bench, and says nothing about agents."
        in text
    )
    assert "## All comparisons" not in text


def test_what_a_control_proves_is_told_by_its_kind_whatever_its_name(tmp_path: Path) -> None:
    rows = [a_row("ghx", "free-001", provider="idle"), a_row("ghx", "free-001", provider="opencode")]
    agents = (AgentRecord(name="idle", control_kind="nothing"), AgentRecord(name="opencode"))

    text, summary = report_on(write_run(tmp_path / "run", rows, agents=agents))

    assert "Doing nothing passes: free-001 in idle / ghx (1 of 1 passed). What idle passes proves nothing" in text
    assert [each["agent"] for each in summary["controlObjections"]] == ["idle"]


def test_an_agent_that_has_the_name_of_a_control_is_none_where_the_record_says_so(tmp_path: Path) -> None:
    rows = list(rows_of(["nop"]))

    material = material_of(tmp_path / "run", rows, agents=(AgentRecord(name="nop"),))

    assert material.control_arms == ()
    assert len(material.pairs) == 1


def test_missing_rows_are_told_by_agent(tmp_path: Path) -> None:
    rows = [
        row
        for row in rows_of(["careful", "hasty"])
        if (row.agent, row.mode, row.scenario_id) != ("hasty", "ghx", "scenario-001") or row.iteration == 0
    ]

    text, summary = report_on(write_run(tmp_path / "run", rows))

    assert summary["missing"] == [
        {
            "source": "run_1",
            "scenario": "scenario-001",
            "mode": "ghx",
            "model": "vendor/model-1",
            "agent": "hasty",
            "expected": 3,
            "found": 1,
            "comparedWith": "plan",
        }
    ]
    assert "2 of its 24 planned cells have no row" in text
    assert "hasty / ghx / scenario-001 (1 of 3)" in text


def test_more_rows_of_one_agent_do_not_make_up_for_those_of_another(tmp_path: Path) -> None:
    rows = [row for row in rows_of(["careful", "hasty"]) if row.agent != "hasty" or row.iteration < 2]
    rows += [row.model_copy(update={"iteration": 3}) for row in rows if row.agent == "careful" and row.iteration == 0]
    matrix_rows = [row for row in rows if row.iteration < 3]
    folder = write_run(tmp_path / "run", matrix_rows)
    (folder / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))

    material = gather(read_sources([open_run(folder)]), (), METRICS)

    assert {(each.case.agent, each.expected, each.actual) for each in material.missing} == {("hasty", 3, 2)}


def test_a_planned_agent_without_a_row_is_told_to_be_in_no_comparison(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", rows_of(["careful", "hasty", "nop"]))
    kept = [row for row in rows_of(["careful", "hasty", "nop"]) if row.agent == "careful"]
    (folder / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in kept))

    text, summary = report_on(folder)

    assert {(each["a"], each["b"]) for each in summary["comparisons"]} == {("careful / ghx", "careful / baseline")}
    assert "run_1 has no row of its agent hasty: the comparisons planned with it are not among" in text
    assert "no row of its agent nop" not in text


def test_the_terminal_has_the_arms_in_the_order_of_the_report(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", reversed(list(rows_of(["hasty", "careful"], modes=("ghx", "baseline", "a")))))
    read = read_sources([open_run(folder)])

    shown = list(glance_table(glance_at(folder, SHOWN_METRICS).glances()).columns[0].cells)

    assert shown == list(gather(read, (), METRICS).arm_names)
    assert shown[:2] == ["careful / a", "careful / baseline"]  # as the run lists them


@pytest.mark.parametrize("agents", [["careful"], ["careful", "hasty"], ["careful", "hasty", "nop"]])
@pytest.mark.parametrize("modes", [MODES, (*MODES, "mcp")])
def test_a_plan_reckons_with_as_many_comparisons_as_the_report_makes(
    agents: list[str], modes: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_run(tmp_path / "run", rows_of(agents, modes))
    material = gather(read_sources([open_run(folder)]), (), METRICS)

    assert run(["plan", str(folder), "--effect", "20", "--modes", "ghx,baseline", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["comparisons"] == len(material.primary)


def test_from_run_to_run_an_agent_is_compared_with_itself_alone(tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", rows_of(["careful"]), run_id="run_1")
    second = write_run(
        tmp_path / "second",
        [row.model_copy(update={"run_id": "run_2"}) for row in rows_of(["careful", "hasty"])],
        run_id="run_2",
        created_at="2026-03-04T16:00:00Z",
    )

    material = gather(read_sources([open_run(first), open_run(second)]), (), METRICS)

    assert [(str(a), str(b)) for a, b in material.pairs] == [
        (f"careful / {mode} @ run_2", f"careful / {mode} @ run_1") for mode in MODES
    ]


def test_rows_of_several_agents_without_their_record_are_told_apart_as_with_it(tmp_path: Path) -> None:
    run_folder = write_run(tmp_path / "run", rows_of(["careful", "hasty", "nop"]))
    alone = tmp_path / "alone" / "rows.jsonl"
    alone.parent.mkdir()
    alone.write_bytes((run_folder / "rows.jsonl").read_bytes())

    _, whole = report_on(run_folder)
    made = generate_report([], results=[alone], output_dir=tmp_path / "report", sessions="none", formats=["data"])
    summary = json.loads((made.directory / "data/summary.json").read_text())

    assert summary["modes"].keys() == whole["modes"].keys()
    assert summary["controlModes"] == ["nop / baseline", "nop / ghx"]
    assert {(each["a"], each["b"], each["n"]) for each in summary["comparisons"]} == {
        (each["a"], each["b"], each["n"]) for each in whole["comparisons"]
    }


def test_files_of_one_agent_each_are_compared_by_mode_whatever_their_agents_are_called(tmp_path: Path) -> None:
    files = [tmp_path / f"{mode}.jsonl" for mode in MODES]
    for file, agent, mode in zip(files, ("careful", "hasty"), MODES, strict=True):
        file.write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows_of([agent], [mode])))

    material = gather(read_sources(open_sources([], files)), (), METRICS)

    assert [(str(a), str(b)) for a, b in material.pairs] == [("ghx", "baseline")]


def test_runs_that_have_no_agent_in_common_say_why_nothing_is_compared(tmp_path: Path) -> None:
    first = write_run(tmp_path / "first", rows_of(["careful", "hasty"]), run_id="run_1")
    later = [row.model_copy(update={"run_id": "run_2"}) for row in rows_of(["bold", "shy"])]
    second = write_run(tmp_path / "second", later, run_id="run_2", created_at="2026-03-04T16:00:00Z")

    made = generate_report(
        [first, second], output_dir=tmp_path / "report", sessions="none", formats=["markdown", "data"]
    )

    text = (made.directory / "report.md").read_text()
    assert "No agent under test has a mode in both runs, and runs are compared with each other alone" in text
    assert "differ in one thing alone" not in text
