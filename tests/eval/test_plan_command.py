"""`ghx-bench plan` as a user meets it."""

import json
from pathlib import Path

import pytest
from report_runs import made_up_rows, write_run

from ghx_bench.eval.cli.main import run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "two", made_up_rows(modes=["baseline", "ghx"], scenarios=6))
    write_run(tmp_path / "three", made_up_rows(scenarios=6))
    return tmp_path


def plan(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["plan", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_assumptions_are_enough_to_plan_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "20", "--within-cv", "0.3"]) == 0

    said = capsys.readouterr().out
    assert "assumed: repetitions vary by 30%" in said
    assert "          5          6             30" in said


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


def test_success_is_planned_in_percentage_points(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--effect", "20", "--metric", "success", "--rate", "0.5"]) == 0

    assert "20 percentage points of success" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--effect"),
        (["--effect", "0"], "an effect is above 0"),
        (["--effect", "20", "--alpha", "3"], "--alpha"),
        (["--effect", "20", "--within-cv", "-1"], "within_cv is between 0"),
        (["three", "--effect", "20"], "--modes: name two modes, as a,b; the pilot has baseline, ghx, mcp"),
        (["two", "--effect", "20", "--modes", "ghx,gxh"], "no mode 'gxh'; did you mean 'ghx'?"),
        (["two", "--effect", "20", "--metric", "nothing"], "the pilot cannot tell the noise of nothing"),
        (["nowhere", "--effect", "20"], "nowhere: not a run directory"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *arguments]) == 2

    complaint = capsys.readouterr().err
    assert says in complaint
    assert complaint.count("\n") == 1
