"""The part that all metered agents share: the meter of their run, and its facts about a session."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pydantic import JsonValue

from ghx_base.problems import plural
from ghx_profiler.agents.metering.meter import Meter, ModelProvider
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import Spending
from ghx_profiler.agents.metering.model_recording import record_traffic, recording_name
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.processes.sandbox import expose_port
from ghx_profiler.agents.tools.toolset import server_tool_of
from ghx_profiler.config import Budgets
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import EnvironmentFailure, MeasurementError, TransientError
from ghx_profiler.records.model_calls import WireKind
from ghx_profiler.records.trace import NamedCause
from ghx_profiler.runner.deadlines import pause_deadline
from ghx_profiler.runner.spend import Spend
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows
from ghx_profiler.store.run_store import spend_of

_MOST_TOOLS = 10


class RunMeter:
    """The meter of one agent: it serves for the length of a run, and gives each session a way to its model."""

    def __init__(
        self,
        providers: Mapping[WireKind, ModelProvider],
        *,
        budgets: Budgets | None = None,
        run_spending: Spending | None = None,
        queue: ServiceQueue | None = None,
        records: bool = False,
    ) -> None:
        self.providers = dict(providers)
        self._budgets, self._queue = budgets or Budgets(), queue
        self._run_spending = run_spending or Spending(budget=self._budgets.run, scope="run")
        self._records = records
        """Whether model traffic is recorded next to the traces of the run."""
        self._meter: Meter | None = None

    @property
    def is_paid(self) -> bool:
        """Whether calls may cost money: those without a key cannot."""
        return any(each.key is not None for each in self.providers.values())

    @property
    def secrets(self) -> frozenset[str]:
        """The real keys: they must stand in nothing that is written of a run."""
        return frozenset(each.key for each in self.providers.values() if each.key is not None)

    @property
    def control_kind(self) -> ControlKind | None:
        """Whether sessions repeat what another run recorded, of which nothing is concluded about agents."""
        return None if self._replayed_run is None else "replay"

    @property
    def facts(self) -> Mapping[str, JsonValue]:
        """Its facts on rows."""
        return {} if self._replayed_run is None else {"replayedRun": self._replayed_run}

    @property
    def _replayed_run(self) -> str | None:
        return next((each.replayed_run for each in self.providers.values() if each.replayed_run is not None), None)

    @asynccontextmanager
    async def open(self, directory: Path) -> AsyncGenerator[None]:
        """Serve for the length of a block, which is that of the run in `directory`."""
        providers: dict[WireKind, ModelProvider] = self.providers
        if self._records:
            providers = {wire: record_traffic(each, directory) for wire, each in providers.items()}
        if self._run_spending.budget.is_limited:
            self._run_spending.begin_run(directory, lambda: _read_spend(RunDirectory(directory)))
        async with Meter(
            providers,
            session_budget=self._budgets.session,
            run_spending=self._run_spending,
            queue=self._queue,
        ) as meter:
            self._meter = meter
            try:
                yield
            finally:
                self._meter = None

    @asynccontextmanager
    async def session(self, wire: WireKind, request: SessionRequest) -> AsyncGenerator[MeteredSession]:
        """Wait until the provider of a wire is available, and open a route to it for one session."""
        if self._meter is None:
            raise RuntimeError("a session was asked for outside of the run's scope, which has the meter")
        async with AsyncExitStack() as stack:
            # The time for opening a session is for opening it, and not for waiting until a service has room.
            with pause_deadline():
                await stack.enter_async_context(self._meter.queue.admit(self.providers[wire]))
            # Where the session has a sandbox: the meter's is a port that its environment does not name.
            await stack.enter_async_context(expose_port(self._meter.port))
            name = recording_name(request.cell)
            session = self._meter.session(
                name,
                model=request.model,
                secrets=request.secrets,
                keys=request.keys,
                watch=request.watch_model_request,
            )
            yield stack.enter_context(session)


def _read_spend(run: RunDirectory) -> Spend:
    """Return what a run that is resumed has spent before; nothing for one that begins."""
    if run.spent_before.is_file():  # its directory lies on another machine
        return Spend(**json.loads(run.spent_before.read_text()))
    if not (run.record.is_file() and run.rows.is_file()):
        return Spend()
    return spend_of(read_record(run.record), read_rows(run.rows))


def find_wrong_setup(
    session: MeteredSession, servers: Sequence[str], *, agent: str, has_answered: bool
) -> EnvironmentFailure | None:
    """Return that an agent is kept from its model or from the work, or was not given the tools of a server.

    The row would have the wrong mode.
    """
    if session.unfit_words is not None:
        return EnvironmentFailure(
            f"{agent}: its own settings keep it from the work: its instructions to the model say "
            f"{session.unfit_words!r}"
        )
    if has_answered and not session.call_count:
        stray = "" if session.stray_request is None else f", but for {session.stray_request}, where no model is"
        return EnvironmentFailure(f"{agent}: it ended its turn without asking its model for anything{stray}")
    offered = session.offered_tools()
    if has_answered and not offered and session.stray_request is not None:  # a title was all that it got
        return EnvironmentFailure(
            f"{agent}: its conversation did not reach its model: it asked for {session.stray_request}, "
            "where no model is"
        )
    # Before the answer, a call without any tool may be one for a title, and that of the conversation still to come.
    if offered is None or not (offered or has_answered):
        return None
    connected = {server for server, _ in filter(None, (server_tool_of(each, servers) for each in offered))}
    missing = [each for each in servers if each not in connected]
    if not missing:
        return None
    others = ", ".join(offered[:_MOST_TOOLS]) + (", ..." if len(offered) > _MOST_TOOLS else "")
    return EnvironmentFailure(
        f"{agent}: {missing[0]}: tools not offered: its first request to the model has "
        f"{plural(len(offered), 'tool')} ({others}), and none of this MCP server"
    )


def note_metered(recorder: TraceRecorder, session: MeteredSession, cause: MeasurementError | None) -> None:
    """Put what the meter saw of a session into its trace: the model calls, and the cause if there is one to name."""
    recorder.model_calls[:] = session.calls
    if cause is not None:
        recorder.cause = NamedCause(
            kind=cause.cause,
            message=str(cause),
            may_work_next_time=isinstance(cause, TransientError),
            retry_after_s=cause.retry_after_s if isinstance(cause, TransientError) else None,
        )
