"""`ghx-bench plan` as a user meets it."""

import json
from pathlib import Path

import pytest
from report_runs import a_row, made_up_rows, write_run

from ghx_bench.cli.main import run
from ghx_profiler.records.metrics import Cost, Timing, TokenUsage
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats.plan import AnalysisPlan

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pilots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs to plan from, written once: each is a hundred files and more."""
    folder = tmp_path_factory.mktemp("pilots")
    write_run(folder / "two", made_up_rows(modes=["baseline", "ghx"], scenarios=6))
    write_run(folder / "three", made_up_rows(scenarios=6))
    for name, success, scenarios in (("won", True, 6), ("lost", False, 6), ("one", True, 1)):
        cells = [(mode, f"s{n}", each) for mode in ("baseline", "ghx") for n in range(scenarios) for each in range(4)]
        write_run(folder / name, [a_row(*cell, success=success) for cell in cells])
    return folder


@pytest.fixture
def here(pilots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for pilot in pilots.iterdir():
        (tmp_path / pilot.name).symlink_to(pilot)
    return tmp_path


def plan(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["plan", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_assumptions_are_enough_to_plan_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "20", "--within-cv", "0.3", "--comparisons", "1"]) == 0

    said = capsys.readouterr().out
    assert "(alpha 0.05; assumed" in said
    assert "assumed: repetitions vary by 30 %)" in said
    assert "          5          6             30       82 %" in said
    assert "          1       none  (one repetition does not show how repetitions vary" in said


def test_a_smaller_effect_needs_more(capsys: pytest.CaptureFixture[str]) -> None:
    large, small = (plan(capsys, "--effect", effect)["options"] for effect in ("30", "10"))

    assert isinstance(large, list)
    assert isinstance(small, list)
    needed = [{each["repetitions"]: each["scenarios"] for each in options} for options in (large, small)]
    assert all(needed[1][each] >= needed[0][each] for each in needed[1])
    assert needed[1] != needed[0]


@pytest.mark.parametrize("pilot", [["two"], ["--results", "two/rows.jsonl"], ["three", "--modes", "ghx,baseline"]])
def test_a_pilot_tells_the_noise(pilot: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(capsys, *pilot, "--effect", "20", "--target", "population", "--comparisons", "3")

    assert found["target"] == "population"
    assert found["currentPower"] is not None
    assert abs(float(str(found["alpha"])) - 0.05 / 3) < 1e-12
    assert run(["plan", *pilot, "--effect", "20"]) == 0
    assert "from a pilot: ghx against baseline" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "comparisons"),
    [
        ([], 4),
        (["--metric", "agent_turns"], 5),
        (["--metric", "success"], 4),
        (["two"], 4),
        (["three", "--modes", "ghx,mcp"], 8),
        (["lean"], 2),
        (["three", "--modes", "ghx,mcp", "--comparisons", "2"], 2),
    ],
)
def test_a_plan_reckons_with_all_comparisons_that_the_report_will_make(
    arguments: list[str], comparisons: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lean = AnalysisPlan(primary=("success", "tokens_active"))
    write_run(here / "lean", made_up_rows(modes=["baseline", "ghx"], scenarios=6), plan=lean)

    found = plan(capsys, *arguments, "--effect", "20")

    assert (found["comparisons"], found["alpha"]) == (comparisons, pytest.approx(0.05 / comparisons))
    assert run(["plan", *arguments, "--effect", "20"]) == 0
    assert f", as one of {comparisons} comparisons; " in capsys.readouterr().out


def test_controls_of_a_pilot_change_nothing_in_the_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rows_of(agent: str, seed: int, size: int = 1) -> list[ProfileRow]:
        rows = made_up_rows(modes=["baseline", "ghx"], scenarios=6, seed=seed)
        named = [row.model_copy(update={"agent": agent, "provider": agent}) for row in rows]
        return [row.model_copy(update={"tokens": TokenUsage(active=size * row.iteration + 1)}) for row in named]

    agents = [*rows_of("careful", 1, 3), *rows_of("hasty", 2, 5)]
    write_run(here / "agents", agents)
    write_run(here / "beside", [*agents, *rows_of("nop", 3, 10_000)])

    alone, beside = (plan(capsys, pilot, "--effect", "20") for pilot in ("agents", "beside"))

    assert beside == alone
    assert beside["comparisons"] == 16  # 4 pairs: 2 agents in each mode, 2 modes of each agent; 4 metrics
    assert run(["plan", "beside", "--effect", "20", "--modes", "nop / baseline,baseline"]) == 2
    said = capsys.readouterr().err
    assert "no mode 'nop / baseline'; did you mean 'baseline'? known: baseline, ghx\n" in said


def test_one_scenario_is_pilot_enough_to_plan_for_these_scenarios(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = plan(capsys, "one", "--effect", "0.01")

    assert found["currentPower"] is not None
    assert run(["plan", "one", "--effect", "20", "--target", "population"]) == 2
    assert "of at least 2 scenarios in ghx and in baseline, got 1 scenario" in capsys.readouterr().err


def test_success_is_planned_in_percentage_points(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "20", "--metric", "success", "--rate", "0.5"]) == 0

    assert "a change of success by 20 percentage points (from 50 % to 30 % or 70 %)" in capsys.readouterr().out


@pytest.mark.parametrize(("pilot", "says"), [("won", "(from 100 % to 80 %)"), ("lost", "(from 0 % to 20 %)")])
def test_a_pilot_that_always_went_the_same_way_is_no_certainty(
    pilot: str, says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", pilot, "--effect", "20", "--metric", "success"]) == 0

    said = capsys.readouterr().out
    assert says in said
    assert "in 24 rows of the mode compared with; two successes and two failures are added" in said
    assert "Add repetitions: 14 of each of the present 6 scenarios" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["--effect", "20"],
        ["--effect", "15", "--metric", "success", "--rate", "0.9", "--target", "population"],
        ["--effect", "0.001"],
        ["two", "--effect", "20", "--target", "population"],
        ["won", "--effect", "20", "--metric", "success", "--target", "population"],
    ],
)
def test_json_says_all_that_people_are_told(
    arguments: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = plan(capsys, *arguments)
    assert run(["plan", *arguments]) == 0
    said = capsys.readouterr().out

    assert isinstance(found["options"], list)
    assert isinstance(found["notes"], list)
    lines = [line.split() for line in said.splitlines()]
    for option in found["options"]:
        shown = [f"{option[key]:,}" for key in ("repetitions", "scenarios", "rowsPerMode")]
        assert any(line[:3] == shown for line in lines)
    left_out = found["leftOut"] if found["options"] else []
    assert isinstance(left_out, list)
    for each in left_out:
        assert f"{each['repetitions']:>11}       none  ({each['reason']})" in said
    for text in (found["basis"], found["advice"], *found["notes"]):
        assert text in said
    assert not [key for key in keys_of(found) if "_" in key]


def keys_of(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for each in value.values() for key in keys_of(each))]
    return [key for each in value for key in keys_of(each)] if isinstance(value, list) else []


def test_where_no_size_is_enough_no_empty_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "0.001"]) == 0

    said = capsys.readouterr().out
    assert "No size is enough" in said
    assert "rows per mode" not in said


HUGE = "1" + 400 * "0"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--effect"),
        (["--effect", "much"], "Invalid value for --effect: expected a number, got 'much'"),
        (["--effect", "20", "--comparisons", "1.5"], "--comparisons: expected a whole number, got '1.5'"),
        *[(["--effect", effect], "an effect is above 0") for effect in ("0", "-20", "nan", "inf", "100", "1e300")],
        (["--effect", "20", "--alpha", "3"], "--alpha"),
        (["--effect", "20", "--alpha", "1e-320"], "smaller than can be told"),
        (["--effect", "20", "--power", "nan"], "--power"),
        (["--effect", "20", "--power", "1"], "--power"),
        *[(["--effect", "20", "--comparisons", count], "from 1 to 10,000") for count in ("0", "-1", HUGE)],
        *[(["--effect", "20", "--within-cv", each], "within_cv is between 0") for each in ("-1", "nan", "inf", "1e9")],
        (["--effect", "20", "--within-cv", "0"], "do not vary"),
        *[
            (["--effect", "20", "--between-sd", each, "--target", "population"], "between_sd is between 0")
            for each in ("-1", "nan", "1e300")
        ],
        *[
            (["--effect", "20", "--metric", "success", "--rate", rate], "rate is between 0 and 1")
            for rate in ("-1", "nan", "70")
        ],
        (
            ["--effect", "80", "--metric", "success"],
            "success cannot change by 80 percentage points from 70 %: it can fall by at most 70 and rise by at most 30",
        ),
        (["won", "--effect", "100", "--metric", "success"], "an effect is above 0"),
        (["three", "--effect", "20"], "--modes: name two modes, as a,b; the pilot has baseline, ghx, mcp"),
        (["two", "--effect", "20", "--modes", "ghx,gxh"], "no mode 'gxh'; did you mean 'ghx'?"),
        (["two", "--effect", "20", "--modes", ","], "--modes: name two modes, as a,b"),
        (["two", "--effect", "20", "--modes", "ghx,ghx"], "compared with itself"),
        (["--effect", "20", "--modes", "a,b"], "--modes: there is no pilot"),
        (["two", "--effect", "20", "--metric", "nothing"], "--metric: no metric 'nothing'; known: 'success', "),
        (["two", "--effect", "20", "--metric", ""], "--metric: no metric ''; known: 'success', "),
        (["two", "--effect", "20", "--metric", "tokens_actve"], "did you mean 'tokens_active'?"),
        (["--effect", "20", "--metric", "tokens_actve"], "did you mean 'tokens_active'?"),
        (["--effect", "20", "--metric", "Success"], "did you mean 'success'?"),
        (
            ["two", "--effect", "20", "--metric", "tokens_reasoning"],
            "--metric: no row of the pilot knows 'tokens_reasoning'; ",
        ),
        (["two", "--effect", "20", "--within-cv", "0.3"], "--within-cv: the pilot tells the noise; leave out"),
        (["two", "--effect", "20", "--between-sd", "0.3"], "--between-sd: the pilot tells the noise; leave out"),
        (["won", "--effect", "20", "--metric", "success", "--rate", "0.3"], "--rate: the pilot tells the noise"),
        (["--effect", "20", "--metric", "success", "--within-cv", "0.3"], "--within-cv: of success"),
        (["--effect", "20", "--rate", "0.3"], "--rate: is for success"),
        (["--effect", "20", "--between-sd", "0.3"], "--between-sd: does not matter on these scenarios"),
        (["nowhere", "--effect", "20"], "nowhere: not a run directory"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == 2

    complaint = capsys.readouterr().err
    assert says in complaint
    assert "defect" not in complaint
    assert complaint.count("\n") == 1


def test_a_pilot_tells_what_every_size_takes_in_hours_and_dollars(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        a_row(mode, f"s{n}", number)
        .upgraded()
        .model_copy(update={"cost": Cost(total_usd=0.5), "timing": Timing(wall_ms=36_000), "tokens": TOKENS[number]})
        for mode in ("baseline", "ghx")
        for n in range(6)
        for number in range(4)
    ]
    write_run(here / "paid", rows, config={"execution": {"max_concurrency": 4}})

    found = plan(capsys, "paid", "--effect", "20", "--comparisons", "1")

    assert isinstance(found["options"], list)
    for each in found["options"]:
        assert each["cells"] == 2 * each["rowsPerMode"]
        assert each["usd"] == pytest.approx(0.5 * each["cells"])
        assert each["hours"] == pytest.approx(0.01 * each["cells"] / min(4, each["cells"]))
    assert found["effort"] == "2 arms, 4 at a time; a cell takes 36 s and $0.5, by the pilot"
    doubled = plan(capsys, "paid", "--effect", "20", "--comparisons", "1", "--arms", "4", "--cell-usd", "1")
    assert isinstance(doubled["options"], list)
    first, second = found["options"][0], doubled["options"][0]
    assert (second["cells"], second["usd"]) == (2 * first["cells"], 4 * first["usd"])


TOKENS = [TokenUsage.of(input=1_000 * (10 + number), output=10, cache_read=0) for number in range(4)]


def test_without_a_pilot_a_price_and_a_stated_guess_will_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "20", "--model", "anthropic/claude-sonnet-4-5", "--arms", "3"]) == 0

    told = capsys.readouterr().out
    assert "cells        time        cost\n" in told
    assert "For 3 arms, 1 at a time; a cell takes 60 s and $" in told
    assert "by a guess: sessions of a minute, with 10,000 new, 50,000 cached and 1,000 output tokens" in told


def test_where_nothing_tells_what_a_cell_takes_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "20"]) == 0

    told = capsys.readouterr().out
    assert "chance      cells\n" in told
    assert "what a cell takes is not known: name a pilot, or say it with --cell-seconds and --cell-usd" in told


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--arms", "0"], "--arms: expected a number of at least 1, got 0"),
        (["--cell-usd", "-1"], "--cell-usd: expected an amount of at least 0, got -1"),
        (["--cell-seconds", "inf"], "--cell-seconds: expected an amount"),
        (["--model", "nobody/knows"], "--model: no price is known for 'nobody/knows'"),
    ],
)
def test_an_effort_that_cannot_be_is_one_line(
    flags: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--effect", "20", *flags]) == 2

    assert capsys.readouterr().err.startswith(f"error: {reason}")
