"""`ghx-bench check`: everything wrong with a project's files, alone and together."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_bench._base.errors import InputError
from ghx_bench.eval.cli.flags import AsJson, Switch

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.eval.checking.project_check import CheckResult


FOUND_PROBLEMS = 2

_PLURALS = {
    "scenario": "scenarios",
    "sets": "files of sets",
    "fixture": "fixtures",
    "manifest": "manifests",
    "mode": "modes",
    "solution": "solutions",
    "configuration": "configurations",
    "other file": "other files",
    "problem": "problems",
    "warning": "warnings",
}
_SINGULARS = {"sets": "file of sets"}


def check(
    *paths: Path,
    config: Path | None = None,
    strict: Switch = False,
    as_json: AsJson = False,
) -> int:
    """Say everything that is wrong with scenarios, solutions, sets, fixtures, manifests, modes and configurations.

    Parameters
    ----------
    paths
        Files and folders; the current folder unless given. What a file is, is told by its name and content.
    config
        The configuration whose scorers, fixtures and modes may be named, besides those among the files;
        `eval.config.yaml` in the current folder unless given. The Python file with the scorers is executed.
    strict
        Let warnings count as problems.
    as_json
        Print what was found as JSON.
    """
    from ghx_bench.eval.checking.project_check import check_files

    paths = paths or (Path(),)
    inspection = check_files(paths, config=config)
    if not inspection.files:
        places = ", ".join(map(repr, map(str, paths)))
        raise InputError(
            f"nothing to check in {places}; `ghx-bench new scenario pr-review-001` writes a first scenario"
        )
    is_fine = not inspection.problems and not (strict and inspection.doubts)
    print(_as_json(inspection, ok=is_fine) if as_json else _as_text(inspection, strict=strict))
    return 0 if is_fine else FOUND_PROBLEMS


def _as_json(inspection: CheckResult, *, ok: bool) -> str:
    told = {
        "ok": ok,
        "files": [{"file": str(each.path), "kind": each.kind} for each in inspection.files],
        "problems": [each.to_dict() for each in inspection.problems],
        "warnings": [each.to_dict() for each in inspection.doubts],
    }
    return json.dumps(told, indent=2, ensure_ascii=False)


def _as_text(inspection: CheckResult, *, strict: bool) -> str:
    kinds = Counter(each.kind for each in inspection.files if each.kind)
    unknown = sum(each.kind is None for each in inspection.files)
    looked = [_counted(number, kind) for kind, number in sorted(kinds.items())]
    looked += [_counted(unknown, "other file")] if unknown else []
    found = [_counted(len(inspection.problems), "problem")] if inspection.problems else ["no problems"]
    found += [_counted(len(inspection.doubts), "warning")] if inspection.doubts else []
    if strict and inspection.doubts:
        found.append(f"which --strict counts as {'a problem' if len(inspection.doubts) == 1 else 'problems'}")
    lines = [*map(str, inspection.problems), *(f"warning: {each}" for each in inspection.doubts)]
    return "\n".join([*lines, f"{', '.join(looked)}: {', '.join(found)}"])


def _counted(number: int, what: str) -> str:
    return f"{number} {_SINGULARS.get(what, what) if number == 1 else _PLURALS[what]}"
