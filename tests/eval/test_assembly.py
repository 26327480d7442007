"""A run put together: everything is loaded once, before anything else."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ghx_bench.eval.assembly import assemble
from ghx_bench.eval.catalogue import Catalogue
from ghx_bench.eval.modes.resolver import Modes
from ghx_bench.eval.project.config import EvalConfig
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.profiler.evidence import Mode

pytestmark = pytest.mark.anyio


async def test_scenarios_are_loaded_and_modes_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    take, resolve = Catalogue.take, Modes.resolve

    def counted_take(catalogue: Catalogue, ids: Sequence[str]) -> Sequence[EvalScenario]:
        asked.append(list(ids))
        return take(catalogue, ids)

    async def counted_resolve(modes: Modes, name: str) -> Mode:
        asked.append(name)
        return await resolve(modes, name)

    monkeypatch.setattr(Catalogue, "take", counted_take)
    monkeypatch.setattr(Modes, "resolve", counted_resolve)
    config = EvalConfig.model_validate(
        {
            "modes": ["baseline"],
            "provider": {"id": "nop"},
            "scenarios": {"ids": ["issue-triage-001"]},
            "execution": {"repetitions": 1, "warmup": False},
            "output": {"results_dir": str(tmp_path / "results")},
        }
    )

    async with assemble(Catalogue(config), environ=os.environ, project=Path.cwd()) as evaluation:
        result = await evaluation.run()

    assert result.measured == 1
    assert asked == [["issue-triage-001"], "baseline"]
