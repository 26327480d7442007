"""A run whose model calls are paid for: its cost is estimated, limited or agreed to, and stops where the limit is."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, write_files

from ghx_bench.cli.running.forecast import CostForecast, CostRange
from ghx_profiler.events import CanaryFinished, CellStarted
from ghx_profiler.plan.cell import Cell

NOW = datetime(2026, 1, 1, tzinfo=UTC)

AGENT = """
from contextlib import asynccontextmanager
from ghx_profiler import Answer, TokenUsage, TraceRecorder

class Paid:
    name = "paid"
    is_paid = True

    @asynccontextmanager
    async def session(self, request):
        yield Session()

class Session:
    def __init__(self):
        self.recorder = TraceRecorder()

    async def prompt(self, text):
        self.recorder.text("done")
        self.recorder.add_usage(TokenUsage.of(input=10, output=1))
        self.recorder.cost(0.5)
        return Answer(text="done")

    async def trace(self):
        return self.recorder.trace()
"""
CONFIG = """
modes: [baseline]
provider: {id: "./paid.py:Paid"}
scenarios: {ids: [issue-triage-001]}
execution: {repetitions: 3, warmup: false}
"""


@pytest.mark.process
@pytest.mark.slow
def test_a_paid_run_needs_a_limit_stops_at_it_and_goes_on_with_more(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG, "paid.py": AGENT})

    refused = fork_ghx_bench(tmp_path, "run", "--no-report")

    assert refused.returncode == 2, refused.stderr
    assert "estimate: what 3 cells will cost is not known: no earlier run has measured such" in refused.stderr
    assert "agent 'paid' calls models that are paid for: say how many US dollars" in refused.stderr
    assert not (tmp_path / "results").exists()

    limited = fork_ghx_bench(tmp_path, "run", "--no-report", "--max-usd", "0.9")

    run = run_in(tmp_path)
    assert limited.returncode == 3, limited.stderr
    assert len(rows_of(run)) == 2
    assert "1 cell left: max_usd of the run is used up (1 of 0.9); go on with a higher limit" in limited.stdout

    rest = fork_ghx_bench(tmp_path, "resume", str(run), "--no-report", "--max-usd", "5")

    assert rest.returncode == 0, rest.stderr
    assert "estimate: $0.50 to $0.50 for 1 cell, by earlier runs\n" in rest.stderr
    assert len(rows_of(run)) == 3

    complete = fork_ghx_bench(tmp_path, "resume", str(run), "--no-report")

    assert (complete.returncode, "estimate" in complete.stderr) == (0, False)


@pytest.mark.process
@pytest.mark.slow
def test_the_warm_up_tells_what_a_run_may_cost_that_has_no_past(tmp_path: Path) -> None:
    write_files(tmp_path, {"eval.config.yaml": CONFIG.replace("warmup: false", "warmup: true"), "paid.py": AGENT})

    limited = fork_ghx_bench(tmp_path, "run", "--no-report", "--max-usd", "0.9")

    before, after = [line for line in limited.stderr.splitlines() if line.startswith("estimate: ")]
    assert before == "estimate: what 3 cells will cost is not known: no earlier run has measured such"
    more = "that is more than the $0.40 that --max-usd leaves"
    assert after == f"estimate: $1.50 to $1.50 for 3 cells, by the warm-up; {more}"


def cells(*scenarios: str, model: str = "m") -> list[Cell]:
    return [Cell(agent="a", model=model, mode="baseline", scenario_id=each, iteration=0) for each in scenarios]


def test_cells_without_a_past_cost_what_the_warm_up_of_their_agent_and_model_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    all_cells = [*cells("known", "new", "new"), *cells("new", model="another")]
    forecast = CostForecast(cells=all_cells, earlier={("a", "m", "known"): [1.0, 3.0]}, left_usd=5.0)
    started = CellStarted(at=NOW, cell=all_cells[0])

    forecast(started)  # no warm-up, nothing new
    for cost_usd in (0.5, None, 0.25):
        forecast(CanaryFinished(at=NOW, cell=all_cells[1], cost_usd=cost_usd))
    forecast(started)
    forecast(started)

    known = "$1.50 to $4.00 for 3 cells, by earlier runs and the warm-up; what 1 cell will cost is not known"
    assert capsys.readouterr().err == f"estimate: {known}\n"
    assert forecast.left_usd == 4.25


def test_a_warm_up_says_nothing_new_about_cells_that_have_a_past(capsys: pytest.CaptureFixture[str]) -> None:
    (cell,) = cells("known")
    forecast = CostForecast(cells=[cell], earlier={("a", "m", "known"): [1.0]}, left_usd=None)

    forecast(CanaryFinished(at=NOW, cell=cell, cost_usd=0.5))
    forecast(CellStarted(at=NOW, cell=cell))

    assert capsys.readouterr().err == ""


def test_an_estimate_says_what_it_does_not_know() -> None:
    known = CostRange(low_usd=1, high_usd=2.5, cells=4, unknown=0, basis="earlier runs")
    partly = CostRange(low_usd=1, high_usd=2.5, cells=4, unknown=1, basis="earlier runs")

    assert str(known) == "$1.00 to $2.50 for 4 cells, by earlier runs"
    assert str(partly) == "$1.00 to $2.50 for 3 cells, by earlier runs; what 1 cell will cost is not known"
