"""What `ghx-bench list scenarios` does once its command line is read."""

import json
from collections.abc import Sequence
from pathlib import Path

from ghx_bench._base.problems import one_line
from ghx_bench.eval.catalogue import Catalogue
from ghx_bench.eval.config import project_config
from ghx_bench.eval.examination import Known
from ghx_bench.eval.loader import LoadedScenario, Names, load_scenario_files, narrow

_HEADER = ("id", "category", "difficulty", "checks", "name")


def show_scenarios(paths: Sequence[Path], tags: Names, category: Names, difficulty: Names, *, as_json: bool) -> int:
    """Load the scenarios, and print those that were asked for."""
    loaded = load_scenario_files(paths, known=Known(scorers=None)) if paths else Catalogue(project_config()).every()
    kept = narrow([each.scenario for each in loaded], tags=tags, category=category, difficulty=difficulty)
    ids = {scenario.id for scenario in kept}
    chosen = [each for each in loaded if each.scenario.id in ids]
    print(_as_json(chosen) if as_json else _as_table(chosen))  # noqa: T201 - this command's output
    return 0


def _as_json(chosen: Sequence[LoadedScenario]) -> str:
    listed = [
        {
            "id": each.scenario.id,
            "name": each.scenario.name,
            "category": each.scenario.category,
            "difficulty": each.scenario.difficulty,
            "tags": list(each.scenario.tags),
            "timeoutMs": each.scenario.timeout_ms,
            "checkpoints": [checkpoint.id for checkpoint in each.scenario.assertions.checkpoints],
            "requires": list(each.scenario.fixture.requires) if each.scenario.fixture else [],
            "file": str(each.path),
        }
        for each in chosen
    ]
    return json.dumps(listed, indent=2, ensure_ascii=False)


def _as_table(chosen: Sequence[LoadedScenario]) -> str:
    if not chosen:
        return "no scenarios"
    rows = [
        (
            each.scenario.id,
            each.scenario.category,
            each.scenario.difficulty,
            str(len(each.scenario.assertions.checkpoints)),
            one_line(each.scenario.name),
        )
        for each in chosen
    ]
    widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (_HEADER, *rows)
    )
