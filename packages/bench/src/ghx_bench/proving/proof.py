"""The proof of scenarios: everything that is tried with each, as many trials at once as the machine can bear."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from typing import TypeVar

import anyio

from ghx_base.errors import ungrouped
from ghx_bench.proving.mutants import Mutant, count_steps, mutants_of
from ghx_bench.proving.trials import TrialResult, TrialRunner
from ghx_bench.proving.verdicts import ScenarioProof, TrapResult
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.agents.controls.solution import Solution, Trap

T = TypeVar("T")

# Mutants are made of one solution: that whose steps are the smallest and the fastest, since no process starts for each.
_FINEST_FIRST = ("ghx-mcp", "baseline", "ghx")

_SHORTEST_LIMIT_S = 20.0
_TIMES_THE_SOLUTION = 5.0

Report = Callable[[ScenarioProof], None]
"""Told of each scenario that is done with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A scenario to prove, or why it cannot be."""

    scenario: EvalScenario
    solutions: Mapping[str, Solution] = field(default_factory=dict[str, Solution])
    """By the modes in which it is proved."""
    traps: tuple[tuple[Trap, str, Solution], ...] = ()
    """Wrong solutions, each with the mode it is for."""
    gullible: Mapping[str, Solution] = field(default_factory=dict[str, Solution])
    """Where it has a threat: the solutions with what the injected text says, by mode."""
    is_variant: bool = False
    """Whether it is a variant: its solution must pass, and mistakes are tried with the base variant only."""
    unproved: str | None = None


def finest_mode(modes: Iterable[str]) -> str:
    """Return the mode whose solution mutants are made of."""
    every = list(modes)
    return next((mode for mode in _FINEST_FIRST if mode in every), every[0])


async def prove(subjects: Sequence[Subject], runner: TrialRunner, *, jobs: int, report: Report) -> list[ScenarioProof]:
    """Try everything with each scenario, and return the outcome in their order."""
    # Two limits: without that of scenarios, all would be begun before the first is done with.
    trials = anyio.CapacityLimiter(jobs)

    async def prove_one(subject: Subject) -> ScenarioProof:
        proof = await _Prover(subject.scenario, runner, trials).prove(subject)
        report(proof)
        return proof

    with ungrouped():
        return await _run_all([partial(prove_one, each) for each in subjects], anyio.CapacityLimiter(jobs))


@dataclass(frozen=True, slots=True)
class _Prover:
    """All that is tried with one scenario."""

    scenario: EvalScenario
    runner: TrialRunner
    limiter: anyio.CapacityLimiter

    async def prove(self, subject: Subject) -> ScenarioProof:
        if subject.unproved is not None:
            return ScenarioProof(scenario=self.scenario, unproved=subject.unproved)
        started_at, solutions = time.monotonic(), subject.solutions
        finest = finest_mode(solutions)
        follow = [
            partial(
                self.runner.reference,
                self.scenario,
                mode,
                solution,
                extra_actions=mode == finest and not subject.is_variant,
            )
            for mode, solution in solutions.items()
        ]
        followed = await _run_all(follow, self.limiter)
        right, solved = followed[list(solutions).index(finest)]
        siblings = solved.targets.siblings() if solved.targets else {}
        # A mutant may wait for what never comes.
        longest_s = max(_SHORTEST_LIMIT_S, _TIMES_THE_SOLUTION * right.duration_s)
        # Mutants of a solution that fails say nothing.
        is_tried = right.passed and not subject.is_variant
        mutants = list(mutants_of(solutions[finest], siblings)) if is_tried else []
        wrong = [partial(self._try_mutant, mutant, finest, longest_s) for mutant in mutants]
        wrong += [partial(self._fall_into, *trap) for trap in subject.traps]
        wrong += [partial(self._believe, *each) for each in subject.gullible.items()]
        nop, *tried = await _run_all([partial(self.runner.nop, self.scenario, finest), *wrong], self.limiter)
        mistakes, trapped, believed = _split(tried, len(mutants), len(subject.traps))
        traps = zip((trap for trap, *_ in subject.traps), trapped, strict=True)
        return ScenarioProof(
            scenario=self.scenario,
            is_variant=subject.is_variant,
            steps=count_steps(solutions[finest].steps),
            references=tuple(result for result, _ in followed),
            nop=nop,
            tried=(*mistakes, *solved.extra_actions),
            traps=tuple(TrapResult(trap=trap, result=result) for trap, result in traps),
            gullible=tuple(believed),
            reports=solved.reports,
            duration_s=time.monotonic() - started_at,
        )

    async def _try_mutant(self, mutant: Mutant, mode: str, longest_s: float) -> TrialResult:
        return await self.runner.mistaken(
            self.scenario,
            mode,
            mutant.solution,
            kind=mutant.kind,
            name=mutant.name,
            bindings=mutant.bindings,
            longest_s=longest_s,
        )

    async def _believe(self, mode: str, solution: Solution) -> TrialResult:
        threat = self.scenario.known_extensions.threat
        return await self.runner.gullible(self.scenario, mode, solution, threat.texts if threat else ())

    async def _fall_into(self, trap: Trap, mode: str, solution: Solution) -> TrialResult:
        # With the whole time limit of the scenario: it is meant to be completed.
        return await self.runner.mistaken(self.scenario, mode, solution, kind="trap", name=trap.name)


def _split(results: Sequence[T], *counts: int) -> list[Sequence[T]]:
    """Return the first so many, the next so many, and the rest."""
    ends = [0, *accumulate(counts), len(results)]
    return [results[start:end] for start, end in pairwise(ends)]


async def _run_all(calls: Sequence[Callable[[], Awaitable[T]]], limiter: anyio.CapacityLimiter) -> list[T]:
    """Make calls at once, as many as the limit lets, and return what they return in their order."""
    results: dict[int, T] = {}

    async def run(index: int, call: Callable[[], Awaitable[T]]) -> None:
        async with limiter:
            results[index] = await call()

    async with anyio.create_task_group() as group:
        for index, call in enumerate(calls):
            group.start_soon(run, index, call)
    return [results[index] for index in range(len(calls))]
