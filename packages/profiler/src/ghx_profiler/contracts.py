"""Every extension point of the profiler, on one page.

One run calls them in this order; what opens a scope closes it, also when cancelled:

1. `ScenarioLoader(ids)` once, before anything else.
2. `ModeResolver.resolve(name)` once for each mode.
3. `Executor.open(...)` opens its workers: in each, `Lifecycle.run(...)` is entered, then `run(...)` of each provider
   that has one, then `Lifecycle.mode(...)` for each mode; all stay open until the last cell is done. If one of them
   raises, no cell is started.
4. `Workers.run(...)` is called for each warm-up, then once for all blocks of cells. For each attempt at each cell:
   a. `Lifecycle.cell(...)` is entered and yields the `Stage`;
   b. `SessionProvider.session(...)` is entered, `Session.prompt(...)` is called once and, whatever became of it,
      `Session.trace()` once; then the session is left;
   c. `Scorer.score(...)` is called while the stage still stands, because it reads what the agent left behind;
   d. `Collector.collect(...)` and `Analyzer.analyze(...)` are called: pure functions of the `Evidence`;
   e. the stage is left.
5. The scopes are left in reverse order.

What an implementation raises in 4 is caught at the cell: it fails that cell (a, b), leaves it unscored (c), or is noted
beside its result (d, e). This includes all errors, `SystemExit` and cancellations of its own included; only an
interruption of the run passes through, and a cell that was interrupted has no result at all. Cells run concurrently
if the run is configured so, each with its own objects; the provider, scorer and lifecycle themselves are shared.
"""

import inspect
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, cast

from pydantic import JsonValue

from ghx_base.wire import JsonObject
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.plan.blocks import WHOLE, Block, PlacedCell, Receive, Share
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.records.score import Judgement, Score
from ghx_profiler.records.trace import SessionTrace, ToolCallEvent
from ghx_profiler.scenario import S, S_contra, ScenarioLoader

__all__ = [
    "Analyzer",
    "Collector",
    "ControlKind",
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
    "Worker",
    "WorkerSpec",
    "Workers",
    "scope_of_run",
    "secrets_of",
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
    server_environments: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]], repr=False
    )
    """Variables that differ for an MCP server, by its name."""
    directory: Path | None = None
    facts: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the lifecycle wrote down about the stage. For control agents; one under test must not look at it."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """What must stand in no file that a provider writes: tokens of the stage, variables that the mode passes on, and
    what the agents of the run name as `secrets`."""
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    """Those of `secrets` that are keys of model APIs: half of one must not be written either."""
    watch_model_request: Callable[[bytes], None] | None = field(default=None, repr=False)
    """To be called with the body of each request that goes to a model through the bench; from any thread."""

    @property
    def model(self) -> str:
        """The model to ask for."""
        return self.cell.model

    def environment_of(self, server: str) -> Mapping[str, str]:
        """Return the variables that an MCP server of the mode is started with, or finds `${NAME}` in."""
        return {**self.environment, **self.server_environments.get(server, {})}


class Session(Protocol):
    """One conversation with the agent under test."""

    async def prompt(self, text: str) -> Answer:
        """Send `text` and wait for the agent to finish.

        Deadlines belong to the caller: an implementation must stop the agent, and every process it started, when it
        is cancelled, and must not set a timeout of its own. Raise `TransientError` for what may work next time,
        another `MeasurementError` if the cause is known.
        """
        ...

    async def trace(self) -> SessionTrace:
        """Return what the agent did and spent so far; called once, also after `prompt` was cancelled or raised."""
        ...


class SessionProvider(Protocol):
    """A kind of agent; opens sessions, which share nothing with each other.

    It may also have a `version` (a text, which goes on its rows) and a `control_kind` (of agents that prove the
    scenarios, and of whose rows nothing is concluded about agents: `"solution"` does what must pass, `"nothing"` and
    `"prying"` what must not, `"replay"` what another agent did). Both are read once, when the run is planned.
    `ghx-bench run` holds the sessions of an agent in an event loop of its own; one with a true `blocking` gets such a
    loop for each session.

    It may have a method `run(directory)`, decorated with `asynccontextmanager`, which holds what all its sessions
    share, from before the first to after the last; each worker enters it, with the directory of the run. And it may
    have `facts`, a mapping that is read when a cell is over: versions and the like, for the row under
    `extensions.agent`. One with a true `is_paid` calls models that cost money: `ghx-bench run` then wants a limit.
    `secrets` is a collection of texts, such as the key of its model API, that the bench replaces in all it writes; it
    ignores texts of fewer than 8 characters, and texts without a digit of fewer than 20.
    """

    @property
    def name(self) -> str:
        """The name of the agent on its rows, unless the run gives it another."""
        ...

    def session(self, request: SessionRequest) -> AbstractAsyncContextManager[Session]:
        """Open one session; on leaving, everything it started is gone, also when cancelled."""
        ...


def scope_of_run(provider: SessionProvider, directory: Path) -> AbstractAsyncContextManager[object]:
    """Return what a provider holds for the whole run; nothing if it has no such scope."""
    run: object = getattr(provider, "run", None)
    # By its kind and not by its name alone: agents have methods called `run` for purposes of their own.
    if not callable(run) or not inspect.isasyncgenfunction(inspect.unwrap(run)):
        return nullcontext()
    return cast("AbstractAsyncContextManager[object]", run(directory))


def secrets_of(provider: SessionProvider) -> frozenset[str]:
    """Return the secrets that a provider has named."""
    secrets: object = getattr(provider, "secrets", None)
    # By its kind and not by its name alone, as above; the letters of a text are not secrets.
    if not isinstance(secrets, Collection) or isinstance(secrets, str | bytes):
        return frozenset()
    return frozenset(each for each in cast("Collection[object]", secrets) if isinstance(each, str))


class Scorer(Protocol[S_contra]):
    """Decides whether the task was solved."""

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
        """Return the mode; raise `UnknownNameError` with the known names if it is missing."""
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
        """Provide the environment of one attempt at a cell; the stage may have another scenario (with bound variables).

        Entered again for each attempt, concurrently for several cells. Leaving it must clean up also when cancelled;
        if that fails, raise: it is recorded next to the result and does not replace it.
        """
        ...


ToolClassifier = Callable[[ToolCallEvent], str]
"""Sorts tool calls into the categories of a row; the default is the tool's own name."""


class Worker(Protocol):
    """Measures cells in the process where it was opened, several at a time if called so."""

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        """Measure one cell and report all its messages to the `receive` that the worker was opened with.

        However the cell ends, that is a message; what is raised must stop the whole run. When cancelled, the cell is
        reported as interrupted, and the cancellation continues.
        """
        ...


class WorkerSpec(Protocol):
    """What a worker is built from; sent once, before the first block.

    One that is to cross to another process can be pickled, and holds no open file, lock or server.
    """

    @property
    def most_workers(self) -> int | None:
        """How many may be open at the same time, if their cells cannot be distinguished from outside the bench."""
        ...

    def open(
        self, receive: Receive, *, machine: str | None = None, share: Share = WHOLE
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold a worker, with the scopes of the run and of its modes open around it.

        `machine` is what rows call the place where it works, if that is not the name of the host: an executor may have
        several places on one host. `share` is its part of what all workers of the run may ask of a service.

        Raises what keeps it from working: no cell was started then. Clearing away must happen also when cancelled;
        a failure there is reported as an incident.
        """
        ...


class Workers(Protocol):
    """The workers of a run, wherever they are."""

    async def run(self, blocks: Sequence[Block]) -> None:
        """Have every cell of every block measured once, those of a block in one place and started in their order.

        Called several times, one after the other. Raises what `receive` or a worker raises, and then starts no more.
        When cancelled, stop starting cells, cancel those that run, and wait until they have reported their spending.
        """
        ...


class Executor(Protocol):
    """Has blocks of cells measured somewhere: in this process, or on other machines.

    One that sends the spec to other processes has a true `sends_spec`: what cannot be pickled is then refused before
    the run has a directory.
    """

    def open(self, spec: WorkerSpec, receive: Receive) -> AbstractAsyncContextManager[Workers]:
        """Hold the workers, each opened from `spec`; what one of them cannot be opened for is raised.

        `receive` is called in this process, where the run directory is: a cell is done when it has returned, and a
        worker counts as busy with the cell until then. Concurrent calls are fine. On leaving, all workers are gone.
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
