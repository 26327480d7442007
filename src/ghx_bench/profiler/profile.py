"""A whole profile in one object: an agent, its tasks, its modes, and whoever looks at it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from ghx_bench.profiler.config import ProfileConfig
from ghx_bench.profiler.errors import BadMatrixError, UnknownNameError
from ghx_bench.profiler.events import Observer
from ghx_bench.profiler.evidence import Mode
from ghx_bench.profiler.instruments import Instruments
from ghx_bench.profiler.modes import ModeTable
from ghx_bench.profiler.scenario import S, ScenarioSets
from ghx_bench.profiler.selection import DEFAULT_SET
from ghx_bench.profiler.suite import SuiteResult, run_profile_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Generic[S]):
    """What `ghx-bench profile` runs: scenarios and modes at hand, and the instruments to measure them with.

    Consumers with files of their own call `run_profile_suite` with their loader instead.
    """

    scenarios: Sequence[S]
    modes: Sequence[Mode]
    instruments: Instruments[S]

    def default_config(self) -> ProfileConfig:
        """Return the configuration that runs every scenario in every mode."""
        if not self.modes:
            raise BadMatrixError("the profile has no modes; give it at least one")
        return ProfileConfig(modes=tuple(mode.name for mode in self.modes))

    async def load(self, ids: Sequence[str]) -> Sequence[S]:
        """Return the scenarios with these ids; this is the profile's `ScenarioLoader`."""
        known = {scenario.id: scenario for scenario in self.scenarios}
        for each in ids:
            if each not in known:
                raise UnknownNameError("scenario", each, known=known)
        return [known[each] for each in ids]

    async def run(
        self, config: ProfileConfig | None = None, *, observers: Sequence[Observer] = (), resume: Path | None = None
    ) -> SuiteResult:
        """Measure what the configuration selects; without one, everything."""
        return await run_profile_suite(
            config or self.default_config(),
            loader=self.load,
            modes=ModeTable(self.modes),
            instruments=self.instruments,
            sets=ScenarioSets({DEFAULT_SET: tuple(scenario.id for scenario in self.scenarios)}),
            observers=observers,
            resume=resume,
        )
