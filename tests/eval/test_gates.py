"""Gates: what must not come of a run, in one grammar, judged on what was measured."""

import json
from pathlib import Path
from typing import Any

import pytest
from report_runs import a_row, write_run

from ghx_bench._base.errors import FlagError
from ghx_bench.eval.cli.main import run
from ghx_bench.eval.cli.measuring import exit_code
from ghx_bench.eval.project.config import EvalConfig
from ghx_bench.eval.project.gates import GateResult, GateTally, judge
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.store.record import MatrixRecord, read_record


def row(mode: str, iteration: int, success: bool | None) -> ProfileRow:
    unknown: dict[str, Any] = {"error": "GitHub was away", "cause": "environment"} if success is None else {}
    return a_row(mode, iteration=iteration, scenarioId="s-001", success=success, **unknown)


ROWS = [row("a", 0, True), row("a", 1, True), row("a", 2, False), row("a", 3, None), row("b", 0, True)]


@pytest.mark.parametrize(
    ("gate", "rows", "reason"),
    [
        ("wrong", ROWS, "1 of 4 measured cells is wrong: a/s-001/2"),
        ("right", ROWS, "3 of 4 measured cells are right: a/s-001/0, a/s-001/1, b/s-001/0"),
        (
            "wrong",
            [row("a", n, False) for n in range(5)],
            "5 of 5 measured cells are wrong: a/s-001/0, a/s-001/1, a/s-001/2 and 2 more",
        ),
        ("wrong", [ROWS[0], ROWS[4]], None),
        ("right", [ROWS[2], ROWS[3]], None),
        ("success<0.8", ROWS, "a succeeds in 2 of 3 measured cells (0.667)"),
        (
            "success < 1",
            [*ROWS, row("b", 1, False)],
            "a succeeds in 2 of 3 measured cells (0.667); b succeeds in 1 of 2 measured cells (0.5)",
        ),
        ("success<0.6", ROWS, None),
        ("success<0.1", [row("a", n, n == 0) for n in range(10)], None),
        ("success<.5", [ROWS[3]], None),
    ],
)
def test_a_gate_says_what_it_failed_by(gate: str, rows: list[ProfileRow], reason: str | None) -> None:
    matrix = MatrixRecord(
        agents=("opencode",),
        models=("vendor/model-1",),
        modes=("a", "b"),
        scenario_ids=("s-001",),
        repetitions=10,
        order="interleaved",
        seed=0,
    )
    tally = GateTally(matrix=matrix, agents=matrix.agents)
    for row in rows:
        tally.add(row)

    (result,) = judge([gate], tally)

    assert (result.failed, result.reason) == (reason is not None, reason)
    assert result.to_wire() == {"gate": gate, "failed": reason is not None, "reason": reason}


def test_agents_are_held_against_gates_one_by_one_and_controls_beside_them_are_not(tmp_path: Path) -> None:
    rows = [
        a_row("ghx", iteration=number, provider=agent, success=agent == "careful")
        for agent in ("careful", "hasty", "nop")
        for number in range(2)
    ]
    record = read_record(write_run(tmp_path / "run", rows) / "run.json")
    tally = GateTally.of(record)
    for row in rows:
        tally.add(row)

    results = [result.reason for result in judge(["success<0.5", "wrong"], tally)]

    assert results == [
        "hasty / ghx succeeds in 0 of 2 measured cells (0)",
        "2 of 4 measured cells are wrong: hasty/vendor/model-1/ghx/pr-reply-001/0, "
        "hasty/vendor/model-1/ghx/pr-reply-001/1",
    ]


@pytest.mark.parametrize(
    ("agents", "models"),
    [
        (["careful"], ["vendor/model-1"]),
        (["careful", "nop"], ["vendor/model-1"]),
        (["careful"], ["vendor/model-1", "vendor/model-2"]),
        (["careful", "hasty", "nop"], ["vendor/model-1", "vendor/model-2"]),
    ],
)
def test_show_takes_every_name_that_a_gate_gives_a_cell(
    agents: list[str], models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [a_row(provider=agent, model=model, success=agent == "hasty") for agent in agents for model in models]
    folder = write_run(tmp_path / "run", rows)
    tally = GateTally.of(read_record(folder / "run.json"))
    for row in rows:
        tally.add(row)

    (result,) = judge(["wrong"], tally)

    names = (result.reason or "").rpartition(": ")[2].split(", ")
    assert len(set(names)) == len(names) == len(models)
    for name in names:
        assert run(["show", str(folder), name, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)["row"]
        assert (shown["provider"], shown["success"]) == ("careful", False)


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ("wrng", "--fail-on: there is no gate 'wrng'; did you mean 'wrong'?"),
        ("success", "--fail-on: there is no gate 'success'; write 'wrong', 'right', a rate between 0 and 1 as in"),
        ("success<80", "--fail-on: there is no gate 'success<80'; write "),
        ("success<1.5", "--fail-on: there is no gate 'success<1.5'; write "),
        ("success<0", "--fail-on: there is no gate 'success<0'; write "),
        ("success>0.5", "--fail-on: there is no gate 'success>0.5'; write "),
        ("success<nan", "--fail-on: there is no gate 'success<nan'; write "),
        ("", "--fail-on: there is no gate ''; write "),
    ],
)
def test_what_is_no_gate_is_refused(gate: str, says: str) -> None:
    with pytest.raises(FlagError) as raised:
        EvalConfig(modes=("baseline",)).override(fail_on=[gate])

    assert str(raised.value).startswith(says)


def test_flags_stand_in_for_the_gates_of_the_file() -> None:
    config = EvalConfig.model_validate({"modes": ["baseline"], "fail_on": ["wrong", "success<0.8"]})

    assert config.fail_on == ("wrong", "success<0.8")
    assert config.override(fail_on=["right"]).fail_on == ("right",)
    assert config.override(fail_on=None).fail_on == ("wrong", "success<0.8")


def test_what_could_not_be_measured_goes_before_a_gate() -> None:
    passed, failed = GateResult(gate="right"), GateResult(gate="wrong", reason="1 of 1")

    assert exit_code(unmeasured=0) == 0
    assert exit_code(unmeasured=0, gates=[passed]) == 0
    assert exit_code(unmeasured=0, gates=[passed, failed]) == 1
    assert exit_code(unmeasured=2, gates=[failed]) == 3
