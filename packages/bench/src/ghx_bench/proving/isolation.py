"""Proof of the isolation levels: the snoop agent finds what `docs/security.md` lists, and nothing else."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anyio
import anyio.to_thread

from ghx_bench.agent_factory import EvaluationSpec
from ghx_bench.catalogue import Catalogue
from ghx_bench.project.config import EvalConfig
from ghx_bench.proving.trials import TrialRunner, open_trials
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.snoop import PROBES, SnoopProvider, outcomes_in
from ghx_profiler.agents.processes.process import program
from ghx_profiler.agents.processes.sandbox import NoSandboxError, Ring, require_sandbox
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import describe_error
from ghx_profiler.records.outcome import Failed, Outcome
from ghx_profiler.records.trace import SessionTrace

ISOLATION_LEVELS: tuple[Ring, ...] = ("plain", "bwrap")
ADMITTED = Path(__file__).with_name("admitted-probes.json")
"""The probes that succeed, by number, in each column of the table in `docs/security.md`, which is written with it."""

# Any task works, since none of it is done; the limit leaves time for all probes on a busy machine.
_SCENARIO, _MODE, _LIMIT_MS = "issue-triage-001", "baseline", 900_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationProof:
    """The probes of the snoop agent that succeeded at an isolation level."""

    level: Ring
    column: str
    """The isolation level and the account, as the table calls them."""
    succeeded: frozenset[int] = frozenset()
    unproved: str | None = None
    """Why no probe ran, if none did."""

    @property
    def admitted(self) -> frozenset[int]:
        """The probes that the page lists as successful."""
        return read_admitted()[self.column]

    @property
    def problems(self) -> tuple[str, ...]:
        """The probes that succeeded although the page does not list them."""
        return tuple(
            f"the ring {self.column!r}: prying found {PROBES[number - 1].looks_for} (probe {number}), which "
            "docs/security.md does not admit"
            for number in sorted(self.succeeded - self.admitted)
        )


@cache
def read_admitted() -> Mapping[str, frozenset[int]]:
    """Return the probes that succeed, by column of the table."""
    columns: dict[str, list[int]] = json.loads(ADMITTED.read_bytes())
    return {column: frozenset(numbers) for column, numbers in columns.items()}


async def prove_isolation(level: Ring, *, environ: Mapping[str, str]) -> IsolationProof:
    """Run the snoop agent at an isolation level while a session of another agent is open."""
    column = f"{level}, as root" if level == "plain" and os.geteuid() == 0 else level
    if (missing := await anyio.to_thread.run_sync(_find_missing_requirement, level)) is not None:
        return IsolationProof(level=level, column=column, unproved=missing)
    config = EvalConfig(modes=(_MODE,), sandbox=level)
    catalogue = Catalogue(config)
    scenarios = [each.model_copy(update={"timeout_ms": _LIMIT_MS}) for each in catalogue.take([_SCENARIO])]
    spec = EvaluationSpec(
        config=config,
        project=Path.cwd(),
        scenarios=tuple(scenarios),
        modes=(),
        fixtures=catalogue.library,
        solutions={},
    )
    async with open_trials(spec, environ=environ) as runner:
        outcome = await _run_snoop(runner, scenarios[0])
    trace = outcome.evidence.trace if outcome.evidence else None
    probes = list(outcomes_in(trace)) if trace else []
    if len(probes) < len(PROBES):
        reason = describe_error(outcome.error) if isinstance(outcome, Failed) else "it was cut short"
        return IsolationProof(
            level=level, column=column, unproved=f"prying ran {len(probes)} of {len(PROBES)} probes: {reason}"
        )
    return IsolationProof(
        level=level, column=column, succeeded=frozenset(each.number for each, succeeded in probes if succeeded)
    )


async def _run_snoop(runner: TrialRunner, scenario: EvalScenario) -> Outcome:
    neighbor = _NeighborProvider()
    outcomes: list[Outcome] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(runner.measure, scenario, _MODE, neighbor)
        await neighbor.has_started.wait()
        outcomes.append(await runner.measure(scenario, _MODE, SnoopProvider()))
        neighbor.may_end.set()
    return outcomes[0]


def _find_missing_requirement(level: Ring) -> str | None:
    if sys.platform != "linux":
        return "what a session can see of others is known for Linux alone"
    if level == "bwrap":
        try:
            require_sandbox()
        except NoSandboxError as error:
            return str(error)
    return None


class _NeighborProvider:
    """Keeps a session with a process open until it may end: the other session that the snoop agent looks for."""

    name: str = "standing"

    def __init__(self) -> None:
        self.has_started, self.may_end = anyio.Event(), anyio.Event()

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["_NeighborProvider"]:
        """Open the session."""
        try:
            async with program(["sleep", "600"], environment=request.environment, directory=request.directory):
                self.has_started.set()
                yield self
        finally:
            self.has_started.set()  # a session that cannot be opened must not block the snoop agent

    async def prompt(self, text: str) -> Answer:  # noqa: ARG002 - the contract's signature
        """Wait."""
        await self.may_end.wait()
        return Answer(text="")

    async def trace(self) -> SessionTrace:
        """Return that nothing was done."""
        return TraceRecorder(source="script").trace()
