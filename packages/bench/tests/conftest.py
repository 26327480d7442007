"""Runs that several tests look at, made once."""

from pathlib import Path

import pytest
from bench_command import fork_ghx_bench
from harbor_models import trajectory_model
from once import once

__all__ = ["reference_run", "trajectory_model"]


@pytest.fixture(scope="session")
def reference_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a `ghx-bench run` as it comes: all built-in scenarios and modes, the reference agent."""

    def run(folder: Path) -> None:
        flags = ("--repetitions", "1", "--skip-warmup", "--max-concurrency", "4", "--json", "--log-json", "log.jsonl")
        done = fork_ghx_bench(folder, "run", *flags)
        (folder / "stderr").write_text(done.stderr)
        assert done.returncode == 0, done.stderr
        (folder / "stdout").write_text(done.stdout)

    return once(tmp_path_factory, "reference-run", run)


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
