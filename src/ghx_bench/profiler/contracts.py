"""Every extension point of the profiler, on one page.

One run calls them in this order; whoever opens a scope closes it, also when cancelled:

1. `ScenarioLoader(ids)` once, before anything else.
2. `ModeResolver.resolve(name)` once for each mode.
3. `Lifecycle.run(...)` is entered, then `Lifecycle.mode(...)` for each mode; both stay open until the last cell is
   done. If one of them raises, no cell is started.
4. For each attempt at each cell:
   a. `Lifecycle.cell(...)` is entered and yields the `Stage`;
   b. `SessionProvider.session(...)` is entered, `Session.prompt(...)` is called once and, whatever became of it,
      `Session.trace()` once; then the session is left;
   c. `Scorer.score(...)` is called while the stage still stands, because it reads what the agent left behind;
   d. `Collector.collect(...)` and `Analyzer.analyze(...)` are called: pure functions of the `Evidence`;
   e. the stage is left.
5. The scopes are left in reverse order.

What an implementation raises in 4 is caught at the cell: it fails that cell (a, b), leaves it unscored (c), or is noted
beside its result (d, e). That goes for whatever it raises, `SystemExit` and cancellations of its own included; only an
interruption of the run passes through, and a cell that was interrupted has no result at all. Cells run concurrently
when the run is told so, each with objects of its own; the provider, scorer and lifecycle themselves are shared.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol

from pydantic import JsonValue

from ghx_bench.profiler.analysis import AnalysisResult
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_bench.profiler.metrics import CustomMetric
from ghx_bench.profiler.scenario import S, S_contra, ScenarioLoader
from ghx_bench.profiler.score import Judgement, Score
from ghx_bench.profiler.trace import SessionTrace, ToolCallEvent

__all__ = [
    "Analyzer",
    "Collector",
    "Executor",
    "Judge",
    "Lifecycle",
    "ModeResolver",
    "NoLifecycle",
    "ScenarioLoader",
    "Scorer",
    "Session",
    "SessionProvider",
    "SessionRequest",
    "ToolClassifier",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """What a provider needs to start a session.

    `environment` is complete: a session sees these variables and no others, whatever this process has. `directory` is
    the folder to work in, where the lifecycle prepared one.
    """

    cell: Cell
    mode: Mode
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    directory: Path | None = None
    facts: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the lifecycle wrote down about the stage. For control agents; one under test must not look at it."""

    @property
    def model(self) -> str:
        """The model to ask for."""
        return self.cell.model


class Session(Protocol):
    """One conversation with the agent under test."""

    async def prompt(self, text: str) -> Answer:
        """Send `text` and wait for the agent to finish.

        Deadlines belong to the caller: an implementation must stop the agent, and every process it started, when it
        is cancelled, and must not set a timeout of its own. Raise `TransientError` for what may work next time,
        another `MeasurementError` where it is known who is to blame.
        """
        ...

    async def trace(self) -> SessionTrace:
        """Return what the agent did and spent so far; called once, also after `prompt` was cancelled or raised."""
        ...


class SessionProvider(Protocol):
    """A kind of agent; opens sessions, which share nothing with each other."""

    @property
    def name(self) -> str:
        """The name on the rows' `provider`."""
        ...

    def session(self, request: SessionRequest) -> AbstractAsyncContextManager[Session]:
        """Open one session; on leaving, everything it started is gone, also when cancelled."""
        ...


class Scorer(Protocol[S_contra]):
    """Says whether the task was done."""

    async def score(self, evidence: Evidence[S_contra]) -> Score:
        """Judge the state the agent left behind; the stage still stands.

        Raise if it cannot be found out: the row then keeps trace and spend, its success is unknown, and the cell can
        be graded again later. It is never run again for that reason, so retry here what is worth it.
        """
        ...


class Collector(Protocol[S_contra]):
    """Reads numbers off the evidence; pure."""

    def collect(self, evidence: Evidence[S_contra]) -> Iterable[CustomMetric]:
        """Return named numbers; `None` for what is not known, never zero."""
        ...


class Analyzer(Protocol[S_contra]):
    """Explains what happened in a session; pure."""

    @property
    def name(self) -> str:
        """The name of its results."""
        ...

    def analyze(self, evidence: Evidence[S_contra]) -> AnalysisResult:
        """Return findings; `evidence.trace` is there."""
        ...


class Judge(Protocol[S_contra]):
    """Gives an opinion where no checkpoint can: usually another model, with a rubric."""

    async def judge(self, evidence: Evidence[S_contra], rubric: str) -> Judgement:
        """Judge the session against `rubric` and give the reason."""
        ...


class ModeResolver(Protocol):
    """Knows the modes by name."""

    async def resolve(self, name: str) -> Mode:
        """Return the mode; raise `UnknownNameError` with the known names if there is none."""
        ...


class Lifecycle(Protocol[S]):
    """Prepares and clears away what agents work in, in three nested scopes."""

    def run(self, directory: Path) -> AbstractAsyncContextManager[None]:
        """Hold what all cells share, from before the first to after the last."""
        ...

    def mode(self, mode: Mode) -> AbstractAsyncContextManager[None]:
        """Hold what all cells of a mode share; scopes of all modes are open at the same time."""
        ...

    def cell(self, cell: Cell, scenario: S, mode: Mode) -> AbstractAsyncContextManager[Stage[S]]:
        """Hold what one attempt at a cell works in; the stage may carry another scenario, say with variables bound.

        Entered anew for each attempt, concurrently for several cells. Leaving it must clean up also when cancelled;
        if that fails, raise: it is recorded beside the result, never over it.
        """
        ...


ToolClassifier = Callable[[ToolCallEvent], str]
"""Sorts tool calls into the categories of a row; the default is the tool's own name."""


class Executor(Protocol):
    """Runs the work of many cells somewhere: here, or on other machines."""

    async def run(self, cells: Sequence[Cell], work: Callable[[Cell], Awaitable[None]]) -> None:
        """Do the work for every cell, starting them in the order given.

        `work` records the cell's result itself and raises only for what must stop the whole run. When cancelled, stop
        starting cells and cancel those that run.
        """
        ...


class NoLifecycle(Generic[S]):
    """The lifecycle of agents that need nothing prepared."""

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:  # noqa: ARG002 - the contract's signature
        """Hold nothing."""
        yield

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:  # noqa: ARG002 - the contract's signature
        """Hold nothing."""
        yield

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: S, mode: Mode) -> AsyncGenerator[Stage[S]]:  # noqa: ARG002 - the same
        """Stage the scenario as it is."""
        yield Stage(scenario=scenario)
