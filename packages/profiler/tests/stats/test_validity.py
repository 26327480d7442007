"""The simulation behind the table in the docs still runs, and finds no contradiction."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]


@pytest.mark.nightly
def test_a_short_simulation_runs_and_no_verdict_contradicts_its_numbers() -> None:
    script = ROOT / "benchmarks" / "statistics_validity.py"

    result = subprocess.run(
        [sys.executable, script, "--runs", "4", "--jobs", "1"], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith(("| tokens", "| success", "| runs"))]
    ours = [line for line in lines if "pooled" not in line]
    assert ours
    assert all(line.endswith("| 0 |") for line in ours)
    assert result.stdout.rstrip().endswith("families: 0")


def test_the_table_in_the_docs_has_the_lines_that_the_simulation_prints() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    source = (ROOT / "benchmarks" / "_simulated_runs.py").read_text(encoding="utf-8")

    assert page.count("\n| tokens, ") + page.count("\n| success, ") == 3 * source.count("    Design(scenarios=")
    assert page.count("\n| runs, ") == 2 * source.count("    PairDesign(metric=")


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return import_module("statistics_validity")


@pytest.mark.parametrize("metric", ["success", "latency_wall_ms"])
def test_identical_runs_are_seldom_called_worse_and_a_drop_mostly_is(metric: str, simulation: Any) -> None:
    design = next(each for each in simulation.PAIR_DESIGNS if each.metric == metric)
    number = simulation.PAIR_DESIGNS.index(design)

    line = simulation.measure_pair((number, simulation.PAIR_METHODS.index("overall"), 60))

    # Of 60 pairs with a chance of at most 5 %, 8 false alarms or more are one in a hundred.
    assert line.false_alarms < 8 / 60
    assert line.power > 0.6
    assert line.contradictions == 0
