# %% BaseScenario, ScenarioSets, ScenarioLoader
from collections.abc import Sequence

from ghx_profiler import BaseScenario, ScenarioLoader, ScenarioSets


class Greeting(BaseScenario):  # a consumer's own kind of scenario
    whom: str


known = {
    each: Greeting(id=each, name=each, description="Greets", prompt=f"Greet {each}.", timeout_ms=5_000, whom=each)
    for each in ("ann", "bob")
}
sets = ScenarioSets({"default": ("ann", "bob"), "quick": ("ann",)})
assert sets.get("quick") == ("ann",)


async def load(ids: Sequence[str]) -> Sequence[Greeting]:
    return [known[each] for each in ids]


loader: ScenarioLoader[Greeting] = load

# %% SessionProvider, Session, SessionRequest, Answer, TraceRecorder
from contextlib import asynccontextmanager

from ghx_profiler import Answer, Session, SessionProvider, SessionRequest, TokenUsage, TraceRecorder


class GreeterSession(Session):
    def __init__(self, request: SessionRequest) -> None:
        self.word = request.environment["WORD"]
        self.recorder = TraceRecorder()

    async def prompt(self, text: str) -> Answer:
        said = text.replace("Greet", self.word)
        self.recorder.begin_turn()
        self.recorder.reasoning("I am to greet.")
        self.recorder.tool_call("look_up", {"word": self.word}, "a greeting", success=True)
        self.recorder.text(said)
        self.recorder.add_usage(TokenUsage.of(input=12, output=4, cache_read=0))
        return Answer(text=said)

    async def trace(self):
        return self.recorder.trace()


class Greeter(SessionProvider):
    name = "greeter"

    @asynccontextmanager
    async def session(self, request: SessionRequest):
        yield GreeterSession(request)


# %% SessionTrace, Turn, TraceSummary, TraceEvent
import anyio

from ghx_profiler import Cell, Mode, SessionTrace, TraceEvent, TraceSummary, Turn

cell = Cell(agent="greeter", model="none", mode="short", scenario_id="ann", iteration=0)


async def converse() -> SessionTrace:
    request = SessionRequest(cell=cell, mode=Mode(name="short"), environment={"WORD": "Hi"})
    async with Greeter().session(request) as session:
        await session.prompt("Greet ann.")
        return await session.trace()


trace = anyio.run(converse)
turn: Turn = trace.turns[0]
events: tuple[TraceEvent, ...] = turn.events
summary: TraceSummary = trace.summary
assert [event.type for event in events] == ["reasoning", "tool_call", "text_output"]
assert (summary.total_turns, summary.total_tool_calls) == (1, 1)

# %% ReasoningEvent, ToolCallEvent, TextOutputEvent, TurnBoundaryEvent, ErrorEvent
from ghx_profiler import ErrorEvent, ReasoningEvent, TextOutputEvent, ToolCallEvent, TurnBoundaryEvent


def in_words(event: TraceEvent) -> str:
    match event:
        case TurnBoundaryEvent():
            return f"turn {event.turn_number}"
        case ReasoningEvent() | TextOutputEvent():
            return event.content
        case ToolCallEvent():
            return f"{event.name}: {event.output}"
        case ErrorEvent():
            return event.message


assert [in_words(event) for event in trace.events] == ["turn 0", "I am to greet.", "look_up: a greeting", "Hi ann."]

# %% TokenUsage, Timing, TimingSegment, Cost, ToolCallSummary, ToolCallRecord, CustomMetric
from ghx_profiler import Cost, CustomMetric, Timing, TimingSegment, ToolCallRecord, ToolCallSummary

usage = TokenUsage.of(input=100, output=20, cache_read=50)
assert (usage.total, usage.active) == (170, 120)
timing = Timing(wall_ms=80, segments=(TimingSegment(label="prompt", start_ms=0, end_ms=80),))
assert CustomMetric("latency_prompt_ms", 80, "ms") in timing.metrics()
calls = ToolCallSummary(total=1, records=(ToolCallRecord(name="look_up", category="read", success=True),))
assert CustomMetric("tool_calls_unique", 1, "tools") in calls.metrics()
assert Cost(total_usd=0.02, source="reported").input_usd is None  # not known, which is not zero

# %% Evidence, Stage
from ghx_profiler import Evidence, Stage

stage = Stage(scenario=known["ann"])
evidence = Evidence(
    cell=cell,
    scenario=stage.scenario,
    mode=Mode(name="short"),
    stage=stage,
    completion_reason="stop",
    answer=Answer(text="Hi ann."),
    trace=trace,
)

# %% SessionActivity, ObservedChange, ObservedRequest
from ghx_profiler import ObservedChange, ObservedRequest, SessionActivity


def observe() -> SessionActivity:
    changed = ObservedChange(change="changed", what="guests.greeted", name="ann", before=False, after=True)
    asked = ObservedRequest(
        at="2026-03-03T16:37:18Z",
        surface="rest",
        method="PATCH",
        path="/guests/ann",
        operation="PATCH /guests/{name}",
        status=200,
        failed=False,
        changed=True,
        duration_ms=2.5,
        request_bytes=16,
        response_bytes=48,
    )
    return SessionActivity.bounded([changed], [asked])


observed = Stage(scenario=known["ann"], observe=observe)  # kept in the run's `activity/`, shown beside the turns

# %% Scorer, Score, CheckpointDetail, AnswerScorer
from ghx_profiler import AnswerScorer, CheckpointDetail, Score, Scorer


class GreetedByName(Scorer[Greeting]):
    async def score(self, evidence: Evidence[Greeting]) -> Score:
        said = evidence.answer.text if evidence.answer else ""
        passed = evidence.scenario.whom in said
        return Score.of((CheckpointDetail(id="name", description="Says the name", passed=passed, actual=said),))


for scorer in (
    GreetedByName(),
    AnswerScorer(lambda text: text.startswith("Hi")),  # a function of the answer
):
    assert anyio.run(scorer.score, evidence).success

# %% PartialScoreError
from ghx_profiler import PartialScoreError

partial = PartialScoreError("the service is down", checkpoints=anyio.run(GreetedByName().score, evidence).checkpoints)
assert partial.checkpoints[0].passed  # what was found out stands on the row

# %% Judge, Judgement
from ghx_profiler import Judge, Judgement


class Politeness(Judge[Greeting]):
    async def judge(self, evidence: Evidence[Greeting], rubric: str) -> Judgement:
        return Judgement(passed=evidence.answer is not None, reason=f"{rubric} It answered.", grade=0.8)


assert anyio.run(Politeness().judge, evidence, "Be polite.").passed

# %% Collector, Analyzer, AnalysisResult, SessionAnalysisBundle, ToolClassifier
from ghx_profiler import AnalysisResult, Analyzer, Collector, SessionAnalysisBundle, ToolClassifier


class AnswerLength(Collector[Greeting]):
    def collect(self, evidence: Evidence[Greeting]):
        yield CustomMetric("answer_length", len(evidence.answer.text) if evidence.answer else None, "characters")


class FirstTool(Analyzer[Greeting]):
    name = "first-tool"

    def analyze(self, evidence: Evidence[Greeting]) -> AnalysisResult:
        tools = [call.name for call in evidence.trace.tool_calls]
        return AnalysisResult(analyzer=self.name, findings={"tools": {"type": "list", "values": tools}})


classify: ToolClassifier = lambda call: "read" if call.name.startswith("look") else "write"  # noqa: E731

# %% Lifecycle, NoLifecycle
from ghx_profiler import Lifecycle, NoLifecycle


class Workshop(NoLifecycle[Greeting]):  # a `Lifecycle` has three scopes; this one needs only that of a cell
    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: Greeting, mode: Mode):
        yield Stage(scenario=scenario, facts={"preparedFor": f"{cell.agent} in {mode.name}"})


lifecycle: Lifecycle[Greeting] = Workshop()

# %% Mode, ModeResolver, ModeTable
from ghx_profiler import Mode, ModeResolver, ModeTable


class AnyWord(ModeResolver):
    async def resolve(self, name: str) -> Mode:
        return Mode(name=name, environment={"WORD": name})


table = ModeTable([Mode(name="short", environment={"WORD": "Hi"}), Mode(name="long", environment={"WORD": "Hello"})])
assert table.names == ("short", "long")  # the same for modes that are known beforehand

# %% Instruments, Limits, Backoff
from ghx_profiler import Backoff, Instruments, Limits

instruments = Instruments(
    provider=Greeter(),
    scorer=GreetedByName(),
    lifecycle=lifecycle,
    collectors=[AnswerLength()],
    analyzers=[FirstTool()],
    classify=classify,
    limits=Limits(scoring_s=30),
    backoff=Backoff(first_s=0.5, longest_s=10),
)

# %% Profile, ProfileConfig, load_config, SuiteResult, Event, Observer
import tempfile
from pathlib import Path

from ghx_profiler import Event, Observer, Profile, ProfileConfig, SuiteResult, load_config

folder = tempfile.TemporaryDirectory()
(Path(folder.name) / "profile.yaml").write_text("modes: [short, long]\nexecution: {repetitions: 2, warmup: false}\n")
config: ProfileConfig = load_config(Path(folder.name) / "profile.yaml").override(results_dir=folder.name)
modes = [anyio.run(table.resolve, name) for name in table.names]
profile = Profile(loader=loader, sets=sets, modes=modes, instruments=instruments)
seen: list[Event] = []
observer: Observer = seen.append


async def run() -> SuiteResult:
    return await profile.run(config, observers=[observer])


result = anyio.run(run)
assert (result.total, result.failed) == (8, 0)
assert [type(event).__name__ for event in (seen[0], seen[-1])] == ["RunStarted", "RunFinished"]

# %% read_rows, ProfileRow, Attempt
from ghx_profiler import Attempt, ProfileRow, read_rows

rows: list[ProfileRow] = list(read_rows(result.directory / "rows.jsonl"))
assert all(row.success for row in rows)
assert rows[0].known_metrics["tokens_active"] == 16
attempt: Attempt = rows[0].attempts[0]
assert attempt.number == 1
analysis = next((result.directory / "analysis").rglob("*.json"))
bundle = SessionAnalysisBundle.model_validate_json(analysis.read_bytes())
assert bundle.results["first-tool"].findings["tools"].values == ("look_up",)

# %% Matrix, Arm, Cell
from ghx_profiler import Arm, Cell, Matrix

matrix = Matrix(agents=("greeter",), models=("none",), modes=("a", "b"), scenario_ids=("ann",), repetitions=3)
cells: list[Cell] = list(matrix.cells())
assert len(cells) == matrix.total == 6
assert {cell.arm for cell in cells} == {Arm(agent="greeter", model="none", mode=mode) for mode in ("a", "b")}

# %% ModelCall, RequestAnatomy, ReplayedCall, ModelCallSummary, NamedCause, ReportedFigures
from ghx_profiler import (
    Cause,
    ModelCall,
    ModelCallSummary,
    NamedCause,
    ReplayedCall,
    ReportedFigures,
    RequestAnatomy,
)

notes = TraceRecorder()
notes.facts["binary"] = "2.1.0"
notes.model_calls.append(
    ModelCall(
        number=1,
        wire="anthropic",
        started_at="2026-03-03T00:00:00.000Z",
        usage=TokenUsage.of(input=900, output=40),
        anatomy=RequestAnatomy(instructions=1_200, tool_schemas=9_000, conversation=300),
        replayed=ReplayedCall(verdict="blind_spot", blind_spots=("ports",)),  # of one from a recording
    )
)
notes.cause = NamedCause(kind=Cause.MODEL_PROVIDER, message="the last call failed with 529", may_work_next_time=True)
assert notes.trace().model_calls[0].usage.total == 940
counted: ModelCallSummary | None = rows[0].model_calls  # of a row whose model calls nothing metered, None
own_figures: ReportedFigures | None = rows[0].reported

# %% MeasurementError, TransientError, AgentError, ModelProviderError, EnvironmentFailure, ReplayDivergedError, Cause
from ghx_profiler import (
    AgentError,
    Cause,
    EnvironmentFailure,
    MeasurementError,
    ModelProviderError,
    ReplayDivergedError,
    TransientError,
)

errors: list[MeasurementError] = [
    TransientError("the service is busy", retry_after_s=3),  # tried again, within the scenario's `allowed_retries`
    AgentError("the agent crashed"),
    ModelProviderError("unknown model"),
    EnvironmentFailure("the disk is full"),
    ReplayDivergedError("the recording has another question"),
]
assert [error.cause for error in errors if error.cause.is_the_agents_own] == [Cause.AGENT_CRASH]

# %% run_profile_suite, Executor, Workers, Worker, WorkerSpec, Block, PlacedCell, Receive, Message
from ghx_profiler import (
    Block,
    Executor,
    Message,
    PlacedCell,
    Receive,
    Worker,
    Workers,
    WorkerSpec,
    run_profile_suite,
)

told: list[str] = []


class OneByOne(Workers):
    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def run(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            cells: tuple[PlacedCell, ...] = block.cells
            for placed in cells:
                await self.worker.measure(placed, block.scenario)


class Here(Executor):
    @asynccontextmanager
    async def open(self, spec: WorkerSpec, receive: Receive):
        async def pass_on(message: Message) -> None:  # from the worker to the head of the run
            told.append(type(message).__name__)
            await receive(message)

        async with spec.open(pass_on) as worker:
            yield OneByOne(worker)


async def run_suite() -> SuiteResult:
    return await run_profile_suite(
        config.override(mode=["Hey"]),
        loader=loader,
        sets=sets,
        modes=AnyWord(),
        instruments=instruments,
        executor=Here(),
    )


assert anyio.run(run_suite).measured == 4
assert told == ["CellStarted", "CellMeasured"] * 4
folder.cleanup()
