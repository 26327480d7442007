"""`ghx-bench check`: everything wrong with a project's files, alone and together, and with `--solve` the proof."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.clock import SystemClock
from ghx_base.errors import InputError
from ghx_bench.cli.flags import AsJson, ProofFlags, Switch

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.checking.project_check import CheckResult


FOUND_PROBLEMS = 2

_ALL_OF_THEM = ProofFlags()

_PLURALS = {
    "scenario": "scenarios",
    "sets": "files of sets",
    "fixture": "fixtures",
    "manifest": "manifests",
    "mode": "modes",
    "seed": "seeds",
    "agent": "agents",
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
    solve: Switch = False,
    proof: ProofFlags = _ALL_OF_THEM,
    strict: Switch = False,
    as_json: AsJson = False,
) -> int:
    """Say everything that is wrong with scenarios, solutions, sets, fixtures, seeds, modes and configurations.

    Parameters
    ----------
    paths
        Files and folders; the current folder unless given. What a file is, is told by its name and content.
    config
        The configuration whose scorers, fixtures and modes may be named, besides those among the files;
        `eval.config.yaml` in the current folder unless given. The Python file with the scorers is executed.
    solve
        Prove scenarios, besides: their solutions pass in every mode, and whoever does nothing, less, something else or
        more does not. Without paths, where the current folder holds no project, the built-in ones.
    strict
        Let warnings count as problems.
    as_json
        Print what was found as JSON.
    """
    if solve:
        return _solve(paths, config, proof, strict=strict, as_json=as_json)
    if proof != _ALL_OF_THEM:
        raise InputError("--scenario, --category, --set, --mode and --jobs say what --solve proves; add --solve")
    from ghx_bench.checking.project_check import check_files

    paths = paths or (Path(),)
    result = check_files(paths, config=config, today=SystemClock().now().date())
    if not result.files:
        places = ", ".join(map(repr, map(str, paths)))
        raise InputError(
            f"nothing to check in {places}; `ghx-bench new scenario pr-review-001` writes a first scenario"
        )
    is_fine = not result.errors and not (strict and result.warnings)
    print(_as_json(result, ok=is_fine) if as_json else _as_text(result, strict=strict))
    return 0 if is_fine else FOUND_PROBLEMS


def _solve(paths: Sequence[Path], config: Path | None, proof: ProofFlags, *, strict: bool, as_json: bool) -> int:
    """Check the files, and prove the scenarios in them if nothing is wrong."""
    from ghx_bench.checking.project_check import check_files
    from ghx_bench.cli.check_solve import solve
    from ghx_bench.project.folders import BUILT_IN_SCENARIOS
    from ghx_bench.proving.subjects import Choice, is_project

    if proof.jobs < 1:
        raise InputError(f"--jobs: at least one session has to run at once, got {proof.jobs}")
    checked = paths or ((Path(),) if is_project(config) else (BUILT_IN_SCENARIOS,))
    result = check_files(checked, config=config, today=SystemClock().now().date())
    if result.errors:
        print(_as_json(result, ok=False) if as_json else _as_text(result, strict=strict))
        return FOUND_PROBLEMS
    scenarios = tuple(each.path for each in result.files if each.kind == "scenario")
    if paths and not scenarios:
        raise InputError(f"no scenario in {', '.join(map(repr, map(str, paths)))}; name a file or a folder with one")
    configurations = [each.path for each in result.files if each.kind == "configuration"]
    choice = Choice(
        paths=scenarios if paths else (),
        # Of a folder elsewhere, its own: fixtures, scorers and modes of its scenarios are what that names.
        config=config or (configurations[0] if len(configurations) == 1 else None),
        scenarios=tuple(proof.scenario or ()),
        categories=tuple(proof.category or ()),
        set=proof.set,
        modes=tuple(proof.mode or ()),
    )
    return solve(choice, jobs=proof.jobs, strict=strict, as_json=as_json)


def _as_json(result: CheckResult, *, ok: bool) -> str:
    described = {
        "ok": ok,
        "files": [{"file": str(each.path), "kind": each.kind} for each in result.files],
        "problems": [each.to_dict() for each in result.errors],
        "warnings": [each.to_dict() for each in result.warnings],
    }
    return json.dumps(described, indent=2, ensure_ascii=False)


def _as_text(result: CheckResult, *, strict: bool) -> str:
    kinds = Counter(each.kind for each in result.files if each.kind)
    unknown = sum(each.kind is None for each in result.files)
    looked = [_count(number, kind) for kind, number in sorted(kinds.items())]
    looked += [_count(unknown, "other file")] if unknown else []
    found = [_count(len(result.errors), "problem")] if result.errors else ["no problems"]
    found += [_count(len(result.warnings), "warning")] if result.warnings else []
    if strict and result.warnings:
        found.append(f"which --strict counts as {'a problem' if len(result.warnings) == 1 else 'problems'}")
    lines = [*map(str, result.errors), *(f"warning: {each}" for each in result.warnings)]
    return "\n".join([*lines, f"{', '.join(looked)}: {', '.join(found)}"])


def _count(number: int, what: str) -> str:
    return f"{number} {_SINGULARS.get(what, what) if number == 1 else _PLURALS[what]}"
