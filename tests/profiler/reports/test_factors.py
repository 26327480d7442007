"""What tells arms apart: agents and models unless they are pooled, runs by their labels, all in the order given."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, glance_at, write_run

from ghx_base.errors import FlagError
from ghx_bench.cli.main import run
from ghx_profiler.config import ProfileConfig
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.material import Material, gather
from ghx_profiler.reports.data.reading import read_sources
from ghx_profiler.reports.data.sources import open_run, open_sources, read_labels
from ghx_profiler.reports.sections.headline import headline_of
from ghx_profiler.reports.sections.verdicts import cautions
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.store.record import read_record

pytestmark = pytest.mark.slow

MODELS = {"id": "vendor/strong", "label": "Strong"}, {"id": "vendor/weak", "label": None}


def rows_of(
    *,
    run_id: str = "run_1",
    modes: tuple[str, ...] = ("zeta", "alpha"),
    models: tuple[str, ...] = ("vendor/strong", "vendor/weak"),
) -> Iterator[ProfileRow]:
    """Yield rows of models: the strong one always succeeds, the weak one never does."""
    for mode, model, scenario in product(modes, models, ("s1", "s2")):
        for iteration in range(4):
            yield a_row(mode, scenario, iteration, model=model, success=model == "vendor/strong", runId=run_id)


STRONG = ("vendor/strong",)


def two_models(folder: Path, **record: Any) -> Path:
    return write_run(folder, rows_of(), config={"models": list(MODELS)}, **record)


def material_of(*runs: Path, **changes: object) -> Material:
    return gather(read_sources([open_run(each) for each in runs], plan_changes=changes), (), METRICS)


def rates_in(value: object) -> Iterator[float]:
    """Yield every rate and mean of success in a summary."""
    if isinstance(value, dict):
        if {"k", "n", "rate"} <= value.keys():
            yield value["rate"]
        if {"k", "n"} == value.keys() and value["n"]:
            yield value["k"] / value["n"]
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from rates_in(each)


def test_two_models_with_all_and_nothing_never_read_half(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = two_models(tmp_path / "run")

    material = material_of(folder)

    assert material.arm_names == ("Strong / zeta", "Strong / alpha", "vendor/weak / zeta", "vendor/weak / alpha")
    assert material.arm_word == "model / mode"
    assert {each.success.rate for each in material.summaries.values()} == {0, 1}
    assert {spread.mean for spread in material.grids["success"].values()} == {0, 1}
    shown = {name: (glance.successes, glance.measured) for name, glance in glance_at(folder).glances().items()}
    assert shown == dict(zip(material.arm_names, [(8, 8), (8, 8), (0, 8), (0, 8)], strict=True))
    assert run(["report", str(folder), "--format", "data", "--json"]) == 0
    assert set(rates_in(json.loads(capsys.readouterr().out))) == {0, 1}


def test_models_are_pooled_only_when_asked(tmp_path: Path) -> None:
    folder = two_models(tmp_path / "run", plan=AnalysisPlan(pool=("models",)))

    planned, asked = material_of(folder), material_of(two_models(tmp_path / "other"), pool=("models",))

    for material in (planned, asked):
        assert material.arm_names == ("zeta", "alpha")
        assert {each.success.rate for each in material.summaries.values()} == {0.5}
    assert list(glance_at(folder).glances()) == ["zeta", "alpha"]
    assert planned.notes == ()
    assert asked.notes == ("pool: asked for with the report, and not in the plan of the run",)


def test_pooled_agents_are_one_arm_without_the_controls(tmp_path: Path) -> None:
    rows = [
        a_row("ghx", "s1", number, provider=agent, success=agent != "nop")
        for agent in ("careful", "hasty", "nop")
        for number in range(2)
    ]
    folder = write_run(tmp_path / "run", rows, plan=AnalysisPlan(pool=("agents",)))

    material = material_of(folder)

    assert material.arm_names == ("ghx", "nop / ghx")
    assert material.summaries[Arm(mode="ghx")].success.n == 4
    assert [str(arm) for arm in material.control_arms] == ["nop / ghx"]
    assert set(glance_at(folder).glances()) == set(material.arm_names)


def test_models_are_compared_in_the_same_mode_and_modes_with_the_same_model(tmp_path: Path) -> None:
    material = material_of(two_models(tmp_path / "run"))

    assert [(str(a), str(b)) for a, b in material.pairs] == [
        ("Strong / alpha", "Strong / zeta"),
        ("vendor/weak / alpha", "vendor/weak / zeta"),
        ("vendor/weak / zeta", "Strong / zeta"),
        ("vendor/weak / alpha", "Strong / alpha"),
    ]
    worse = {(each.a, each.b): each.verdict for each in material.primary if each.metric == "success"}
    assert worse["vendor/weak / zeta", "Strong / zeta"] == "worse"


def test_the_reference_is_the_first_mode_that_the_run_lists_or_the_one_that_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", rows_of(modes=("zeta", "alpha", "baseline"), models=STRONG))

    first, named = material_of(folder), material_of(folder, reference_mode="alpha")

    assert first.arm_names == ("zeta", "alpha", "baseline")
    assert (first.reference_mode, named.reference_mode) == ("zeta", "alpha")
    assert {str(b) for _, b in first.pairs} == {"zeta"}
    assert {str(b) for _, b in named.pairs} == {"alpha"}
    assert {each.family_planned for each in first.primary} == {8}
    assert {each.family_planned for each in material_of(folder, all_pairs=True).primary} == {12}
    with pytest.raises(UnknownNameError, match="no mode 'alhpa'; did you mean 'alpha'"):
        material_of(folder, reference_mode="alhpa")


def test_a_reference_without_rows_is_noted(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", rows_of(models=STRONG))
    kept = [row for row in rows_of(models=STRONG) if row.mode == "alpha"]
    (folder / "rows.jsonl").write_bytes(b"".join(row.to_bytes() + b"\n" for row in kept))

    assert "the reference mode zeta has no rows: modes are held against alpha" in material_of(folder).notes


def test_a_reference_mode_that_is_not_run_is_refused() -> None:
    with pytest.raises(ValueError, match="mode 'b' is not among the modes of the run"):
        ProfileConfig.model_validate({"modes": ["a"], "analysis": {"reference_mode": "b"}})
    with pytest.raises(FlagError, match="--reference-mode"):
        ProfileConfig(modes=("a",)).override(reference_mode="b")


def test_a_plan_that_says_nothing_new_is_written_as_before(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", rows_of())

    # A run that was started before there were reference modes is resumed only if its plan is the same.
    assert read_record(folder / "run.json").analysis.keys().isdisjoint({"reference_mode", "all_pairs", "pool"})
    assert AnalysisPlan(pool=("models",), all_pairs=True).model_dump(mode="json")["pool"] == ["models"]


def two_runs(tmp_path: Path) -> list[Path]:
    return [
        write_run(
            tmp_path / name,
            rows_of(run_id=name, models=STRONG),
            run_id=name,
            created_at=f"2026-03-0{day}T16:00:00Z",
        )
        for day, name in enumerate(("run_a", "run_b"), start=1)
    ]


def test_two_runs_are_called_before_and_after_where_time_agrees(tmp_path: Path) -> None:
    runs = two_runs(tmp_path)

    assert [source.label for source in open_sources(runs, [])] == ["before", "after"]
    assert [source.label for source in open_sources(runs[::-1], [])] == ["run_b", "run_a"]
    assert [source.label for source in open_sources(runs[:1], [])] == ["run_a"]


def test_labels_name_runs_and_may_stand_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = two_runs(tmp_path)

    flags = ["--label", f"main={old}", "--label", f"branch={new}", "--format", "data", "--json"]
    assert run(["report", str(old), *flags, "--out", str(tmp_path / "out")]) == 0

    summary = json.loads(capsys.readouterr().out)
    assert [(each["label"], each["runId"]) for each in summary["sources"]] == [("main", "run_a"), ("branch", "run_b")]
    assert [(each["before"]["run"], each["after"]["run"]) for each in summary["runComparisons"]] == [("main", "branch")]


@pytest.mark.parametrize("given", [["before"], ["=run"], ["before="], ["a=run", "b=run"], ["a=run", "a=other"]])
def test_labels_that_name_no_run_or_two_are_refused(given: list[str]) -> None:
    with pytest.raises(FlagError, match="--label"):
        read_labels(given, [Path("run")])


def test_a_label_finds_a_run_as_commands_do() -> None:
    labels = read_labels(["before=latest"], [], find_run=lambda name: Path("results") / name)

    assert labels == ((Path("results/latest"),), {Path("results/latest"): "before"})


def test_any_metric_can_be_asked_of_two_runs(tmp_path: Path) -> None:
    material = gather(read_sources(open_sources(two_runs(tmp_path), [])), (), METRICS)

    (calls,) = material.ask("tool_calls_total")
    (unknown,) = material.ask("tokens_psychic")

    assert (calls.tier, calls.words) == ("equivalent", "Equivalent: tool calls the same in all rows.")
    assert (unknown.tier, unknown.reason) == ("insufficient data", "tokens_psychic is not known in any row of either")
    assert material.reference_run == "before"
    assert material.reference_mode is None


def test_runs_of_controls_alone_are_not_compared(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, [a_row(provider="nop", runId=name, iteration=n) for n in range(3)], run_id=name)
        for name in ("run_a", "run_b")
    ]

    material = gather(read_sources(open_sources(runs, [])), (), METRICS)

    assert (material.pairs, material.run_comparisons, material.comparisons) == ((), (), ())


def test_arms_of_different_models_are_paired_and_nothing_says_that_they_cannot_be(tmp_path: Path) -> None:
    material = material_of(two_models(tmp_path / "run"))

    assert any(each.a.endswith("weak / zeta") and each.b == "Strong / zeta" and each.n for each in material.primary)
    assert list(cautions(material)) == [
        "No row of vendor/weak / zeta and vendor/weak / alpha succeeded: what they spend is what failing costs, not "
        "what the task costs."
    ]


def test_arms_whose_every_task_ends_alike_succeed_as_often(tmp_path: Path) -> None:
    rows = [
        a_row(mode, f"s{task}", iteration, success=task < 2)
        for mode, task, iteration in product(("baseline", "ghx"), range(3), range(3))
    ]

    sentence = headline_of(material_of(write_run(tmp_path / "run", rows))).sentences[0]

    assert sentence.startswith("ghx succeeds as often as baseline (67 %, baseline 67 %)")
