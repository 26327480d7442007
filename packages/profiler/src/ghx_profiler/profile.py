"""A whole profile in one object: an agent, its tasks, its modes and its observers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, cast

from ghx_profiler.config import ProfileConfig
from ghx_profiler.errors import BadMatrixError, UnknownNameError
from ghx_profiler.events import Observer
from ghx_profiler.evidence import Mode
from ghx_profiler.plan.cell import check_mode_names, check_names
from ghx_profiler.plan.selection import DEFAULT_SET
from ghx_profiler.runner.instruments import Instruments
from ghx_profiler.scenario import BaseScenario, S, ScenarioLoader, ScenarioSets
from ghx_profiler.suite import SuiteResult, choose_agents, plan_suite, run_profile_suite


class ModeTable:
    """A `ModeResolver` over a fixed list of modes."""

    def __init__(self, modes: Sequence[Mode]) -> None:
        check_mode_names([mode.name for mode in modes])
        self._modes = {mode.name: mode for mode in modes}

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order given."""
        return tuple(self._modes)

    async def resolve(self, name: str) -> Mode:
        """Return the mode of that name."""
        mode = self._modes.get(name)
        if mode is None:
            raise UnknownNameError("mode", name, known=self._modes)
        return mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile(Generic[S]):
    """What `ghx-bench profile` runs: scenarios and modes at hand, and the instruments to measure them with.

    Scenarios in files of a consumer's own come through a `loader`, which is called once with the ids of the run. `sets`
    are named groups of ids; unless one of them is called `default`, that is all scenarios at hand.
    """

    scenarios: Sequence[S] = ()
    modes: Sequence[Mode]
    instruments: Instruments[S]
    sets: ScenarioSets | Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    loader: ScenarioLoader[S] | None = None

    def __post_init__(self) -> None:
        if self.scenarios and self.loader is not None:
            raise BadMatrixError("a profile has either `scenarios` or a `loader`; have the loader bring all of them")
        for what, values, kind in (("scenario", self.scenarios, BaseScenario), ("mode", self.modes, Mode)):
            for value in cast("Sequence[object]", values):
                if not isinstance(value, kind):
                    raise BadMatrixError(f"a {what} of a profile is a {kind.__name__}, not {type(value).__name__}")

    def default_config(self) -> ProfileConfig:
        """Return the configuration that runs every scenario in every mode."""
        return ProfileConfig(modes=ModeTable(self.modes).names)

    async def describe(self, config: ProfileConfig) -> str:
        """Return what a configuration would run, in words, or raise what is wrong with it."""
        plan = await plan_suite(
            config,
            loader=self.load,
            modes=ModeTable(self.modes),
            sets=self._sets(),
            agents=choose_agents(config, tuple(self.instruments.providers)),
        )
        matrix = plan.matrix
        part = "" if matrix.shard is None else f" of shard {matrix.shard}"
        lines = [
            f"{matrix.total:,} cells{part}, up to {config.execution.max_concurrency} at a time, {matrix.order}:",
            f"  agents       {', '.join(matrix.agents)}",
            f"  models       {', '.join(matrix.models)}",
            f"  modes        {', '.join(matrix.modes)}",
            f"  scenarios    {', '.join(matrix.scenario_ids)}",
            f"  repetitions  {matrix.repetitions}",
            config.model_dump_json(indent=2),
        ]
        return "\n".join(lines)

    async def load(self, ids: Sequence[str]) -> Sequence[S]:
        """Return the scenarios with these ids; this is the profile's `ScenarioLoader`."""
        if self.loader is not None:
            return await self.loader(ids)
        check_names("scenario", [scenario.id for scenario in self.scenarios])
        known = {scenario.id: scenario for scenario in self.scenarios}
        for each in ids:
            if each not in known:
                raise UnknownNameError("scenario", each, known=known)
        return [known[each] for each in ids]

    async def run(
        self,
        config: ProfileConfig | None = None,
        *,
        observers: Sequence[Observer] = (),
        resume: Path | None = None,
        accept_changes: bool = False,
        build_instruments: Callable[[], Instruments[S]] | None = None,
    ) -> SuiteResult:
        """Measure what the configuration selects; without one, everything.

        `build_instruments` makes the instruments in other processes, where the configuration's executor has some.
        """
        return await run_profile_suite(
            config or self.default_config(),
            loader=self.load,
            modes=ModeTable(self.modes),
            instruments=self.instruments,
            sets=self._sets(),
            observers=observers,
            resume=resume,
            accept_changes=accept_changes,
            build_instruments=build_instruments,
        )

    def _sets(self) -> ScenarioSets:
        own_sets = self.sets.root if isinstance(self.sets, ScenarioSets) else self.sets
        at_hand = {DEFAULT_SET: tuple(scenario.id for scenario in self.scenarios)} if self.loader is None else {}
        return ScenarioSets.model_validate({**at_hand, **{name: tuple(ids) for name, ids in own_sets.items()}})
