"""What agents with recipes have in common, whatever they speak: a program, its home, and a meter for its model."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import Process
from pydantic import JsonValue

from ghx_base.errors import ungrouped
from ghx_base.files.atomic_files import write_file
from ghx_profiler.agents.drivers.installation import Launch
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError, Spending
from ghx_profiler.agents.metering.run_meter import RunMeter, find_wrong_setup, note_metered
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.processes.process import program
from ghx_profiler.agents.tools.server_identity import StderrTail
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.config import Budgets
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import AgentError, EnvironmentFailure, MeasurementError
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.records.trace import SessionTrace

_LONGEST_WORDS = 1000
_LOOK_S = 0.02
_LONGEST_LATE_CALL_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """What the program of a session is started with."""

    request: SessionRequest
    tools: ToolSet
    tap: MeteredSession | None
    """What the meter sees of the session."""
    values: Mapping[str, str]
    """What the variables of the recipe stand for."""
    environment: Mapping[str, str]
    started_from: tuple[Path, ...]
    """The files and folders that it consists of."""

    @property
    def directory(self) -> str:
        """The folder to work in."""
        return self.values["DIRECTORY"]


class RecipeProvider(ABC):
    """Opens sessions of one agent: a program of its own for each, in the session's private home.

    An error before the first prompt is a failure of the environment.
    """

    def __init__(
        self,
        recipe: Recipe,
        launch: Launch,
        model_providers: Mapping[WireKind, ModelProvider] | None = None,
        *,
        vendor: str | None = None,
        budgets: Budgets | None = None,
        run_spending: Spending | None = None,
        queue: ServiceQueue | None = None,
        records: bool = False,
    ) -> None:
        providers = model_providers or {}
        if missing := [wire for wire in recipe.wires if wire not in providers]:
            raise ValueError(f"the recipe of {recipe.name} has the wire {missing[0]}, and no provider is given for it")
        wired: dict[WireKind, ModelProvider] = {wire: providers[wire] for wire in recipe.wires}
        self.name = recipe.name
        self.version = None if recipe.install is None else recipe.install.version
        self.recipe, self.launch = recipe, launch
        self._vendor = vendor
        """What ids of models may begin with that this provider's own API does not know: `openai/gpt-5`."""
        self._meter = RunMeter(wired, budgets=budgets, run_spending=run_spending, queue=queue, records=records)
        self.is_metered, self.is_paid = bool(wired), self._meter.is_paid
        self.control_kind, self.secrets = self._meter.control_kind, self._meter.secrets
        self.facts: Mapping[str, JsonValue] = {
            "protocol": recipe.protocol,
            **launch.versions,
            **self._meter.facts,
        }

    @abstractmethod
    def open_session(self, start: SessionStart) -> AbstractAsyncContextManager["RecipeSession"]:
        """Open a session that can be prompted; its home is prepared."""

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Hold the meter, where the agent's model calls go through one."""
        async with nullcontext() if self.recipe.wire is None else self._meter.open(directory):
            yield

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["RecipeSession"]:
        """Open a session with the tools of the mode."""
        recipe = self.recipe.with_model(request.model.removeprefix(f"{self._vendor}/"))
        async with (
            nullcontext() if recipe.wire is None else self._meter.session(recipe.wire, request) as tap,
            self.open_session(self._prepare(recipe, request, tap)) as session,
        ):
            yield session

    def _prepare(self, recipe: Recipe, request: SessionRequest, tap: MeteredSession | None) -> SessionStart:
        """Write the files of the session's home, and return what its program is started with."""
        if request.directory is None or "HOME" not in request.environment:
            raise EnvironmentFailure(f"{self.name} needs a folder to work in and a home, and the stage has none")
        tools = ToolSet.of(request.mode)
        settings = recipe.settings_for(shell=tools.shell, web=tools.web)
        if settings is None:
            raise EnvironmentFailure(
                f"mode {request.mode.name!r} has no shell, and the recipe of {self.name} does not say how to take "
                "its own away; add `without_shell` to it, or leave the mode out"
            )
        if tools.skills and self.recipe.skills_folder is None:
            raise EnvironmentFailure(
                f"mode {request.mode.name!r} has skills, and the recipe of {self.name} does not say where it looks for "
                "them; add `skills_folder` to it, or leave the mode out"
            )
        values = {
            **self.launch.values,
            "MODEL": request.model.removeprefix(f"{self._vendor}/"),
            "HOME": request.environment["HOME"],
            "DIRECTORY": str(request.directory),
            **({} if tap is None else {"BASE_URL": tap.base_url, "KEY": tap.key}),
        }
        servers = {name: each.in_session(request.environment_of(name)) for name, each in tools.mcp_servers.items()}
        filled = settings.fill(values, over=self.recipe.settings_for_servers(servers))
        self._fill_home(Path(values["HOME"]), filled.files, tools, request.mode.instructions)
        environment = {**request.environment, **filled.environment}
        return SessionStart(
            request=request,
            tools=tools,
            tap=tap,
            values=values,
            environment=environment,
            started_from=self.launch.started_from,
        )

    def _fill_home(self, home: Path, files: Mapping[str, str], tools: ToolSet, instructions: str | None) -> None:
        """Write what the agent looks for in its home: settings, instructions and skills."""
        instruction_files = {self.recipe.instructions_file: instructions}
        for path, content in {**files, **instruction_files}.items():
            if path is not None and content is not None:
                write_file(home / path, content.encode())
        for name, folder in tools.skills.items():
            shutil.copytree(folder, home / (self.recipe.skills_folder or "") / name)


@asynccontextmanager
async def start_agent(
    name: str, words: tuple[str, ...], start: SessionStart
) -> AsyncGenerator[tuple[Process, StderrTail]]:
    """Start an agent's program, and keep the last lines that it writes to standard error."""
    last_words = StderrTail()
    # Ungrouped: errors in groups are shown to people, and attributed by their cause.
    with ungrouped():
        async with AsyncExitStack() as stack:
            running = program(
                words,
                environment=start.environment,
                directory=Path(start.directory),
                stderr=PIPE,
                started_from=start.started_from,
            )
            try:
                process = await stack.enter_async_context(running)
            except OSError as error:
                raise EnvironmentFailure(f"{name}: {words[0]} cannot be started: {error.strerror}") from error
            tasks = await stack.enter_async_context(anyio.create_task_group())
            if process.stderr is not None:
                tasks.start_soon(last_words.read, process.stderr)
            try:
                yield process, last_words
            finally:
                tasks.cancel_scope.cancel()


@dataclass(slots=True, kw_only=True)
class RecipeSession(ABC):
    """One conversation with an agent, and what the meter sees of it."""

    recipe: Recipe
    recorder: TraceRecorder
    start: SessionStart
    calls_at_answer: int | None = None
    """How many model calls there were when the agent ended its turn; `None` until then."""
    was_stopped: bool = False
    """Whether it was cancelled during a prompt."""

    @abstractmethod
    async def ask(self, words: str) -> Answer:
        """Send the prompt and wait for the answer; raise `AgentError` where the agent breaks down.

        It is cancelled at the deadline, and as soon as it shows that the agent is not set up for the mode.
        """

    @property
    @abstractmethod
    def answer_text(self) -> str:
        """What the agent has answered so far."""

    @property
    def tap(self) -> MeteredSession | None:
        """What the meter sees of the session."""
        return self.start.tap

    @property
    def is_unused(self) -> bool:
        """Whether its model was not called yet: an agent that crashes before that was started wrongly."""
        return self.tap is not None and not self.tap.main_calls

    async def prompt(self, text: str) -> Answer:
        """Send the prompt and wait until the agent ends its turn.

        What it did until the budget of its session was used up is an answer to score; the trace has the reason of the
        end.
        """
        instructions = None if self.recipe.instructions_file else self.start.request.mode.instructions
        words = "\n\n".join(filter(None, (instructions, text)))
        if self.tap is not None:
            self.tap.expect_prompt(words)
            self.tap.unfit_if = self.recipe.unfit_if
        answer: Answer | None = None
        failure: AgentError | None = None
        try:
            with ungrouped():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._watch_setup)
                    answer = await self.ask(words)
                    tasks.cancel_scope.cancel()
            self.calls_at_answer = None if self.tap is None else self.tap.call_count
        except AgentError as error:
            failure = error
        except anyio.get_cancelled_exc_class():
            self.was_stopped = True
            raise
        if self.tap is not None:
            await self.tap.wait_for_last_answer()
        # Some agents end their turn with the error of the model's provider as their answer.
        cause = self._failure_cause() or failure
        if cause is not None and not isinstance(cause, BudgetExhaustedError):
            raise cause from (None if failure is None else failure.__cause__)
        return Answer(text=self.answer_text) if answer is None else answer

    async def trace(self) -> SessionTrace:
        """Return the trace so far, with the metered calls."""
        if self.tap is not None:
            await self._wait_for_late_call(self.tap)
            if self.calls_at_answer is None:
                await self.tap.settle()
            else:  # only side calls are going on, and cutting them would leave tokens unknown
                await self.tap.settle(_LONGEST_LATE_CALL_S)
            note_metered(self.recorder, self.tap, self._failure_cause())
        return self.recorder.trace()

    def explain(self, reason: str, last_words: StderrTail) -> str:
        """Return in a line what went wrong, and what the agent wrote last to standard error."""
        stderr_text = last_words.text[-_LONGEST_WORDS:]
        return f"{self.recipe.name}: {reason}" + (f"; it wrote: {stderr_text}" if stderr_text else "")

    async def _wait_for_late_call(self, tap: MeteredSession) -> None:
        """Wait for the model call that the agent is known to make after its answer, and no longer."""
        if self.calls_at_answer is not None:
            with anyio.move_on_after(self.recipe.late_calls_ms / 1000):
                while tap.call_count <= self.calls_at_answer:  # noqa: ASYNC110 - the meter has a thread of its own
                    await anyio.sleep(_LOOK_S)

    async def _watch_setup(self) -> None:
        """Raise as soon as it shows that the agent lacks the tools of the mode, or is kept from the work."""
        servers = tuple(self.start.tools.mcp_servers)
        is_watched = self.tap is not None and bool(servers or self.recipe.unfit_if)
        # Looked at again and again, since the meter serves in a thread of its own.
        while is_watched and self.tap is not None and not self.tap.offered_tools():  # noqa: ASYNC110 - see above
            await anyio.sleep(_LOOK_S)
        if self.tap is not None:
            has_answered = self.calls_at_answer is not None
            wrong = find_wrong_setup(self.tap, servers, agent=self.recipe.name, has_answered=has_answered)
            if wrong is not None:
                raise wrong

    def _failure_cause(self) -> MeasurementError | None:
        """Return whose fault it is, if it is not the agent's: the environment's, the model provider's, the budget's."""
        if self.tap is None:
            return None
        servers, has_answered = tuple(self.start.tools.mcp_servers), self.calls_at_answer is not None
        wrong = find_wrong_setup(self.tap, servers, agent=self.recipe.name, has_answered=has_answered)
        return wrong or self.tap.verdict(self.calls_at_answer, was_stopped=self.was_stopped)
