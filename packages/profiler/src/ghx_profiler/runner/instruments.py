"""Everything a cell is measured with, and the modes it is measured in."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import InitVar, dataclass, field, replace
from typing import Generic

from ghx_base.clock import Clock, SystemClock
from ghx_profiler.contracts import (
    Analyzer,
    Collector,
    Lifecycle,
    NoLifecycle,
    Scorer,
    SessionProvider,
    ToolClassifier,
    secrets_of,
)
from ghx_profiler.errors import BadMatrixError
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.plan.blocks import Share
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import describe_error
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.runner.deadlines import Limits
from ghx_profiler.runner.redaction import Redaction, is_secret_key
from ghx_profiler.scenario import S


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The pause before another attempt: doubling, jittered, bounded."""

    first_s: float = 1.0
    longest_s: float = 60.0

    def pause_s(self, attempt: int, chance: float) -> float:
        """Return the pause after the attempt with this number; `chance` is drawn from [0, 1)."""
        bound = min(self.longest_s, self.first_s * 2 ** (attempt - 1))
        # Half fixed, half jitter: cells that failed together do not come back together, and none waits past the bound.
        return bound * (0.5 + chance / 2)


def name_of_tool(call: ToolCallEvent) -> str:
    """Sort a tool call under its own name."""
    return call.name


TakeTurn = Callable[[Cell], AbstractAsyncContextManager[None]]
"""Holds a cell's turn for all its attempts, where not all cells may be at work at the same time."""


def no_limit(_cell: Cell) -> AbstractAsyncContextManager[None]:
    """Have every cell start at once."""
    return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments(Generic[S]):
    """The agents and all that looks at them; shared by all cells of a run."""

    provider: InitVar[SessionProvider | None] = None
    """The agent, where there is only one: short for `providers` with its name."""
    providers: Mapping[str, SessionProvider] = field(default_factory=dict[str, SessionProvider])
    """The agents by name: a run measures each of them."""
    scorer: Scorer[S]
    lifecycle: Lifecycle[S] = field(default_factory=NoLifecycle[S])
    collectors: Sequence[Collector[S]] = ()
    analyzers: Sequence[Analyzer[S]] = ()
    classify: ToolClassifier = name_of_tool
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """What every session starts from; its mode and its stage add to it."""
    take_turn: TakeTurn = no_limit
    """Waited for before a cell starts, and outside its deadlines: the time for preparing it is for preparing it."""
    clock: Clock = field(default_factory=SystemClock)
    limits: Limits = field(default_factory=Limits)
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self, provider: SessionProvider | None) -> None:
        if (provider is None) == (not self.providers):
            raise BadMatrixError("instruments have either one `provider`, or `providers` by name")
        if provider is not None:
            object.__setattr__(self, "providers", {provider.name: provider})

    def secrets_of(self, mode: Mode, stage: Stage[S] | None = None) -> frozenset[str]:
        """Return what must stand in nothing that is written of a session: its own secrets, and those of all agents."""
        return self.keys.union(mode.secrets, () if stage is None else stage.secrets)

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of the model APIs of all agents, without those that are ordinary words."""
        keys = frozenset[str]().union(*map(secrets_of, self.providers.values()))
        return frozenset(filter(is_secret_key, keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(Generic[S]):
    """The instruments of a run, and its modes as they are where its cells are measured."""

    instruments: Instruments[S]
    modes: Mapping[str, Mode]

    def with_opening_limit(self, limit_s: float) -> "Setup[S]":
        """Return the same, with another limit for opening a session."""
        limits = replace(self.instruments.limits, opening_s=limit_s)
        return replace(self, instruments=replace(self.instruments, provider=None, limits=limits))

    def describe(self, error: BaseException) -> str:
        """Return what went wrong outside any cell in words, without the secrets of modes and agents."""
        secrets = (secret for mode in self.modes.values() for secret in self.instruments.secrets_of(mode))
        return Redaction.of(secrets, keys=self.instruments.keys).text(describe_error(error))


OpenSetup = Callable[[Share], AbstractAsyncContextManager[Setup[S]]]
"""Holds what a worker measures with, given its share; one that is to cross to another process can be pickled."""
