"""The rules of `ScenarioLoader`, to be run against any implementation."""

from collections.abc import Sequence
from typing import Any

from ghx_base.errors import GhxBenchError
from ghx_profiler.contracts import ScenarioLoader
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.testing.contract_suite import ContractSuite, MissingHookError, holds
from ghx_profiler.testing.record_rules import assert_survives_json


class ScenarioLoaderContract(ContractSuite):
    """What must hold of every loader: write `make_loader` and `known_ids`."""

    unknown_id: str = "no-such-scenario-000"

    def make_loader(self) -> ScenarioLoader[Any]:
        """Return the loader under test; required."""
        raise MissingHookError("make_loader()")

    def known_ids(self) -> Sequence[str]:
        """Name scenarios that it can load, two or more; required."""
        raise MissingHookError("known_ids()")

    def test_exactly_the_scenarios_asked_for_are_loaded(self) -> None:
        """One, all, and none."""
        known = list(self.known_ids())
        assert len(known) > 1, "known_ids(): name two scenarios or more"
        for ids in ([known[0]], known[1:], known, []):
            loaded = [scenario.id for scenario in self._load(ids)]
            right = sorted(loaded) == sorted(ids)
            assert right, f"ScenarioLoader: must load the scenarios asked for, {ids}, and loaded {loaded}"

    def test_scenarios_are_validated_records(self) -> None:
        """The runner reads their fields, and writes them into `run.json`."""
        for scenario in self._load(self.known_ids()):
            loaded: object = scenario
            assert isinstance(loaded, BaseScenario), f"ScenarioLoader: must load BaseScenarios, got {loaded!r}"
            assert_survives_json(loaded, f"ScenarioLoader: scenario {loaded.id!r}")

    def test_loading_again_gives_the_same(self) -> None:
        """A run that is resumed must get what it had."""
        first, second = list(self._load(self.known_ids())), list(self._load(self.known_ids()))
        assert first == second, "ScenarioLoader: must load the same whenever it is asked"

    def test_an_unknown_scenario_is_no_crash_and_nothing_else_instead(self) -> None:
        """Raise one of our errors, which are shown as one line, or leave it out: the runner then reports it."""
        rule = "ScenarioLoader: must raise a GhxBenchError for a scenario it does not know, or leave it out"
        with holds(rule):
            loaded = self._load_known([self.unknown_id])
        assert not loaded, f"{rule}; it loaded {[scenario.id for scenario in loaded]}"

    def _load_known(self, ids: Sequence[str]) -> Sequence[BaseScenario]:
        """Load all known scenarios; it may raise for unknown ones."""
        try:
            return self._load(ids)
        except GhxBenchError:
            return ()

    def _load(self, ids: Sequence[str]) -> Sequence[BaseScenario]:
        async def rule() -> Sequence[BaseScenario]:
            return await self.make_loader()(list(ids))

        return self.run_rule(rule)
