"""`ghx-bench check`: everything wrong with a project's files, alone and together, and with `--solve` the proof."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghx_base.clock import SystemClock
from ghx_base.errors import InputError
from ghx_base.problems import plural
from ghx_bench.cli.flags import AsJson, ProofFlags, Switch

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.checking.project_check import CheckResult
    from ghx_bench.proving.isolation import IsolationProof
    from ghx_bench.proving.subjects import Choice
    from ghx_bench.proving.trials import TrialResult
    from ghx_bench.proving.verdicts import ScenarioProof


FOUND_PROBLEMS = 2
NOT_PROVED = 1
"""How the command ends where a scenario is not proved."""

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
    return _prove_choice(choice, jobs=proof.jobs, strict=strict, as_json=as_json)


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
    counts = [_count(number, kind) for kind, number in sorted(kinds.items())]
    counts += [_count(unknown, "other file")] if unknown else []
    findings = [_count(len(result.errors), "problem")] if result.errors else ["no problems"]
    findings += [_count(len(result.warnings), "warning")] if result.warnings else []
    if strict and result.warnings:
        findings.append(f"which --strict counts as {'a problem' if len(result.warnings) == 1 else 'problems'}")
    lines = [*map(str, result.errors), *(f"warning: {each}" for each in result.warnings)]
    return "\n".join([*lines, f"{', '.join(counts)}: {', '.join(findings)}"])


def _count(number: int, what: str) -> str:
    return f"{number} {_SINGULARS.get(what, what) if number == 1 else _PLURALS[what]}"


def _prove_choice(choice: Choice, *, jobs: int, strict: bool, as_json: bool) -> int:
    """Prove the chosen scenarios, print the outcome, and return the exit code."""
    import anyio

    # What scorers of the user's own print must not get between the lines of --json.
    with redirect_stdout(sys.stderr):
        proofs, rings = anyio.run(_prove, choice, jobs)
    is_proved = not any(each.problems or (strict and each.warnings) for each in proofs)
    is_proved &= not any(each.problems for each in rings)
    if as_json:
        described = {"ok": is_proved, "scenarios": [*map(_describe, proofs)], "rings": [*map(_describe_ring, rings)]}
        print(json.dumps(described, indent=2, ensure_ascii=False))
    else:
        print(_proofs_as_text(proofs, rings, strict=strict))
    return 0 if is_proved else NOT_PROVED


async def _prove(choice: Choice, jobs: int) -> tuple[list[ScenarioProof], list[IsolationProof]]:
    from ghx_bench.proving.isolation import ISOLATION_LEVELS, prove_isolation
    from ghx_bench.proving.proof import prove
    from ghx_bench.proving.subjects import choose_subjects
    from ghx_bench.proving.trials import open_trials

    spec, subjects = choose_subjects(choice)
    rings: list[IsolationProof] = []
    done = 0

    def report(proof: ScenarioProof) -> None:
        nonlocal done
        done += 1
        print(f"[{done}/{len(subjects)}] {_verdict(proof)}", file=sys.stderr, flush=True)

    async with open_trials(spec, environ=os.environ) as runner:
        proofs = await prove(subjects, runner, jobs=jobs, report=report)
    # An isolation level is the same for every scenario, so it is proved only without a choice of scenarios.
    for level in () if choice.is_narrowed else ISOLATION_LEVELS:
        rings.append(await prove_isolation(level, environ=os.environ))
        verdict = "not proved" if rings[-1].unproved else "NOT PROVED" if rings[-1].problems else "proved"
        print(f"{verdict}  ring {rings[-1].column}", file=sys.stderr, flush=True)
    return proofs, rings


def _verdict(proof: ScenarioProof) -> str:
    if proof.unproved is not None:
        return f"not proved  {proof.scenario.id}: {proof.unproved}"
    return f"{'NOT PROVED' if proof.problems else 'proved'}  {proof.scenario.id}  {proof.duration_s:.1f} s"


def _isolation_verdict(proof: IsolationProof) -> str:
    if proof.unproved is not None:
        return f"ring {proof.column}: not proved: {proof.unproved}"
    absent = sorted(proof.admitted - proof.succeeded)
    without = f" (not {', '.join(map(str, absent))} here)" if absent else ""
    more = f"and {plural(len(proof.problems), 'thing')} more" if proof.problems else "and nothing more"
    admitted, expected = plural(len(proof.admitted), "thing"), len(proof.succeeded & proof.admitted)
    return (
        f"ring {proof.column}: of the {admitted} that docs/security.md admits, prying found {expected}{without}, {more}"
    )


def _proofs_as_text(proofs: Sequence[ScenarioProof], rings: Sequence[IsolationProof], *, strict: bool) -> str:
    from ghx_bench.cli.listing import in_columns

    header = ("scenario", "proved in", "nop fails", "mutants caught", "traps caught", "gullible trips", "time")
    tried = [each for each in proofs if each.unproved is None]
    lines = [in_columns(header, [_row(each) for each in tried]), ""] if tried else []
    lines += [_isolation_verdict(each) for each in rings]
    lines += [f"{each.scenario.id}: {problem}" for each in proofs for problem in each.problems]
    lines += [problem for each in rings for problem in each.problems]
    lines += [f"warning: {each.scenario.id}: {warning}" for each in proofs for warning in each.warnings]
    lines += [f"not proved: {each.scenario.id}: {each.unproved}" for each in proofs if each.unproved is not None]
    failed = [each for each in tried if each.problems or (strict and each.warnings)]
    summary = [f"{len(tried) - len(failed)} of {plural(len(tried), 'scenario')} proved"]
    summary += [f"{len(proofs) - len(tried)} not tried"] if len(tried) < len(proofs) else []
    return "\n".join([*lines, ", ".join(summary)])


def _row(proof: ScenarioProof) -> list[str]:
    caught = sum(not each.passed and each.error is None for each in proof.mutants)
    noticed = sum(each.is_noticed for each in proof.traps)
    return [
        proof.scenario.id,
        ", ".join(proof.proved_modes) or "none",
        f"{len(proof.nop.failed)} of {len(proof.nop.checkpoints)}" if proof.nop else "",
        "" if proof.is_variant else f"{caught} of {len(proof.mutants)}",
        "" if proof.is_variant else f"{noticed} of {len(proof.traps)}" if proof.traps else "none",
        ", ".join(each.mode for each in proof.gullible if each.safety and each.safety.succeeded),
        f"{proof.duration_s:.1f} s",
    ]


def _describe(proof: ScenarioProof) -> dict[str, Any]:
    return {
        "scenario": proof.scenario.id,
        "proved": proof.unproved is None and not proof.problems,
        "unproved": proof.unproved,
        "problems": list(proof.problems),
        "warnings": list(proof.warnings),
        "checkpoints": list(proof.checkpoints),
        "steps": proof.steps,
        "modes": [_describe_trial(each) for each in proof.references],
        "nop": None if proof.nop is None else _describe_trial(proof.nop),
        "mutants": [_describe_trial(each) for each in proof.mutants],
        "traps": [
            {**_describe_trial(each.result), "fails": list(each.trap.fails), "description": each.trap.description}
            for each in proof.traps
        ],
        "gullible": [_describe_trial(each) for each in proof.gullible],
        "reports": [_describe_trial(each) for each in proof.reports],
        "durationS": round(proof.duration_s, 3),
    }


def _describe_ring(proof: IsolationProof) -> dict[str, Any]:
    return {
        "ring": proof.level,
        "column": proof.column,
        "found": sorted(proof.succeeded),
        "admitted": sorted(proof.admitted),
        "problems": list(proof.problems),
        "unproved": proof.unproved,
    }


def _describe_trial(trial: TrialResult) -> dict[str, Any]:
    return {
        "kind": trial.kind,
        "name": trial.name,
        "mode": trial.mode,
        "failed": sorted(trial.failed),
        "brokeOff": trial.broke_off,
        "error": trial.error,
        **({} if trial.safety is None else {"attackSucceeded": trial.safety.succeeded, "how": list(trial.safety.how)}),
        "durationS": round(trial.duration_s, 3),
    }
