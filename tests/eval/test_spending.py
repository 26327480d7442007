"""A run whose model calls are paid for: its cost is estimated, limited or agreed to, and stops where the limit is."""

from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, rows_of, run_in, write_files

from ghx_bench.eval.cli.spending import Estimate

AGENT = """
from contextlib import asynccontextmanager
from ghx_bench.profiler import Answer, TokenUsage, TraceRecorder

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
    assert "estimate: $1.50 to $1.50 for 3 cells, by earlier runs" in rest.stderr
    assert len(rows_of(run)) == 3


def test_an_estimate_says_what_it_does_not_know() -> None:
    known = Estimate(low_usd=1, high_usd=2.5, cells=4, unknown=0)
    partly = Estimate(low_usd=1, high_usd=2.5, cells=4, unknown=1)

    assert str(known) == "$1.00 to $2.50 for 4 cells, by earlier runs"
    assert str(partly) == "$1.00 to $2.50 for 3 cells, by earlier runs; what 1 cell will cost is not known"
