"""The rules of `ModeResolver` and `Lifecycle`, which prepare the environment of agents."""

import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from ghx_profiler.contracts import Lifecycle, ModeResolver
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.evidence import Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.testing.contract_suite import ContractSuite, MissingHookError, Probe, holds
from ghx_profiler.testing.record_rules import assert_is_environment, assert_is_json
from ghx_profiler.testing.samples import sample_cell, sample_scenario
from ghx_profiler.testing.watching import Watch, check_process_unchanged


class ModeResolverContract(ContractSuite):
    """What must hold of every resolver: write `make_resolver` and `known_modes`."""

    unknown_mode: str = "no-such-mode"

    def make_resolver(self) -> ModeResolver:
        """Return the resolver under test; required."""
        raise MissingHookError("make_resolver()")

    def known_modes(self) -> Iterable[str]:
        """Name modes that it knows; required."""
        raise MissingHookError("known_modes()")

    def test_a_mode_is_found_by_its_name(self) -> None:
        """The name goes on every row."""
        for name in self.known_modes():
            mode = self._resolve(name)
            assert mode.name == name, f"ModeResolver.resolve: {name!r} must be called so, not {mode.name!r}"

    def test_an_unknown_mode_is_refused_and_the_known_ones_are_named(self) -> None:
        """A user who mistyped a name needs the right one."""
        rule = "ModeResolver.resolve: must raise UnknownNameError for a mode it does not know"
        with holds(rule):
            refusal = self._refusal(self.unknown_mode)
        assert refusal is not None, f"{rule}; it returned one"
        missing = [name for name in self.known_modes() if name not in str(refusal)]
        assert not missing, f"{rule}, with the known modes in it; it leaves out {missing}"

    def test_a_mode_is_the_same_whenever_it_is_asked_for(self) -> None:
        """A run that is resumed must get what it had."""
        for name in self.known_modes():
            assert self._resolve(name) == self._resolve(name), f"ModeResolver.resolve: {name!r} must stay the same"

    def test_a_mode_can_be_used_and_written(self) -> None:
        """Its environment goes to processes, its facts go on rows."""
        for name in self.known_modes():
            mode = self._resolve(name)
            assert_is_environment(mode.environment, "Mode.environment")
            assert_is_json(mode.facts, "Mode.facts")
            assert_is_json(mode.settings, "Mode.settings")

    def test_the_process_is_left_alone(self) -> None:
        """Sessions of several modes share this process."""
        with check_process_unchanged("ModeResolver.resolve"):
            for name in self.known_modes():
                self._resolve(name)

    def _refusal(self, name: str) -> UnknownNameError | None:
        try:
            self._resolve(name)
        except UnknownNameError as error:
            return error
        return None

    def _resolve(self, name: str) -> Mode:
        async def rule() -> Mode:
            return await self.make_resolver().resolve(name)

        return self.run_rule(rule)


class LifecycleContract(ContractSuite):
    """What must hold of every lifecycle: write `make_lifecycle`, and `make_scenario` if it takes a kind of its own."""

    def make_lifecycle(self) -> Lifecycle[Any]:
        """Return the lifecycle under test; required."""
        raise MissingHookError("make_lifecycle()")

    def make_scenario(self) -> BaseScenario:
        """Return a scenario that can be staged."""
        return sample_scenario()

    def make_modes(self) -> tuple[Mode, Mode]:
        """Return two modes that the lifecycle can prepare."""
        return Mode(name="one-mode"), Mode(name="other-mode")

    def find_leftovers(self) -> Iterable[str]:
        """Name what is left of scopes that are over, beyond processes and tasks: containers, folders, ..."""
        return ()

    def test_a_cell_gets_a_stage_with_its_scenario(self) -> None:
        """The stage may have another scenario, such as one with bound variables, but not another task."""

        async def rule() -> None:
            async with self._run() as lifecycle, self._cell(lifecycle) as stage:
                staged_value: object = stage
                assert isinstance(staged_value, Stage), f"Lifecycle.cell: must yield a Stage, got {staged_value!r}"
                staged, expected = stage.scenario.id, self.make_scenario().id
                assert staged == expected, f"Lifecycle.cell: must stage scenario {expected!r}, not {staged!r}"

        self.run_rule(rule)

    def test_a_stage_can_be_used_and_written(self) -> None:
        """Its environment goes to processes, its facts go on rows, agents work in its directory."""

        async def rule() -> None:
            async with self._run() as lifecycle, self._cell(lifecycle) as stage:
                assert_is_environment(stage.environment, "Stage.environment")
                assert_is_json(stage.facts, "Stage.facts")
                exists = stage.directory is None or stage.directory.is_dir()
                assert exists, f"Stage.directory: must be a folder that is there, got {stage.directory}"

        self.run_rule(rule)

    def test_cells_side_by_side_are_apart(self) -> None:
        """Cells run concurrently, of both modes and of the same."""

        async def rule() -> None:
            one, other = self.make_modes()
            async with self._run() as lifecycle:
                with self.soon("Lifecycle.cell: several cells must be open at the same time"):
                    directories = await self._open_all(lifecycle, [(one, 0), (one, 1), (other, 0)])
            shared = len(set(directories)) < len(directories)
            assert not shared, f"Stage.directory: cells side by side must not share a folder, got {directories}"

        self.run_rule(rule)

    def test_every_attempt_gets_a_fresh_stage(self) -> None:
        """Nothing of an attempt that failed must help or hinder the next one."""

        async def rule() -> None:
            async with self._run() as lifecycle:
                for _ in range(2):
                    with holds("Lifecycle.cell: the same cell must be able to be entered again"):
                        async with self._cell(lifecycle) as stage:
                            _assert_fresh(stage)

        self.run_rule(rule)

    def test_errors_come_out_of_every_scope(self) -> None:
        """The code inside must get the error."""

        async def rule() -> None:
            async with self._run() as lifecycle, self._cell(lifecycle):
                raise Probe

        try:
            self.run_rule(rule)
        except Probe:
            return
        raise AssertionError("Lifecycle: a scope must not swallow what is raised inside of it")

    def test_a_cancelled_cell_is_left_soon(self) -> None:
        """Ctrl-C must not hang, and must not be swallowed."""

        async def rule() -> None:
            async with self._run() as lifecycle:
                began = anyio.current_time()
                with anyio.CancelScope() as scope:
                    async with self._cell(lifecycle):
                        began = anyio.current_time()
                        scope.cancel()
                        await anyio.sleep_forever()
                took_s = anyio.current_time() - began
            assert scope.cancelled_caught, "Lifecycle.cell: must let a cancellation through, and swallowed it"
            assert took_s <= self.patience_s, f"Lifecycle.cell: must clean up soon when cancelled, took {took_s:.1f} s"

        self.run_rule(rule)

    def test_nothing_is_left(self) -> None:
        """Whatever a scope prepared is cleared away, also when a cell was cancelled."""

        async def rule() -> list[str]:
            watch = Watch()
            async with self._run() as lifecycle:
                with anyio.CancelScope() as scope:
                    async with self._cell(lifecycle):
                        watch.look()
                        scope.cancel()
                        await anyio.sleep_forever()
                async with self._cell(lifecycle):
                    watch.look()
            return [*await watch.leftovers(), *self.find_leftovers()]

        left = self.run_rule(rule)
        assert not left, f"Lifecycle: nothing must be left, but there is {', '.join(left)}"

    def test_the_process_is_left_alone(self) -> None:
        """Cells of several modes share this process."""

        async def rule() -> None:
            with check_process_unchanged("Lifecycle") as check:
                async with self._run() as lifecycle:
                    check()
                    async with self._cell(lifecycle):
                        check()

        self.run_rule(rule)

    @asynccontextmanager
    async def _run(self) -> AsyncGenerator[Lifecycle[Any]]:
        """Hold a run with the scopes of all modes open, in a folder of its own."""
        lifecycle = self.make_lifecycle()
        with tempfile.TemporaryDirectory() as directory:
            async with AsyncExitStack() as scopes:
                await scopes.enter_async_context(lifecycle.run(Path(directory)))
                for mode in self.make_modes():
                    await scopes.enter_async_context(lifecycle.mode(mode))
                yield lifecycle

    @asynccontextmanager
    async def _cell(
        self, lifecycle: Lifecycle[Any], mode: Mode | None = None, iteration: int = 0
    ) -> AsyncGenerator[Stage[Any]]:
        scenario, mode = self.make_scenario(), mode or self.make_modes()[0]
        cell: Cell = sample_cell(scenario_id=scenario.id, mode=mode.name, iteration=iteration)
        async with lifecycle.cell(cell, scenario, mode) as stage:
            yield stage

    async def _open_all(self, lifecycle: Lifecycle[Any], cells: list[tuple[Mode, int]]) -> list[Path]:
        """Hold all these cells at the same time and return their folders."""
        directories: list[Path] = []
        opened, all_are_open = 0, anyio.Event()

        async def hold(mode: Mode, iteration: int) -> None:
            nonlocal opened
            async with self._cell(lifecycle, mode, iteration) as stage:
                opened += 1
                if stage.directory is not None:
                    directories.append(stage.directory.resolve())
                if opened == len(cells):
                    all_are_open.set()
                await all_are_open.wait()

        async with anyio.create_task_group() as tasks:
            for mode, iteration in cells:
                tasks.start_soon(hold, mode, iteration)
        return directories


def _assert_fresh(stage: Stage[Any]) -> None:
    if stage.directory is None:
        return
    mark = stage.directory / "ghx-bench-contract-mark"
    assert not mark.exists(), "Stage.directory: every attempt must get a fresh folder, without the files of the last"
    mark.write_text("An earlier attempt was here.\n")
