"""Everything a cell is measured with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from ghx_bench._base.clock import Clock, SystemClock
from ghx_bench.profiler.collectors import DEFAULT_COLLECTORS
from ghx_bench.profiler.contracts import (
    Analyzer,
    Collector,
    Lifecycle,
    NoLifecycle,
    Scorer,
    SessionProvider,
    ToolClassifier,
)
from ghx_bench.profiler.runner.deadlines import Limits
from ghx_bench.profiler.scenario import S
from ghx_bench.profiler.trace import ToolCallEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The pause before another attempt: doubling, jittered, bounded."""

    first_s: float = 1.0
    longest_s: float = 60.0

    def pause_s(self, attempt: int, chance: float) -> float:
        """Return the pause after the attempt with this number; `chance` is drawn from [0, 1)."""
        bound = min(self.longest_s, self.first_s * 2 ** (attempt - 1))
        return bound * (0.5 + chance / 2)


def name_of_tool(call: ToolCallEvent) -> str:
    """Sort a tool call under its own name."""
    return call.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments(Generic[S]):
    """The agent and whoever looks at it; shared by all cells of a run."""

    provider: SessionProvider
    scorer: Scorer[S]
    lifecycle: Lifecycle[S] = field(default_factory=NoLifecycle[S])
    collectors: Sequence[Collector[S]] = DEFAULT_COLLECTORS
    analyzers: Sequence[Analyzer[S]] = ()
    classify: ToolClassifier = name_of_tool
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """What every session starts from; its mode and its stage add to it."""
    clock: Clock = field(default_factory=SystemClock)
    limits: Limits = field(default_factory=Limits)
    backoff: Backoff = field(default_factory=Backoff)
