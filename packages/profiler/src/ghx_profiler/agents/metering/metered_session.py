"""One session as the meter sees it: its model calls, what they used, and whose fault it is if they failed."""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from ghx_base.clock import Clock, timestamp
from ghx_base.problems import plural
from ghx_profiler.agents.metering.call_in_progress import CallInProgress, RequestSummary, find_sides
from ghx_profiler.agents.metering.model_budget import BudgetExhaustedError, Spending
from ghx_profiler.agents.wires.model_request import ModelRequest
from ghx_profiler.agents.wires.protocol import Route
from ghx_profiler.records.causes import (
    Cause,
    EnvironmentFailure,
    MeasurementError,
    ModelProviderError,
    ReplayDivergedError,
    RunBudgetError,
    TransientError,
)
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelCall, usage_at_least, usage_of

_POLL_S = 0.01
_QUIET_S = 0.05
_STATUSES_OF_REQUESTS = frozenset({200, 400, 413, 422})  # 200: an error inside an answer that had begun
_OUTAGES = frozenset({"rate_limit", "overloaded", "server", "connection", "stream"})
_FAILURES_OF_PROVIDERS = _OUTAGES | {"authentication"}
# Gemini answers 400 to a wrong key, and Anthropic where nothing is left to pay with.
_OF_ACCOUNTS = re.compile(r"api[ _]key|credit balance|billing", re.IGNORECASE)


@dataclass(slots=True)
class MeteredSession:
    """What the meter knows of one session; made by `Meter.session`.

    The agent is given `base_url` (to which OpenAI's clients want `/v1` added) and `key`, which is worth nothing
    elsewhere. Everything here may be read at any time, also while calls are going on.
    """

    id: str
    name: str
    base_url: str
    clock: Clock
    spending: Spending
    run_spending: Spending
    model: str | None = None
    """The model that the session is about, where it is known; calls of another one are side calls."""
    unfit_if: tuple[str, ...] = ()
    """Regular expressions for instructions of an agent that cannot work as it is set up."""
    unfit_words: str | None = None
    """The text of the instruction that one of them matches."""
    stray_request: str | None = None
    """The first request that leads to no model: method and path."""
    watch: Callable[[bytes], None] | None = field(default=None, repr=False)
    """Is shown the body of each request that is passed on."""
    key: str = field(default_factory=lambda: f"ghx-{secrets.token_hex(16)}", repr=False)
    _calls: list[CallInProgress] = field(default_factory=list[CallInProgress])
    _prompts: list[str] = field(default_factory=list[str])
    _prompted_at: float | None = None
    _refusals: dict[int, MeasurementError] = field(default_factory=dict[int, MeasurementError])
    """Why calls were refused, by their numbers."""
    _turns: int = 0

    def expect_prompt(self, text: str) -> None:
        """Set the prompts of the agent: calls about anything else are side calls."""
        self._prompts.append(text)
        if self._prompted_at is None:
            self._prompted_at = self.clock.monotonic()

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All calls so far, in the order in which they began."""
        now, calls = self.clock.monotonic(), list(self._calls)
        sides = find_sides(calls, self.model)
        return tuple(call.record(now, side=side) for call, side in zip(calls, sides, strict=True))

    @property
    def call_count(self) -> int:
        """How many calls there were so far; cheaper than `calls` for polling."""
        return len(self._calls)

    @property
    def main_calls(self) -> tuple[ModelCall, ...]:
        """The calls of the conversation itself."""
        return tuple(call for call in self.calls if call.side is None)

    @property
    def is_idle(self) -> bool:
        """Whether no call is going on."""
        return all(call.ended is not None for call in list(self._calls))

    def offered_tools(self) -> tuple[str, ...] | None:
        """Return the tools that the first call of the conversation offered; `None` before there is one."""
        first = next(iter(self.main_calls), None)
        return None if first is None else first.tools_offered

    def usage(self) -> TokenUsage:
        """Return the tokens of all calls, side calls included; not known if a call was cut."""
        return usage_of(self.calls)

    def usage_at_least(self) -> TokenUsage:
        """Return the tokens that were used for certain."""
        return usage_at_least(self.calls)

    async def settle(self, patience_s: float = 0.3) -> None:
        """Wait until no call is going on, and none has just begun, or until patience ends.

        Some agents ask for a title after their answer, and do not wait for it themselves.
        """
        with anyio.move_on_after(patience_s):
            quiet_since = self.clock.monotonic()
            while self.clock.monotonic() - quiet_since < _QUIET_S:
                await anyio.sleep(_POLL_S)
                if not self.is_idle:
                    quiet_since = self.clock.monotonic()

    async def wait_for_last_answer(self, patience_s: float = 0.3) -> None:
        """Wait until the last call of the conversation is over or given up, or until patience ends.

        Agents end their turn when they have what they need of an answer, at times before the meter has read its end.
        """
        with anyio.move_on_after(patience_s):
            while self._is_last_answer_open():  # noqa: ASYNC110 - the meter has a thread of its own
                await anyio.sleep(_POLL_S)

    def _is_last_answer_open(self) -> bool:
        calls = list(self._calls)
        main = [call for call, side in zip(calls, find_sides(calls, self.model), strict=True) if side is None]
        return bool(main) and main[-1].error_kind is None and main[-1].is_given_up

    def verdict(self, calls_at_answer: int | None = None, *, was_stopped: bool = False) -> MeasurementError | None:
        """Return the cause as an error to raise if the model did not answer; `None` if it did.

        Call it when the agent has ended its turn after that many calls, was stopped, or has crashed. The last
        call of the conversation decides: agents also end a turn with a provider's error as their answer. One that was
        given up before anything came of it leaves that to the one before, unless most of the time was lost so; of an
        agent that was stopped, time that was lost earlier counts as well. In a replay, any call of the conversation
        decides that is not in the recording. Side calls do not decide, nor do calls after the answer: they come at
        other times in each run.
        """
        calls = list(self._calls)
        sides = find_sides(calls, self.model)
        # Cut after the sides are known: a later call may show that an earlier one was a side call.
        main = [call for call, side in list(zip(calls, sides, strict=True))[:calls_at_answer] if side is None]
        # An agent that broke down may have done so over a side call that was refused.
        last = calls[-1:] if calls_at_answer is None and not was_stopped else []
        if refusals := [self._refusals[call.number] for call in (*main, *last) if call.number in self._refusals]:
            return refusals[0]
        replayed = [call.replayed for call in main if call.replayed is not None]
        if diverged := [each for each in replayed if each.verdict == "divergence"]:
            count = f"{len(diverged)} of {plural(len(replayed), 'model call')}"
            return ReplayDivergedError(f"{count} not in the recording; the first: {diverged[0]}")
        decisive = [call for call in main if not call.is_given_up or call.response_bytes]
        if decisive and decisive[-1].has_failed:
            return self._failure_cause(decisive)
        may_be_lost = bool(main) and (was_stopped or main[-1].is_given_up)
        return self._find_outage(main) if may_be_lost else None

    def _failure_cause(self, calls: Sequence[CallInProgress]) -> MeasurementError | None:
        """Return whose fault it is that the last of these calls failed; `None` for the agent's."""
        if calls[-1].has_foreign_key:
            return EnvironmentFailure(
                "it asked its model with another key than that of its session, which was refused; its settings have to "
                "hand it the key of the session"
            )
        last = calls[-1].record(self.clock.monotonic(), side=None)
        # An agent whose requests were answered before has itself made one that cannot be.
        has_worked = any(not call.has_failed for call in calls)
        is_of_request = last.error_kind == "request" and last.status in _STATUSES_OF_REQUESTS
        if is_of_request and has_worked and not _OF_ACCOUNTS.search(last.error or ""):
            return None
        status = "" if last.status is None else f" ({last.status})"
        tries = f" after {last.attempt} attempts" if last.attempt > 1 else ""
        message = f"the model's provider failed{tries}{status}: {last.error}"
        if last.error_kind in ("authentication", "request"):
            return ModelProviderError(message)
        return TransientError(message, cause=Cause.MODEL_PROVIDER, retry_after_s=last.retry_after_s)

    def _find_outage(self, main: Sequence[CallInProgress]) -> MeasurementError | None:
        """Return that the agent waited in vain for its model for more than half of its time.

        In vain it waits from the beginning of a call that the provider failed to answer until it begins one that is
        answered, its own pauses included; and from the last byte of a call that was given up until it is.
        """
        now = self.clock.monotonic()
        began = main[0].began if self._prompted_at is None else self._prompted_at
        lost, until = 0.0, began
        for place, call in enumerate(main):
            start, end = call.began, call.began
            if call.is_given_up:
                start, end = call.last_byte or call.began, now if call.ended is None else call.ended
            elif call.record(now, side=None).error_kind in _OUTAGES:
                later = (each for each in main[place:] if not (each.has_failed or each.is_given_up))
                end = next((each.began for each in later), now)
            lost += max(end - max(start, until), 0.0)
            until = max(until, end)
        if lost <= (now - began) / 2:
            return None
        return TransientError(
            f"the model's provider did not answer: for {lost:.1f} of {now - began:.1f} s it was waited for in vain",
            cause=Cause.MODEL_PROVIDER,
        )

    def begin_call(self, route: Route, request_bytes: int) -> CallInProgress:
        """Note a request that has come in."""
        call = CallInProgress(
            number=len(self._calls) + 1,
            route=route,
            started_at=timestamp(self.clock.now()),
            began=self.clock.monotonic(),
            request_bytes=request_bytes,
        )
        self._calls.append(call)
        return call

    def take_request(self, call: CallInProgress, request: ModelRequest) -> None:
        """Note what a request holds, and which failed call it is another attempt at."""
        results = request.tool_results
        # Gemini's clients may leave ids out; there the position is what stays the same from call to call.
        keys = [result.id or f"{position} {result.name}" for position, result in enumerate(results)]
        # The model has not read a failed call: its results are sent again, and count with the next attempt.
        result_keys = [
            each.summary.result_keys for each in self._calls if each.summary is not None and not each.has_failed
        ]
        known_keys = set[str]().union(*result_keys)
        call.summary = summary = RequestSummary(
            fields={
                "model_asked": request.model,
                "streamed": request.is_streamed,
                "anatomy": request.anatomy,
                "tools_offered": request.tools_offered,
                "tool_result_count": len(results),
                "tool_results": tuple(each for key, each in zip(keys, results, strict=True) if key not in known_keys),
                "settings": request.settings,
            },
            result_keys=frozenset(keys),
            model=request.model,
            tools=request.tools_offered,
            likeness=(request.wire, request.model, len(request.pieces), len(results), request.tools_offered),
            mentions_prompt=not self._prompts or request.mentions(self._prompts),
            asks_after_answer=bool(self._prompts) and request.continues_after_answer(self._prompts),
        )
        self.unfit_words = self.unfit_words or request.find_instruction(self.unfit_if)
        for earlier in reversed(self._calls[: call.number - 1]):
            if earlier.summary is not None and earlier.summary.likeness == summary.likeness:
                if earlier.error_kind is not None or earlier.has_failed:
                    call.retry_of, call.attempt = earlier.retry_of or earlier.number, earlier.attempt + 1
                break

    def refuse_by_budget(self, call: CallInProgress, read: Callable[[], ModelRequest]) -> str | None:
        """Return why a call is over budget; `None` if it is not, and then it is counted.

        Only where turns are limited is the request read for that: reading takes time that the agent would wait.
        """
        is_main = True
        if any(spending.budget.max_turns is not None for spending in (self.spending, self.run_spending)):
            self.take_request(call, read())
            self._count_turns()
            is_main = find_sides(self._calls, self.model)[call.number - 1] is None
        if (refusal := self.spending.find_refusal(is_main=is_main)) is not None:
            self._refusals[call.number] = BudgetExhaustedError(refusal)
        elif (refusal := self.run_spending.admit_call(is_main=is_main)) is not None:
            self._refusals[call.number] = RunBudgetError(refusal)
        else:
            self.spending.admit_call(is_main=is_main)
        return refusal

    def end_call(self, call: CallInProgress) -> None:
        """Note that a call is over."""
        call.ended = self.clock.monotonic()
        limited = [each for each in (self.spending, self.run_spending) if each.budget.is_limited]
        if limited and call.error_kind != "budget":
            record = call.record(call.ended, side=find_sides(self._calls, self.model)[call.number - 1])
            for spending in limited:
                spending.end_call(record, self.model)
            if record.error_kind in _FAILURES_OF_PROVIDERS and not record.has_used_tokens:
                # Else an agent that goes on trying in an outage would seem to have spent what it may.
                self.spending.model_calls -= 1
            self._count_turns()

    def _count_turns(self) -> None:
        """Count the answered calls of the conversation again: a later call may show that one was a side call."""
        sides = find_sides(self._calls, self.model)
        turns = sum(side is None and call.has_answered for call, side in zip(self._calls, sides, strict=True))
        for spending in (self.spending, self.run_spending):
            spending.add_turns(turns - self._turns)
        self._turns = turns
