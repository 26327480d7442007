"""`ghx-bench check --solve`: scenarios are proved, and what came of it is shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import anyio

from ghx_base.problems import plural
from ghx_bench.cli.listing import in_columns
from ghx_bench.proving.isolation import RINGS, RingProof, prove_ring
from ghx_bench.proving.proof import prove
from ghx_bench.proving.subjects import Choice, choose_subjects
from ghx_bench.proving.trials import TrialResult, open_ground
from ghx_bench.proving.verdicts import ScenarioProof

NOT_PROVED = 1
"""How the command ends where a scenario is not proved."""


def solve(choice: Choice, *, jobs: int, strict: bool, as_json: bool) -> int:
    """Prove the chosen scenarios, print what came of it, and return the exit code."""
    # What scorers of the user's own print must not get between the lines of --json.
    with redirect_stdout(sys.stderr):
        proofs, rings = anyio.run(_prove, choice, jobs)
    is_proved = not any(each.problems or (strict and each.warnings) for each in proofs)
    is_proved &= not any(each.problems for each in rings)
    if as_json:
        described = {"ok": is_proved, "scenarios": [*map(_describe, proofs)], "rings": [*map(_describe_ring, rings)]}
        print(json.dumps(described, indent=2, ensure_ascii=False))
    else:
        print(_as_text(proofs, rings, strict=strict))
    return 0 if is_proved else NOT_PROVED


async def _prove(choice: Choice, jobs: int) -> tuple[list[ScenarioProof], list[RingProof]]:
    spec, subjects = choose_subjects(choice)
    rings: list[RingProof] = []
    done = 0

    def report(proof: ScenarioProof) -> None:
        nonlocal done
        done += 1
        print(f"[{done}/{len(subjects)}] {_verdict(proof)}", file=sys.stderr, flush=True)

    async with open_ground(spec, environ=os.environ) as ground:
        proofs = await prove(subjects, ground, jobs=jobs, report=report)
    # A ring is the same for every scenario: whoever is at work on one does not wait for it.
    for ring in () if choice.is_narrowed else RINGS:
        rings.append(await prove_ring(ring, environ=os.environ))
        verdict = "not proved" if rings[-1].unproved else "NOT PROVED" if rings[-1].problems else "proved"
        print(f"{verdict}  ring {rings[-1].column}", file=sys.stderr, flush=True)
    return proofs, rings


def _verdict(proof: ScenarioProof) -> str:
    if proof.unproved is not None:
        return f"not proved  {proof.scenario.id}: {proof.unproved}"
    return f"{'NOT PROVED' if proof.problems else 'proved'}  {proof.scenario.id}  {proof.duration_s:.1f} s"


def _ring_verdict(proof: RingProof) -> str:
    if proof.unproved is not None:
        return f"ring {proof.column}: not proved: {proof.unproved}"
    absent = sorted(proof.admitted - proof.found)
    without = f" (not {', '.join(map(str, absent))} here)" if absent else ""
    more = f"and {plural(len(proof.problems), 'thing')} more" if proof.problems else "and nothing more"
    admitted, found = plural(len(proof.admitted), "thing"), len(proof.found & proof.admitted)
    return f"ring {proof.column}: of the {admitted} that docs/security.md admits, prying found {found}{without}, {more}"


def _as_text(proofs: Sequence[ScenarioProof], rings: Sequence[RingProof], *, strict: bool) -> str:
    header = ("scenario", "proved in", "nop fails", "mutants caught", "traps caught", "gullible trips", "time")
    tried = [each for each in proofs if each.unproved is None]
    lines = [in_columns(header, [_row(each) for each in tried]), ""] if tried else []
    lines += [_ring_verdict(each) for each in rings]
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


def _describe_ring(proof: RingProof) -> dict[str, Any]:
    return {
        "ring": proof.ring,
        "column": proof.column,
        "found": sorted(proof.found),
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
