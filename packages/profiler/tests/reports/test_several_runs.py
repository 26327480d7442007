"""Runs held against each other: what is paired, what is missing, which conditions differ, which run is the later."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from nightly import mostly_nightly
from report_runs import a_row, made_up_rows, write_run

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports import NothingToReportError, generate_report
from ghx_profiler.reports.data.reading import read_sources
from ghx_profiler.reports.data.sources import open_sources
from ghx_profiler.stats.plan import AnalysisPlan

pytestmark = pytest.mark.slow

NOW = "2026-04-01T12:00:00.000Z"


def rows_of(run_id: str, *, model: str = "vendor/model-1", day: int = 3, **kind: Any) -> list[ProfileRow]:
    """Return rows of a run that began on a day of March."""
    changes = {"model": model, "started_at": f"2026-03-{day:02d}T16:00:00.000Z"}
    return [row.model_copy(update=changes) for row in made_up_rows(run_id=run_id, **kind)]


def rows_file(path: Path, rows: Iterable[ProfileRow]) -> Path:
    path.write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    return path


def summary_of(runs: Iterable[Path] = (), results: Iterable[Path] = (), *, out: Path) -> Any:
    runs, results = list(runs), list(results)
    return generate_report(runs, results=results, generated_at=NOW, output_dir=out, formats=["data"]).summary


def report_of(runs: Iterable[Path] = (), results: Iterable[Path] = (), *, out: Path) -> str:
    generate_report(list(runs), results=list(results), generated_at=NOW, output_dir=out, formats=["markdown"])
    return (out / "report.md").read_text().replace("\\", "")


def top_of(report: str) -> str:
    """Return the headline, and what must be known of it."""
    return report.partition("\n## ")[0]


def verdicts_of(summary: Any, metric: str) -> set[str]:
    return {each["verdict"] for each in summary["comparisons"] if each["metric"] == metric}


def test_runs_of_one_model_each_are_paired_by_scenario_and_the_model_is_a_condition(tmp_path: Path) -> None:
    old = rows_file(tmp_path / "old.jsonl", rows_of("a", model="vendor/old", day=1))
    new = rows_file(tmp_path / "new.jsonl", rows_of("b", model="vendor/new", day=2, seed=9))

    summary = summary_of(results=[old, new], out=tmp_path / "out")

    assert {each["n"] for each in summary["comparisons"] if each["metric"] == "tokens_active"} == {4}
    assert "not estimable" not in verdicts_of(summary, "tokens_active")
    values = {each["condition"]: each["values"] for each in summary["conditions"]}
    assert values["model"] == {"old": ["vendor/old"], "new": ["vendor/new"]}
    assert summary["missing"] == []
    report = report_of(results=[old, new], out=tmp_path / "read")
    assert "Changed: model vendor/old -> vendor/new." in top_of(report)
    assert "paired by scenario alone" in report


def test_runs_of_several_models_without_a_common_one_say_so(tmp_path: Path) -> None:
    old = rows_of("a", model="vendor/1", day=1) + rows_of("a", model="vendor/2", day=1)
    new = rows_of("b", model="vendor/3", day=2)
    files = [rows_file(tmp_path / "old.jsonl", old), rows_file(tmp_path / "new.jsonl", new)]

    report = report_of(results=files, out=tmp_path / "out")

    assert "no model in common" in top_of(report)
    assert "no scenario has known values in both modes" not in report
    assert "scenario without rows of the other mode" not in report


def test_modes_of_different_models_are_not_paired_across_them(tmp_path: Path) -> None:
    one = rows_file(tmp_path / "one.jsonl", rows_of("a", model="vendor/1", modes=["baseline"]))
    two = rows_file(tmp_path / "two.jsonl", rows_of("b", model="vendor/2", modes=["ghx"]))

    report = report_of(results=[one, two], out=tmp_path / "out")

    assert "no model in common: baseline (vendor/1), ghx (vendor/2)" in top_of(report)


def test_models_and_agents_of_rows_alone_come_from_the_rows(tmp_path: Path) -> None:
    rows = [row.model_copy(update={"provider": "codex"}) for row in rows_of("a", model="vendor/x")]

    summary = summary_of(results=[rows_file(tmp_path / "rows.jsonl", rows)], out=tmp_path / "out")
    report = report_of(results=[tmp_path / "rows.jsonl"], out=tmp_path / "read")

    assert summary["sources"][0]["provider"] == "codex"
    assert summary["sources"][0]["models"] == ["vendor/x"]
    runs = report.split("**Runs**")[1].split("**")[0]
    assert "codex" in runs
    assert "vendor/x" in runs


def test_one_case_that_a_run_lacks_is_missing_although_its_scenario_is_there(tmp_path: Path) -> None:
    before = rows_of("a", day=1, scenarios=3, repetitions=4)
    after = [
        row
        for row in rows_of("b", day=2, scenarios=3, repetitions=4)
        if (row.mode, row.scenario_id) != ("ghx", "scenario-001") or row.iteration == 0
    ]
    files = [rows_file(tmp_path / "before.jsonl", before), rows_file(tmp_path / "after.jsonl", after)]

    summary = summary_of(results=files, out=tmp_path / "out")
    report = report_of(results=files, out=tmp_path / "read")

    assert summary["missing"] == [
        {
            "source": "after",
            "scenario": "scenario-001",
            "mode": "ghx",
            "model": "vendor/model-1",
            "agent": "opencode",
            "expected": 4,
            "found": 1,
            "comparedWith": "other runs",
        }
    ]
    assert "after lacks 3 rows that other runs have" in top_of(report)
    assert "ghx / scenario-001 (1 of 4)" in top_of(report)
    assert "not a pass" in top_of(report)


def test_a_run_that_stopped_early_says_which_planned_cells_have_no_row(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rows_of("run_1", scenarios=2, repetitions=2), status="interrupted")
    rows = list(rows_of("run_1", scenarios=2, repetitions=2))
    kept = [row for row in rows if (row.mode, row.iteration) != ("mcp", 1)]
    rows_file(run / "rows.jsonl", kept)

    summary = summary_of([run], out=tmp_path / "out")
    report = report_of([run], out=tmp_path / "read")

    missing = [(each["scenario"], each["mode"], each["expected"], each["found"]) for each in summary["missing"]]
    assert missing == [("scenario-000", "mcp", 2, 1), ("scenario-001", "mcp", 2, 1)]
    assert {each["comparedWith"] for each in summary["missing"]} == {"plan"}
    assert "run_1 was interrupted: 2 of its 12 planned cells have no row" in top_of(report)


@pytest.mark.parametrize("kind", ["no rows", "control"])
def test_a_run_without_a_verdict_says_that_it_is_partial_too(kind: str, tmp_path: Path) -> None:
    rows = [] if kind == "no rows" else [row.model_copy(update={"provider": "nop"}) for row in rows_of("run_1")]
    provider = "nop" if kind == "control" else "opencode"
    run = write_run(tmp_path / "run", rows, status="running", provider=provider)
    rows_file(run / "rows.jsonl", rows[:-1])

    assert "run_1 is not finished" in top_of(report_of([run], out=tmp_path / "out"))


def test_a_whole_run_is_not_called_partial(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rows_of("run_1", scenarios=2))

    assert "no row" not in top_of(report_of([run], out=tmp_path / "out"))
    assert summary_of([run], out=tmp_path / "data")["missing"] == []


def test_rows_alone_say_where_one_mode_has_fewer_rows_than_another(tmp_path: Path) -> None:
    rows = [row for row in rows_of("a", scenarios=2, repetitions=3) if (row.mode, row.iteration) != ("mcp", 2)]

    summary = summary_of(results=[rows_file(tmp_path / "rows.jsonl", rows)], out=tmp_path / "out")

    values = [(each["mode"], each["scenario"], each["found"], each["comparedWith"]) for each in summary["missing"]]
    assert values == [("mcp", "scenario-000", 2, "other modes"), ("mcp", "scenario-001", 2, "other modes")]


def test_modes_that_only_one_run_has_are_named(tmp_path: Path) -> None:
    one = rows_file(tmp_path / "one.jsonl", rows_of("a", day=1, modes=["baseline", "ghx"]))
    two = rows_file(tmp_path / "two.jsonl", rows_of("b", day=2, modes=["ghx", "mcp"]))

    summary = summary_of(results=[one, two], out=tmp_path / "out")
    report = top_of(report_of(results=[one, two], out=tmp_path / "read"))

    assert "baseline only in one" in report
    assert "mcp only in two" in report
    assert summary["missing"] == []


def test_runs_are_held_against_the_first_that_is_named_whenever_they_began(tmp_path: Path) -> None:
    old = rows_file(tmp_path / "old.jsonl", rows_of("a", day=1, modes=["ghx"]))
    new = rows_file(tmp_path / "new.jsonl", rows_of("b", day=2, modes=["ghx"]))
    third = rows_file(tmp_path / "third.jsonl", rows_of("c", day=3, modes=["ghx"]))

    for files in ([old, new, third], [new, third, old]):
        first, *later = (file.stem for file in files)
        summary = summary_of(results=files, out=tmp_path / f"out-{first}")
        assert [each["label"] for each in summary["sources"]] == [first, *later]
        assert {(each["a"], each["b"]) for each in summary["comparisons"]} == {
            (f"ghx @ {each}", f"ghx @ {first}") for each in later
        }
        assert [each["after"]["run"] for each in summary["runComparisons"]] == later
    assert "in the order in which they began: old, new" in report_of(results=[old, new], out=tmp_path / "read")


def test_runs_that_began_at_the_same_or_no_known_time_keep_the_order_they_were_named_in(tmp_path: Path) -> None:
    for day, started in enumerate(("2026-03-03T16:00:00.000Z", "some day"), start=1):
        rows = [row.model_copy(update={"started_at": started}) for row in rows_of("a", modes=["ghx"])]
        others = [row.model_copy(update={"run_id": "b"}) for row in rows]
        files = [rows_file(tmp_path / "x.jsonl", rows), rows_file(tmp_path / "y.jsonl", others)]

        report = report_of(results=files[::-1], out=tmp_path / f"read-{day}")

        assert "in the order in which they were named: y, x" in report


def test_every_run_is_compared_in_every_condition_the_seed_too(tmp_path: Path) -> None:
    runs = []
    for number, (name, version) in enumerate((("one", "1"), ("two", "1"), ("three", "2")), start=1):
        created = f"2026-03-{number:02d}T00:00:00Z"
        rows = rows_of(name, day=number)
        versions = {"ghxBench": version}
        scenarios = ({"id": "scenario-000", "prompt": f"Do {version}."},)
        runs.append(
            write_run(
                tmp_path / name,
                rows,
                run_id=name,
                created_at=created,
                versions=versions,
                scenarios=scenarios,
                seed=number,
            )
        )

    summary = summary_of(runs, out=tmp_path / "out")

    values = {each["condition"]: each["values"] for each in summary["conditions"]}
    assert values["ghx-bench"] == {"one": "1", "two": "1", "three": "2"}
    assert values["seed of the order"] == {"one": 1, "two": 2, "three": 3}
    texts = values["scenario scenario-000"]
    assert texts["one"] == texts["two"] != texts["three"]
    assert "agent" not in values


def test_a_run_and_rows_alone_differ_in_what_both_tell_and_the_rest_is_not_recorded(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rows_of("a", day=1), run_id="a")
    rows = [row.model_copy(update={"provider": "codex"}) for row in rows_of("b", day=9)]
    summary = summary_of([run], [rows_file(tmp_path / "b.jsonl", rows)], out=tmp_path / "out")
    report = report_of([run], [tmp_path / "b.jsonl"], out=tmp_path / "read")

    assert [each["condition"] for each in summary["conditions"]] == ["agent"]
    assert "b has no run.json" in report


def test_the_same_run_in_two_places_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rows_of("run_1"))
    copy = rows_file(tmp_path / "copy.jsonl", rows_of("run_1"))

    for runs, results in (([run], [copy]), ([], [copy, rows_file(tmp_path / "again.jsonl", rows_of("run_1"))])):
        with pytest.raises(NothingToReportError, match="run_1"):
            summary_of(runs, results, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_row_in_two_runs_is_a_pair_of_one(tmp_path: Path) -> None:
    files = [rows_file(tmp_path / f"{name}.jsonl", [a_row(runId=name)]) for name in ("a", "b")]

    assert "1 scenarios" not in report_of(results=files, out=tmp_path / "out")


def test_files_of_the_same_name_are_called_after_their_folder_and_modes_are_counted_once(tmp_path: Path) -> None:
    files: list[Path] = []
    for day, name in enumerate(("before", "after"), start=1):
        (tmp_path / name).mkdir()
        rows = rows_of(name, modes=["baseline", "ghx"], day=day)
        files.append(rows_file(tmp_path / name / "rows.jsonl", rows))

    report = report_of(results=files, out=tmp_path / "out")

    assert "# Report on before, after" in report
    assert "4 tasks × 2 modes × 5 repetitions × 2 runs, 80 sessions" in report  # noqa: RUF001 - as it is written
    assert "ghx @ after vs ghx @ before" in report


def test_a_run_that_planned_fewer_repetitions_lacks_none_if_it_is_complete(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a", rows_of("a", day=1, scenarios=2, repetitions=6), run_id="a")
    after = write_run(tmp_path / "b", rows_of("b", day=2, scenarios=2, repetitions=4), run_id="b")

    summary = summary_of([before, after], out=tmp_path / "out")
    verdicts = top_of(report_of([before, after], out=tmp_path / "read"))

    assert summary["missing"] == []
    assert "lacks" not in verdicts
    assert "repetitions" in verdicts


def test_a_run_that_planned_fewer_repetitions_still_lacks_those_of_its_own_plan(tmp_path: Path) -> None:
    before = write_run(tmp_path / "a", rows_of("a", day=1, scenarios=2, repetitions=6), run_id="a")
    rows = [
        row
        for row in rows_of("b", day=2, scenarios=2, repetitions=4)
        if row.cell.iteration < 3 or row.scenario_id != "scenario-001" or row.mode != "ghx"
    ]
    after = write_run(tmp_path / "b", rows, run_id="b")

    (missing,) = summary_of([before, after], out=tmp_path / "out")["missing"]

    assert (missing["expected"], missing["found"], missing["comparedWith"]) == (4, 3, "plan")


def rows_solved(
    run_id: str, solved: Mapping[str, float], *, scenarios: int = 6, repetitions: int = 4, **changes: Any
) -> list[ProfileRow]:
    """Return rows of which each mode solves the first tasks, as many as its share says."""
    return [
        a_row(mode, f"scenario-{task:03d}", repetition, runId=run_id, success=task < share * scenarios, **changes)
        for mode, share in solved.items()
        for task in range(scenarios)
        for repetition in range(repetitions)
    ]


@pytest.mark.parametrize("target", ["suite", "population"])
@pytest.mark.parametrize("scenarios", mostly_nightly([3, 9], keep=[3]))
def test_runs_that_differ_in_success_are_told_in_both_orders(target: Any, scenarios: int, tmp_path: Path) -> None:
    plan = AnalysisPlan(target=target, resamples=999)
    shares = {"good": 1.0, "bad": 2 / 3, "worst": 0.0}
    good, bad, worst = (
        write_run(
            tmp_path / name,
            rows_solved(name, {"baseline": share, "ghx": share}, scenarios=scenarios),
            run_id=name,
            plan=plan,
        )
        for name, share in shares.items()
    )

    for number, runs in enumerate(([good, bad], [bad, good], [good, bad, worst])):
        top = top_of(report_of(runs, out=tmp_path / f"out-{number}"))
        solved = [round(shares[run.name] * 2 * 4 * scenarios) for run in runs]
        assert f"{solved[1]} of {8 * scenarios} solved instead of {solved[0]}" in top
        if target == "suite" and scenarios > 3 and len(runs) == 2:
            assert f"the whole difference comes from {scenarios // 3} of {scenarios} tasks" in top


def test_tasks_of_whole_runs_are_counted_over_all_arms_under_the_labels_given(tmp_path: Path) -> None:
    plan = AnalysisPlan(resamples=999)
    before = write_run(tmp_path / "a", rows_solved("a", {"baseline": 1.0, "ghx": 1.0}), run_id="a", plan=plan)
    after = write_run(tmp_path / "b", rows_solved("b", {"baseline": 0.5, "ghx": 2 / 3}), run_id="b", plan=plan)
    read = read_sources(open_sources([before, after], (), {before: "ghx", after: "new"}))

    generate_report(generated_at=NOW, output_dir=tmp_path / "out", formats=["markdown"], read=read)

    top = top_of((tmp_path / "out/report.md").read_text().replace("\\", ""))
    assert "Worse, new against ghx" in top
    assert "the whole difference comes from 3 of 6 tasks" in top


def test_arms_that_go_opposite_ways_are_named_though_the_runs_are_alike_as_a_whole(tmp_path: Path) -> None:
    plan = AnalysisPlan(resamples=999)
    solved = {"a": {"baseline": 1.0, "ghx": 0.0, "mcp": 1.0}, "b": {"baseline": 0.0, "ghx": 1.0, "mcp": 1.0}}
    runs = [write_run(tmp_path / name, rows_solved(name, solved[name]), run_id=name, plan=plan) for name in solved]

    top = top_of(report_of(runs, out=tmp_path / "out"))

    assert "Single arms went apart: baseline 0 of 24 instead of 24; ghx 24 of 24 instead of 0." in top
    back = top_of(report_of([*runs[::-1]], out=tmp_path / "back"))
    assert "Single arms went apart: ghx 0 of 24 instead of 24; baseline 24 of 24 instead of 0." in back


def test_no_arm_is_said_to_go_apart_where_the_runs_differ_as_a_whole_or_have_one_arm(tmp_path: Path) -> None:
    plan = AnalysisPlan(resamples=999)
    for number, (before, after) in enumerate(
        (({"baseline": 1.0, "ghx": 1.0}, {"baseline": 0.0, "ghx": 1.0}), ({"ghx": 1.0}, {"ghx": 1.0}))
    ):
        folder = tmp_path / str(number)
        runs = [
            write_run(folder / name, rows_solved(name, solved), run_id=name, plan=plan)
            for name, solved in (("a", before), ("b", after))
        ]
        assert "went apart" not in report_of(runs, out=folder / "out")
