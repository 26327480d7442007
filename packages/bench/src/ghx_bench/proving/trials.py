"""Trials of scenarios: a solution, a mistake or nothing at all, done with real tools in a world, and scored."""

import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import anyio.to_thread
from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from ghx_bench.agent_factory import EvaluationSpec
from ghx_bench.assembly import open_setup
from ghx_bench.proving.extra_actions import Action, Targets, collect_targets
from ghx_bench.scenario.allowed_changes import REFS
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.stages.handles import StageHandles
from ghx_bench.stages.observation import changed_part, changes_by
from ghx_profiler.agents.controls.gullible import GullibleProvider
from ghx_profiler.agents.controls.nop import NopProvider
from ghx_profiler.agents.controls.reference import ReferenceProvider, bindings_of
from ghx_profiler.agents.controls.solution import Solution, SolutionError
from ghx_profiler.contracts import Scorer, Session, SessionProvider, SessionRequest
from ghx_profiler.evidence import Answer, Evidence
from ghx_profiler.plan.cell import NO_MODEL, Cell
from ghx_profiler.records.causes import describe_error
from ghx_profiler.records.outcome import Failed, Outcome
from ghx_profiler.records.score import CheckpointDetail, PartialScoreError, Safety, Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.runner.instruments import Setup
from ghx_profiler.runner.iteration import Task, measure
from ghx_twin.difference import Difference
from ghx_twin.state.records import Repository
from ghx_twin.world import World

TrialKind = Literal["reference", "nop", "left out", "cut short", "sibling", "overreach", "trap", "gullible", "report"]

_MUST_END: frozenset[TrialKind] = frozenset({"reference", "nop", "trap", "gullible"})
"""What somebody wrote to be done: a state that it did not get to the end of says nothing about it."""

WorldDiff = frozenset[str]
"""What the agent changed, one text for each change, without what differs from session to session."""

# Two sessions that do the same do it at different times, and the names of commits hold these times.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_SHA = re.compile(r"\b[0-9a-f]{40}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The outcome of one trial."""

    kind: TrialKind
    name: str
    mode: str
    checkpoints: tuple[CheckpointDetail, ...] = ()
    answer: str = ""
    world_diff: WorldDiff = frozenset()
    safety: Safety | None = None
    """Whether an attack has succeeded, where the scenario has a threat."""
    broke_off: str | None = None
    """The step that failed, where a mistake made one fail."""
    error: str | None = None
    """Why there are no checkpoints, where it could not be scored."""
    duration_s: float = 0.0

    @property
    def failed(self) -> frozenset[str]:
        """The checkpoints that noticed it."""
        return frozenset(each.id for each in self.checkpoints if not each.passed)

    @property
    def passed(self) -> bool:
        """Whether it was scored, and nothing noticed it: no checkpoint, and no look for a threat's success."""
        return self.error is None and not self.failed and not (self.safety and self.safety.succeeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedWorld:
    """What is learnt in the world that a solution has solved, while it is still there."""

    targets: Targets | None = None
    extra_actions: tuple[TrialResult, ...] = ()
    reports: tuple[TrialResult, ...] = ()
    """Results of reporting the injected text, if the scenario is under attack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRunner:
    """The seeded worlds of scenarios, the modes, and what trials are measured with."""

    setup: Setup[EvalScenario]

    async def reference(
        self, scenario: EvalScenario, mode: str, solution: Solution, *, extra_actions: bool = False
    ) -> tuple[TrialResult, SolvedWorld]:
        """Follow a solution as it is; with `extra_actions`, then do more in copies of the world that it leaves.

        That is too much, or, under attack, a report of the injected text.
        """
        scorer = _InspectingScorer(self.setup.instruments.scorer, mode=mode, extra_actions=extra_actions)
        result = await self._run(
            scenario, mode, ReferenceProvider(lambda _, __: solution), scorer, kind="reference", name="reference"
        )
        return result, scorer.solved

    async def nop(self, scenario: EvalScenario, mode: str) -> TrialResult:
        """Do nothing."""
        scorer = _InspectingScorer(self.setup.instruments.scorer, mode=mode)
        return await self._run(scenario, mode, NopProvider(), scorer, kind="nop", name="nop")

    async def gullible(
        self, scenario: EvalScenario, mode: str, solution: Solution, texts: Sequence[str]
    ) -> TrialResult:
        """Follow a solution and, once the injected texts were read, what they say."""
        scorer = _InspectingScorer(self.setup.instruments.scorer, mode=mode)
        provider = GullibleProvider(lambda _, __: solution, lambda _: texts)
        return await self._run(scenario, mode, provider, scorer, kind="gullible", name="gullible")

    async def mistaken(
        self,
        scenario: EvalScenario,
        mode: str,
        solution: Solution,
        *,
        kind: TrialKind,
        name: str,
        bindings: Mapping[str, JsonValue] | None = None,
        longest_s: float | None = None,
    ) -> TrialResult:
        """Follow a solution that is wrong as far as it goes: a step that fails ends it, and what is there is scored.

        `longest_s` is for mistakes that wait for what will never happen.
        """
        if longest_s is not None:
            limit_ms = min(scenario.timeout_ms, round(longest_s * 1000))
            scenario = scenario.model_copy(update={"timeout_ms": limit_ms})
        provider = _MistakenProvider(solution, bindings or {})
        scorer = _InspectingScorer(self.setup.instruments.scorer, mode=mode)
        result = await self._run(scenario, mode, provider, scorer, kind=kind, name=name)
        return replace(result, broke_off=provider.broke_off)

    async def measure(
        self,
        scenario: EvalScenario,
        mode: str,
        provider: SessionProvider,
        scorer: Scorer[EvalScenario] | None = None,
    ) -> Outcome:
        """Hold one session of an agent, as a run would."""
        instruments = replace(
            self.setup.instruments,
            provider=None,
            providers={provider.name: provider},
            scorer=scorer or self.setup.instruments.scorer,
            collectors=(),
            analyzers=(),
        )
        cell = Cell(agent=provider.name, model=NO_MODEL, mode=mode, scenario_id=scenario.id, iteration=0)
        return await measure(Task(cell=cell, scenario=scenario, mode=self.setup.modes[mode], instruments=instruments))

    async def _run(
        self,
        scenario: EvalScenario,
        mode: str,
        provider: SessionProvider,
        scorer: "_InspectingScorer",
        *,
        kind: TrialKind,
        name: str,
    ) -> TrialResult:
        started_at = time.monotonic()
        outcome = await self.measure(scenario, mode, provider, scorer)
        result = TrialResult(
            kind=kind, name=name, mode=mode, world_diff=scorer.world_diff, duration_s=time.monotonic() - started_at
        )
        if isinstance(outcome, Failed):
            return replace(result, error=describe_error(outcome.error))
        if outcome.cause is not None and kind in _MUST_END:
            return replace(result, error=f"it was cut short after {result.duration_s:.0f} s ({outcome.cause})")
        score, answer = outcome.score, outcome.evidence.answer
        return replace(result, checkpoints=score.checkpoints, safety=score.safety, answer=answer.text if answer else "")


@asynccontextmanager
async def open_trials(spec: EvaluationSpec, *, environ: Mapping[str, str]) -> AsyncGenerator[TrialRunner]:
    """Seed the worlds of a spec's scenarios and serve them; raise `InputError` for a scenario that does not fit."""
    async with open_setup(spec, environ=environ) as setup, AsyncExitStack() as scopes:
        lifecycle = setup.instruments.lifecycle
        # Nothing is written there: the name is what scenarios that name their run are given.
        await scopes.enter_async_context(lifecycle.run(Path("run_proof")))
        for mode in setup.modes.values():
            await scopes.enter_async_context(lifecycle.mode(mode))
        yield TrialRunner(setup=setup)


class _InspectingScorer:
    """Scores as the evaluation does, and looks at the world of the session while it is still there."""

    def __init__(self, scorer: Scorer[EvalScenario], *, mode: str, extra_actions: bool = False) -> None:
        self._scorer, self._mode, self._extra_actions = scorer, mode, extra_actions
        self.world_diff: WorldDiff = frozenset()
        self.solved = SolvedWorld()

    async def score(self, evidence: Evidence[EvalScenario]) -> Score:
        """Return the score."""
        handles = evidence.stage.handles
        assert isinstance(handles, StageHandles)  # noqa: S101 - the stage is the emulator
        score = await self._scorer.score(evidence)
        self.world_diff = await anyio.to_thread.run_sync(world_diff_of, handles)
        if self._extra_actions and score.success:
            targets = await anyio.to_thread.run_sync(collect_targets, evidence.scenario, handles)
            if targets is not None:
                reports = () if score.safety is None else targets.reports(evidence.scenario)
                self.solved = SolvedWorld(
                    targets=targets,
                    extra_actions=await self._do(targets.extra_actions(), "overreach", evidence, handles),
                    reports=await self._do(reports, "report", evidence, handles),
                )
        return score

    async def _do(
        self, actions: Iterable[Action], kind: TrialKind, evidence: Evidence[EvalScenario], handles: StageHandles
    ) -> tuple[TrialResult, ...]:
        """Do one thing more in a copy of the world, for each there is.

        Those that change nothing do not count, nor those that pass because a threat spares them.
        """
        assert handles.fork is not None  # noqa: S101 - the same
        done: list[TrialResult] = []
        for action in actions:
            started_at = time.monotonic()
            with handles.fork() as copy:
                if kind == "report":  # a copy does not know what was planted and read before
                    copy = replace(copy, injected=True, delivered=True)  # noqa: PLW2901 - the same copy
                assert copy.open_as is not None  # noqa: S101 - the same
                async with copy.open_as(copy.agent) as client:
                    if not await action.perform(client):
                        continue
                world_diff = await anyio.to_thread.run_sync(world_diff_of, copy)
                if world_diff == self.world_diff:
                    continue
                result = TrialResult(
                    kind=kind,
                    name=action.name,
                    mode=self._mode,
                    answer=evidence.answer.text if evidence.answer else "",
                    world_diff=world_diff,
                )
                try:
                    score = await self._scorer.score(replace(evidence, stage=replace(evidence.stage, handles=copy)))
                    result = replace(result, checkpoints=score.checkpoints, safety=score.safety)
                except PartialScoreError as error:
                    result = replace(result, error=str(error))
            # Still tried, since a checkpoint may ask for the comments of the task and no others.
            if action.may_report_threat and result.safety is not None and result.passed:
                continue
            done.append(replace(result, duration_s=time.monotonic() - started_at))
        return tuple(done)


class _MistakenProvider:
    """Opens the session of one trial, which follows a wrong solution as far as it goes."""

    name: str = "mistaken"

    def __init__(self, solution: Solution, bindings: Mapping[str, JsonValue]) -> None:
        self._reference, self._bindings = ReferenceProvider(lambda _, __: solution), bindings
        self.broke_off: str | None = None

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["_MistakenSession"]:
        """Open a session whose variables stand for what the mistake says."""
        facts = {**request.facts, "bindings": {**bindings_of(request), **self._bindings}}
        async with self._reference.session(replace(request, facts=facts)) as session:
            yield _MistakenSession(session, self)


class _MistakenSession:
    """A wrong solution being followed."""

    def __init__(self, session: Session, provider: _MistakenProvider) -> None:
        self._session, self._provider = session, provider

    async def prompt(self, text: str) -> Answer:
        """Follow the solution up to the first step that fails, which leaves nothing to say."""
        try:
            return await self._session.prompt(text)
        except SolutionError as error:
            self._provider.broke_off = str(error)
            return Answer(text="")

    async def trace(self) -> SessionTrace:
        """Return what was done so far."""
        return await self._session.trace()


def world_diff_of(handles: StageHandles) -> WorldDiff:
    """Return the agent's changes to its world, normalized so that two sessions can be compared."""
    world, differences = handles.world, handles.differences()
    if world is None or differences is None:
        return frozenset()
    return frozenset(_describe(world, each) for each in changes_by(handles.agent, differences))


def _describe(world: World, difference: Difference) -> str:
    after: JsonValue = to_jsonable_python(difference.after, fallback=str)
    if difference.kind == REFS and isinstance(after, str):
        repository = world.database.get(Repository, difference.id)
        commit = None if repository is None else world.git(repository).commit(after)
        # Of a commit, only its files and its message are compared.
        after = after if commit is None else f"tree {commit.tree[:12]} {commit.message}"
    description = to_json([difference.change, changed_part(difference), difference.name, after]).decode()
    return _SHA.sub("SHA", _MOMENT.sub("MOMENT", description))
