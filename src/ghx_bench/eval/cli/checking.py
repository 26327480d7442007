"""What `ghx-bench check` does once its command line is read."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ghx_bench._base.errors import InputError
from ghx_bench.eval.checking.project_files import Inspection, inspect_files

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


def check_paths(paths: Sequence[Path], *, config: Path | None, strict: bool, as_json: bool) -> int:
    """Inspect the files, show what was found, and return the exit code."""
    inspection = inspect_files(paths, config=config)
    if not inspection.files:
        places = ", ".join(map(repr, map(str, paths)))
        raise InputError(
            f"nothing to check in {places}; `ghx-bench new scenario pr-review-001` writes a first scenario"
        )
    is_fine = not inspection.problems and not (strict and inspection.doubts)
    print(_as_json(inspection, ok=is_fine) if as_json else _as_text(inspection, strict=strict))  # noqa: T201 - this command's output
    return 0 if is_fine else FOUND_PROBLEMS


def _as_json(inspection: Inspection, *, ok: bool) -> str:
    told = {
        "ok": ok,
        "files": [{"file": str(each.path), "kind": each.kind} for each in inspection.files],
        "problems": [each.to_dict() for each in inspection.problems],
        "warnings": [each.to_dict() for each in inspection.doubts],
    }
    return json.dumps(told, indent=2, ensure_ascii=False)


def _as_text(inspection: Inspection, *, strict: bool) -> str:
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
