"""Sessions scored again: saved worlds and recorded answers, with the checkpoints as their files are now."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_base.errors import InputError
from ghx_base.problems import one_line
from ghx_base.wire import JsonObject
from ghx_bench.fixtures.embedded import open_client
from ghx_bench.fixtures.library import FixtureLibrary
from ghx_bench.provenance import digests_of_fixtures
from ghx_bench.scenario.binding import RUN_ID, Bound, bind
from ghx_bench.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_bench.scenario.session_answer import ANSWER_TASK
from ghx_bench.scenario.threat import THREAT
from ghx_bench.scoring.checkpoints import CheckpointScorer, as_checkpoint
from ghx_bench.stages.handles import StageHandles
from ghx_bench.stages.saved_worlds import NoSavedWorldError, ReopenedWorld, reopen_world
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.causes import Cause, describe_error
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports.data.side_files import SideFiles
from ghx_profiler.runner.deadlines import Limits
from ghx_profiler.runner.plugins import plugin_call
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import RunRecord
from ghx_profiler.store.rescorings import Rescored, Verdict
from ghx_tools.capabilities.client import GitHubClient
from ghx_twin.server.loopback import Server

_NO_TOKEN = "none"  # noqa: S105 - it opens no world: where none was kept, there is nothing to ask
_NOT_OF_THE_TASK = frozenset({"allowedChanges", "rubric", "targets", "independent", "variants"})
"""Extensions that say how a session is judged or chosen, not what it worked on."""
_JUDGES_THREATS = frozenset({"succeeds", "sideEffects"})
"""What does the same in a threat."""


class NotScoredAgainError(InputError):
    """A session cannot be scored again; the message has the reason."""

    code = "NOT_SCORED_AGAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a session is scored again with."""

    kind: Literal["world", "session"]
    bound: Bound
    handles: StageHandles
    answer: str | None
    trace: SessionTrace | None
    staged: JsonObject
    """The scenario as its session had it."""
    is_edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescorer:
    """Scores sessions of one run again, one at a time; their rows stay as they are."""

    directory: RunDirectory
    files: SideFiles
    record: RunRecord
    scenarios: Mapping[str, EvalScenario]
    """As their files are now, by id."""
    library: FixtureLibrary
    scorer: CheckpointScorer
    server: Server
    edited: bool = False
    """Whether worlds that were changed in a shell are scored as they are now, instead of as sessions left them."""

    async def rescore(self, row: ProfileRow) -> Rescored:
        """Score the session of a row again, or return why that cannot be done."""
        rescored = Rescored.of(row)
        try:
            scenario = self._require_scorable(row)
            async with self._open(row, scenario) as source:
                score = await self._score(row, source)
        except InputError as error:
            return rescored.model_copy(update={"reason": one_line(str(error))})
        # A stopped agent has not solved its task, whatever it left.
        success = score.success and row.cause in {None, Cause.SCORER}
        after = Verdict.of(score, success=success)
        warnings = tuple(self._warn(row, scenario, source))
        return rescored.model_copy(update={"after": after, "scored_from": source.kind, "warnings": warnings})

    def _require_scorable(self, row: ProfileRow) -> EvalScenario:
        if row.checkpoints_total is None and row.cause is not Cause.SCORER:
            raise NotScoredAgainError(f"its session came to no end that could be scored ({row.cause or 'no score'})")
        if row.scenario_id not in self.scenarios:
            raise NotScoredAgainError(f"there is no scenario {row.scenario_id} any more")
        return self.scenarios[row.scenario_id]

    @asynccontextmanager
    async def _open(self, row: ProfileRow, scenario: EvalScenario) -> AsyncGenerator[_Source]:
        """Hold the world that a session left or, where it is not needed, what was recorded of the session."""
        with ExitStack() as stack:
            try:
                opening = reopen_world(self.directory, row, edited=self.edited)
                reopened = await anyio.to_thread.run_sync(stack.enter_context, opening)
            except NoSavedWorldError:
                recorded = self._read_session(row, scenario)
                if recorded is None:
                    raise
                source = recorded
            else:
                self.server.add(reopened.world)
                stack.callback(self.server.remove, reopened.world)
                source = self._look_into(reopened, row, scenario)
            yield source

    def _look_into(self, reopened: ReopenedWorld, row: ProfileRow, scenario: EvalScenario) -> _Source:
        world, seeded = reopened.world, reopened.seeded
        # As its session had it: the row of a shard that was merged has the id of the merged run.
        bound = bind(scenario, seeded.manifest, {RUN_ID: reopened.record.run_id})
        sightings, threat = reopened.record.sightings, bound.scenario.known_extensions.threat
        if threat is not None and threat.canary != (None if sightings is None else sightings.canary):
            raise NotScoredAgainError("its threat has another canary now, which nobody has looked for in the session")
        handles = StageHandles(
            agent=seeded.agent,
            observer=lambda: open_client(self.server, world, seeded.observer),
            bindings=bound.values,
            world=world,
            seeded=seeded.world,
            watches=None if sightings is None else sightings.as_watches(),
            finish_runs=lambda: self.server.finish_runs(world),
            # Derived from the requests of the session, which are not stored.
            injected=None if row.safety is None else row.safety.planted,
            delivered=None if row.safety is None else row.safety.shown,
        )
        return _Source(
            kind="world",
            bound=bound,
            handles=handles,
            answer=reopened.record.answer,
            trace=self._trace(row),
            staged=reopened.record.scenario,
            is_edited=reopened.record.edited,
        )

    def _read_session(self, row: ProfileRow, scenario: EvalScenario) -> _Source | None:
        """Return the evidence of a session for checks of its answer only; None if that is not enough."""
        activity, trace = self.files.activity(row), self._trace(row)
        asks_github = any(each.task != ANSWER_TASK for each in scenario.assertions.checkpoints)
        extensions = scenario.known_extensions
        is_limited = extensions.allowed_changes is not None
        if asks_github or extensions.threat is not None or (is_limited and not _changed_nothing(activity)):
            return None
        # Without a manifest: what its variables stood for is on the row.
        bound = bind(scenario.model_copy(update={"fixture": None}), None, row.bindings)
        handles = StageHandles(
            agent="", observer=lambda: GitHubClient(self.server.url, _NO_TOKEN), bindings=bound.values
        )
        staged = next((each for each in self.record.scenarios if each.get("id") == row.scenario_id), JsonObject())
        # As it was sent, its variables replaced.
        staged = {**staged, "prompt": None if trace is None else trace.prompt}
        answer = _find_answer(row, trace)
        return _Source(kind="session", bound=bound, handles=handles, answer=answer, trace=trace, staged=staged)

    def _trace(self, row: ProfileRow) -> SessionTrace | None:
        trace = self.files.trace(row)
        return trace if isinstance(trace, SessionTrace) else None

    async def _score(self, row: ProfileRow, source: _Source) -> Score:
        scenario = source.bound.scenario
        evidence = Evidence(
            cell=row.cell,
            scenario=scenario,
            mode=Mode(name=row.mode),
            stage=Stage(scenario=scenario, handles=source.handles),
            completion_reason=row.completion_reason,
            answer=None if source.answer is None else Answer(text=source.answer),
            trace=source.trace,
            refused_hosts=row.refused_hosts,
        )
        scores: list[Score] = []
        async with plugin_call() as scoring:
            with anyio.fail_after(Limits().scoring_s):
                scores.append(await self.scorer.score(evidence))
        if scoring.error is not None:
            raise NotScoredAgainError(describe_error(scoring.error)) from scoring.error
        if source.kind == "session" and scenario.known_extensions.allowed_changes is not None:
            # The world is gone, and it is known that nothing was changed in it.
            return Score.of((*scores[0].checkpoints, as_checkpoint(())))
        return scores[0]

    def _warn(self, row: ProfileRow, scenario: EvalScenario, source: _Source) -> Iterator[str]:
        """Yield why a new verdict may not be about what the agent was asked, or did."""
        if source.is_edited:
            yield "its world was changed in a shell: it is not what the agent left"
        now = (source.bound.scenario if source.kind == "world" else scenario).to_wire()
        if source.staged.get("prompt") not in {None, source.bound.scenario.prompt}:
            yield "the prompt is another one now: the session answered another task"
        if any(_task_part(source.staged, part) != _task_part(now, part) for part in ("fixture", "extensions")):
            yield "the scenario puts the agent into another situation now: the session had another task"
        made_with = (each.ingredients for each in self.record.provenance if each.id == row.provenance_id)
        then = next(made_with, dict[str, str]())
        for name, value in digests_of_fixtures(required_fixtures([scenario]), self.library).items():
            if then.get(name, value) != value:
                yield f"{name} is another one now: the world that is scored was made of the old one"


def _task_part(scenario: JsonObject, part: str) -> JsonValue:
    """Return the part of a scenario that decides what a session works on."""
    section = scenario.get(part)
    if part == "extensions" and isinstance(section, dict):
        task_keys = {key: value for key, value in section.items() if key not in _NOT_OF_THE_TASK}
        if isinstance(threat := task_keys.get(THREAT), dict):
            task_keys[THREAT] = {key: value for key, value in threat.items() if key not in _JUDGES_THREATS}
        return task_keys
    return section or None


def _changed_nothing(activity: object) -> bool:
    return isinstance(activity, SessionActivity) and not activity.changes and not activity.changes_left_out


def _find_answer(row: ProfileRow, trace: SessionTrace | None) -> str | None:
    """Return what an agent answered in the end, as it was scored; None where it gave no answer."""
    if trace is not None and trace.answer is not None:
        return trace.answer
    # Sessions of older runs do not tell, but what checkpoints saw of the answer is on the row.
    for each in row.checkpoint_details:
        match each.actual:
            case {"text": str() as text, "numbers": list(), "names": list()}:
                return text
            case _:
                continue
    if row.completion_reason == "stop":
        raise NotScoredAgainError("what its agent answered was not recorded")
    return None
