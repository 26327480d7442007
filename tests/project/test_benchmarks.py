"""What benchmarks share measures what it says, and leaves no process and no file behind."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from nightly import mostly_nightly

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WRAPPER = "import subprocess, sys; print(subprocess.Popen(['sleep', '1000']).pid, flush=True); sys.stdin.read()"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import modules of the benchmarks, which lie in no package."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module


@pytest.mark.process
def test_what_a_wrapper_started_ends_with_it(load: Any) -> None:
    with load("_processes").running([sys.executable, "-c", WRAPPER]) as process:
        wrapped = psutil.Process(int(process.stdout.readline()))
        assert wrapped.is_running()

    assert process.returncode is not None
    psutil.wait_procs([wrapped], timeout=10)
    assert not wrapped.is_running() or wrapped.status() == psutil.STATUS_ZOMBIE


@pytest.mark.process
def test_programs_are_measured_with_bytecode_and_by_the_time_of_all_they_wait_for(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    work = "import time\nwhile time.process_time() < 0.2: pass"
    script = f"import subprocess, sys; print(sys.dont_write_bytecode); subprocess.run([sys.executable, '-c', {work!r}])"

    spent = load("_processes").time_program([sys.executable, "-c", script])

    assert spent.output == "False\n"
    assert spent.cpu_s >= 0.2


@pytest.mark.process
def test_a_program_that_fails_stops_the_benchmark_with_what_it_said(load: Any) -> None:
    with pytest.raises(SystemExit, match="ended with 1:\nno abacus"):
        load("_processes").time_program([sys.executable, "-c", "import sys; sys.exit('no abacus')"])


@pytest.mark.parametrize("keeps", [False, True])
def test_files_are_kept_until_the_last_benchmark_where_that_is_asked_for(
    keeps: bool, load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = load("_processes")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv(processes.KEEP_FILES, "1" if keeps else "")
    with processes.workplace() as folder:
        (folder / "rows").touch()

    assert (folder / "rows").exists() == keeps


@pytest.mark.parametrize(("power", "factor"), [(0, 5), (1, 2), (1.5, 0.1), (-1, 3)])
def test_the_exponent_is_that_of_the_power_law(power: float, factor: float, load: Any) -> None:
    costs = {size: factor * size**power for size in (10, 100, 10_000)}

    assert load("growth").Growth(what="x", by="y", costs_ms=costs).exponent == pytest.approx(power)


def test_the_own_share_of_a_cell_is_what_session_and_prompt_leave_until_the_next(load: Any) -> None:
    def row(mode: str, started_at: str, session_ms: int, prompt_ms: int) -> dict[str, Any]:
        lengths = {"stage": 5, "session": session_ms, "prompt": prompt_ms, "score": 9}
        segments = [{"label": label, "startMs": 100, "endMs": 100 + ms} for label, ms in lengths.items()]
        return {"mode": mode, "startedAt": started_at, "timing": {"segments": segments}}

    rows = [
        row("a", "2026-01-01T00:00:00.000Z", 100, 300),
        row("b", "2026-01-01T00:00:00.420Z", 0, 1000),
        row("a", "2026-01-01T00:00:01.460Z", 0, 0),
    ]
    assert list(load("small_run").own_shares_ms(rows)) == [("a", pytest.approx(20)), ("b", pytest.approx(40))]


@pytest.mark.process
@pytest.mark.parametrize("name", mostly_nightly(sorted(path.name for path in BENCHMARKS.glob("[!_]*.py")), keep=2))
def test_every_benchmark_can_be_tried_quickly(name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / name), "--help"]

    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout


@pytest.mark.process
@pytest.mark.slow
def test_clients_on_worlds_of_their_own_lose_no_write_and_meet_no_error(load: Any) -> None:
    found = load("load").measure(clients=16, seconds=2.0, early_s=1.0)

    assert found.writes >= 16
    assert (found.failures, found.wrong) == (0, 0)
