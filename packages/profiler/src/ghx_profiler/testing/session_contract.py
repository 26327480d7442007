"""The rules of `SessionProvider` and `Session`, to be run against any implementation."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import anyio

from ghx_profiler.contracts import Session, SessionProvider, SessionRequest, scope_of_run
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.testing.contract_suite import ContractSuite, MissingHookError, Probe, holds, skip_without
from ghx_profiler.testing.record_rules import assert_survives_json
from ghx_profiler.testing.samples import sample_cell
from ghx_profiler.testing.watching import Watch, check_process_unchanged

PROBE = "GHX_BENCH_CONTRACT_PROBE"


class ConversationResult(NamedTuple):
    """The answer and trace of one session."""

    answer: Answer
    trace: SessionTrace

    @property
    def told(self) -> str:
        """All text of the agent and its tools."""
        return f"{self.answer.text}\n{self.trace.model_dump_json()}"


class SessionProviderContract(ContractSuite):
    """What must hold of every provider.

    ```python
    class TestMyProvider(SessionProviderContract):
        def make_provider(self) -> SessionProvider:
            return MyProvider()

        def make_slow_prompt(self) -> str:
            return "Run `sleep 1000` in the shell."
    ```
    """

    cancel_after_s: float = 0.5
    """When the slow prompt is cancelled; by then the agent should be in the middle of it."""

    def make_provider(self) -> SessionProvider:
        """Return the provider under test; required."""
        raise MissingHookError("make_provider()")

    def make_request(self, environment: Mapping[str, str]) -> SessionRequest:
        """Return a request for a session with this environment; write it for a certain model, mode or directory."""
        return SessionRequest(cell=sample_cell(), mode=Mode(name="sample-mode"), environment=environment)

    def make_environment(self) -> dict[str, str]:
        """Return the variables that every session needs."""
        return {"PATH": os.environ.get("PATH", os.defpath)}

    def make_prompt(self) -> str:
        """Return something that the agent answers soon."""
        return "Say hello."

    def make_slow_prompt(self) -> str:
        """Return something that keeps the agent, and its tools, at work for much longer than `cancel_after_s`."""
        skip_without("make_slow_prompt()")

    def make_failing_prompt(self) -> str:
        """Return something on which `prompt` raises."""
        skip_without("make_failing_prompt()")

    def make_environment_prompt(self, variable: str) -> str:
        """Return a prompt on which the agent prints the value of this environment variable."""
        skip_without(f"make_environment_prompt({variable!r})")

    def find_leftovers(self) -> Iterable[str]:
        """Name what is left of sessions that are over, beyond processes and tasks: containers, folders, ..."""
        return ()

    def test_a_provider_has_a_name(self) -> None:
        """The name goes on every row."""
        name: object = self.make_provider().name
        assert isinstance(name, str), f"SessionProvider.name: must be text, got {name!r}"
        assert name.strip(), "SessionProvider.name: must not be empty"

    def test_a_prompt_is_answered_and_traced(self) -> None:
        """One prompt, one trace: the whole life of a session."""
        result = self._run_session(self.make_prompt())
        answer, trace = _as_objects(result)
        assert isinstance(answer, Answer), f"Session.prompt: must return an Answer, got {answer!r}"
        assert isinstance(trace, SessionTrace), f"Session.trace: must return a SessionTrace, got {trace!r}"
        assert trace.session_id, "Session.trace: the trace must carry the id of its session"

    def test_a_trace_survives_a_file(self) -> None:
        """Traces are written to files and analysed from there."""
        assert_survives_json(self._run_session(self.make_prompt()).trace, "Session.trace: the trace")

    def test_sessions_side_by_side_have_ids_of_their_own(self) -> None:
        """Cells run concurrently, and the provider is shared."""
        first, second = self._run_two(self.make_prompt(), {}, {})
        assert first.trace.session_id != second.trace.session_id, "Session.trace: two sessions must not share an id"

    def test_a_session_is_left_with_the_error_that_was_raised_in_it(self) -> None:
        """The owner of a session must get the error."""

        async def rule() -> None:
            async with self._open_session():
                raise Probe

        try:
            self.run_rule(rule)
        except Probe:
            return
        raise AssertionError("SessionProvider.session: must not swallow what is raised inside of it")

    def test_a_cancelled_prompt_stops_and_can_be_traced(self) -> None:
        """Deadlines belong to the caller, and what the agent did until then is exported."""
        text = self.make_slow_prompt()

        async def rule() -> None:
            async with self._open_session() as session:
                await self._cancel_prompt(session, text)
                with self.soon("Session.trace: must work after `prompt` was cancelled"):
                    assert_survives_json(await session.trace(), "Session.trace: the trace of a cancelled prompt")

        self.run_rule(rule)

    def test_a_failed_prompt_can_be_traced(self) -> None:
        """What an agent spent until it broke down is not forgotten."""
        text = self.make_failing_prompt()

        async def rule() -> None:
            async with self._open_session() as session:
                assert await _fails(session, text), "make_failing_prompt(): was answered; return one that fails"
                with self.soon("Session.trace: must work after `prompt` raised"):
                    assert_survives_json(await session.trace(), "Session.trace: the trace of a failed prompt")

        self.run_rule(rule)

    def test_nothing_is_left_of_a_session(self) -> None:
        """Whatever a session started is gone when it is left."""

        async def rule() -> None:
            watch = Watch()
            async with self._open_session() as session:
                await session.prompt(self.make_prompt())
                await session.trace()
                watch.look()
            await self._assert_nothing_left(watch, "a session")

        self.run_rule(rule)

    def test_nothing_is_left_of_a_cancelled_session(self) -> None:
        """The same when the run is interrupted: the agent, and every process it started, is stopped."""
        text = self.make_slow_prompt()

        async def rule() -> None:
            watch, scope = Watch(), anyio.CancelScope()

            async def cancel() -> None:
                await anyio.sleep(self.cancel_after_s)
                watch.look()
                scope.deadline = anyio.current_time()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancel)
                with scope:
                    async with self._open_session() as session:
                        await session.prompt(text)
                tasks.cancel_scope.cancel()
            self._assert_cancelled(scope, "SessionProvider.session")
            await self._assert_nothing_left(watch, "a cancelled session")

        self.run_rule(rule)

    def test_the_process_is_left_alone(self) -> None:
        """Sessions of several modes share this process."""

        async def rule() -> None:
            with check_process_unchanged("SessionProvider.session") as check:
                async with self._open_session() as session:
                    check()
                    await session.prompt(self.make_prompt())
                    check()
                    await session.trace()

        self.run_rule(rule)

    def test_the_environment_belongs_to_the_session(self) -> None:
        """A session sees the variables of its request and no others, whatever this process or another session has."""
        text = self.make_environment_prompt(PROBE)
        with patch.dict(os.environ, {PROBE: "of-the-process"}):
            first, second = self._run_two(text, {PROBE: "of-the-first"}, {PROBE: "of-the-second"})
            third = self._run_session(text)
        assert "of-the-first" in first.told, "SessionRequest.environment: a session must see its own variables"
        assert "of-the-second" in second.told, "SessionRequest.environment: a session must see its own variables"
        strangers = "of-the-second" in first.told or "of-the-first" in second.told
        assert not strangers, "SessionRequest.environment: a session must not see the variables of another one"
        inherited = [result for result in (first, second, third) if "of-the-process" in result.told]
        assert not inherited, "SessionRequest.environment: a session must not see the variables of this process"

    def _request(self, environment: Mapping[str, str] | None = None) -> SessionRequest:
        return self.make_request({**self.make_environment(), **(environment or {})})

    @asynccontextmanager
    async def _open_session(self) -> AsyncGenerator[Session]:
        """Hold a session of a new provider, and around it what the provider holds for a run."""
        provider = self.make_provider()
        async with self._hold_run(provider), provider.session(self._request()) as session:
            yield session

    @asynccontextmanager
    async def _hold_run(self, provider: SessionProvider) -> AsyncGenerator[None]:
        with TemporaryDirectory() as directory:
            async with scope_of_run(provider, Path(directory)):
                yield

    def _run_session(self, text: str) -> ConversationResult:
        async def rule() -> ConversationResult:
            async with self._open_session() as session:
                return ConversationResult(await session.prompt(text), await session.trace())

        with holds("Session: a prompt must be answered and traced"):
            return self.run_rule(rule)

    def _run_two(
        self, text: str, one: Mapping[str, str], other: Mapping[str, str]
    ) -> tuple[ConversationResult, ConversationResult]:
        """Hold two sessions of one provider that are open at the same time."""

        async def rule() -> dict[int, ConversationResult]:
            provider, both_are_open = self.make_provider(), anyio.Event()
            opened: list[int] = []
            results: dict[int, ConversationResult] = {}

            async def hold(number: int, environment: Mapping[str, str]) -> None:
                async with provider.session(self._request(environment)) as session:
                    opened.append(number)
                    if len(opened) > 1:
                        both_are_open.set()
                    with self.soon("SessionProvider.session: two sessions must be able to be open at the same time"):
                        await both_are_open.wait()
                    results[number] = ConversationResult(await session.prompt(text), await session.trace())

            async with self._hold_run(provider), anyio.create_task_group() as tasks:
                tasks.start_soon(hold, 0, one)
                tasks.start_soon(hold, 1, other)
            return results

        with holds("SessionProvider: sessions side by side must work as one alone does"):
            held = self.run_rule(rule)
        return held[0], held[1]

    async def _cancel_prompt(self, session: Session, text: str) -> None:
        with (
            anyio.move_on_after(self.cancel_after_s) as scope,
            holds("Session.prompt: must let a cancellation through"),
        ):
            await session.prompt(text)
        self._assert_cancelled(scope, "Session.prompt")

    def _assert_cancelled(self, scope: anyio.CancelScope, what: str) -> None:
        assert scope.cancel_called, (
            "make_slow_prompt(): was answered within cancel_after_s; return one that takes longer"
        )
        assert scope.cancelled_caught, f"{what}: must let a cancellation through, and swallowed it"
        late_s = anyio.current_time() - scope.deadline
        assert late_s <= self.patience_s, f"{what}: must stop when it is cancelled, and went on for {late_s:.1f} s"

    async def _assert_nothing_left(self, watch: Watch, of: str) -> None:
        left = [*await watch.leftovers(), *self.find_leftovers()]
        assert not left, f"SessionProvider.session: of {of} nothing must be left, but there is {', '.join(left)}"


def _as_objects(result: ConversationResult) -> tuple[object, object]:
    """Forget the types: whether they are right is what is to be found out."""
    return result.answer, result.trace


async def _fails(session: Session, text: str) -> bool:
    try:
        await session.prompt(text)
    except Exception:  # noqa: BLE001 - plugin call: any failure will do
        return True
    return False
