"""One session as the meter sees it: its model calls, what they used, and whose fault it is if they failed."""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from ghx_bench._base.clock import Clock, timestamp
from ghx_bench._base.problems import plural
from ghx_bench.agents.metering.model_budget import BudgetExhaustedError, Spending
from ghx_bench.agents.wires.answer_reader import AnswerReader
from ghx_bench.agents.wires.model_request import ModelRequest
from ghx_bench.agents.wires.protocol import Route
from ghx_bench.profiler.causes import (
    Cause,
    MeasurementError,
    ModelProviderError,
    ReplayDivergedError,
    RunBudgetError,
    TransientError,
)
from ghx_bench.profiler.metrics import TokenUsage
from ghx_bench.profiler.model_calls import (
    CallErrorKind,
    ModelCall,
    ReplayedCall,
    SideReason,
    usage_at_least,
    usage_of,
)

_POLL_S = 0.01
_QUIET_S = 0.05
_ERRORS_OF_REQUESTS = frozenset({400, 413, 422})
# Gemini answers 400 to a wrong key, and Anthropic where nothing is left to pay with.
_OF_ACCOUNTS = re.compile(r"api[ _]key|credit balance|billing", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class CallInProgress:
    """A model call while it is going on; `record` says what is known of it at any moment."""

    number: int
    route: Route
    started_at: str
    began: float
    request_bytes: int
    asked: "_Asked | None" = None
    """What the request holds; `None` until it was read."""
    retry_of: int | None = None
    attempt: int = 1
    first_token: float | None = None
    ended: float | None = None
    status: int | None = None
    reader: AnswerReader | None = None
    response_bytes: int = 0
    error_kind: CallErrorKind | None = None
    error: str | None = None
    retry_after_s: float | None = None
    replayed: ReplayedCall | None = None

    @property
    def has_failed(self) -> bool:
        """Whether it is known that no answer comes of it which an agent can use."""
        return self.error_kind not in {None, "abandoned"} or (self.reader is not None and self.reader.error is not None)

    @property
    def has_answered(self) -> bool:
        """Whether it is over, and the provider has answered it."""
        return self.ended is not None and self.status is not None and not self.has_failed

    def fail(self, kind: CallErrorKind, message: str) -> None:
        """Note what went wrong."""
        self.error_kind, self.error = kind, message

    def record(self, now: float, *, side: SideReason | None) -> ModelCall:
        """Return the call as a record; one that is still going on counts as given up at this moment."""
        fields: dict[str, object] = {
            "number": self.number,
            "wire": self.route.wire,
            "side": side,
            "started_at": self.started_at,
            "time_to_first_token_ms": _ms(self.began, self.first_token),
            "duration_ms": _ms(self.began, now if self.ended is None else self.ended),
            "status": self.status,
            "attempt": self.attempt,
            "request_bytes": self.request_bytes,
            "response_bytes": self.response_bytes,
        }
        if self.retry_of is not None:
            fields["retry_of"] = self.retry_of
        if self.retry_after_s is not None:
            fields["retry_after_s"] = self.retry_after_s
        if self.replayed is not None:
            fields["replayed"] = self.replayed
        if self.asked is not None:
            fields |= self.asked.fields
        return ModelCall.model_validate(fields | self._tell_answer()).with_all_keys()

    def _tell_answer(self) -> dict[str, object]:
        reader, kind, error = self.reader, self.error_kind, self.error
        has_ended = reader is not None and reader.has_ended
        if kind is None and reader is not None and reader.error is not None:
            kind, error = "stream", reader.error
        if kind is None and self.ended is None and not has_ended:
            kind, error = "abandoned", "still going on when the session was over"
        # Without any answer an agent's giving up is a cut, too: the provider may well have worked for it.
        is_cut = not has_ended and (reader is not None or kind == "abandoned")
        usage = None if reader is None else reader.usage
        told: dict[str, object] = {"error_kind": kind, "error": error, "cut": is_cut}
        if is_cut:
            told["usage_at_least"] = usage or TokenUsage.of(input=0, output=0, cache_read=0)
        elif usage is not None:
            told["usage"] = usage
        if reader is not None:
            told |= {"model_answered": reader.model, "stop_reason": reader.stop_reason, "tool_calls": reader.tool_calls}
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is kept of a request, without its texts."""

    fields: dict[str, object]
    """Those of the record that come from the request."""
    result_keys: frozenset[str]
    model: str | None
    tools: tuple[str, ...]
    likeness: tuple[object, ...]
    """What two attempts at the same call have in common."""
    mentions_prompt: bool
    asks_after_answer: bool


def _ms(began: float, ended: float | None) -> float | None:
    return None if ended is None else round((ended - began) * 1000, 3)


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
    """What an instruction said that one of them matches."""
    stray_request: str | None = None
    """The first request that leads to no model: method and path."""
    key: str = field(default_factory=lambda: f"ghx-{secrets.token_hex(16)}", repr=False)
    _calls: list[CallInProgress] = field(default_factory=list[CallInProgress])
    _prompts: list[str] = field(default_factory=list[str])
    _refusal: MeasurementError | None = None
    _turns: int = 0

    def expect_prompt(self, text: str) -> None:
        """Say what the agent is about to be asked: calls about something else are side calls."""
        self._prompts.append(text)

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """All calls so far, in the order in which they began."""
        now, calls = self.clock.monotonic(), list(self._calls)
        sides = find_sides(calls, self.model)
        return tuple(call.record(now, side=side) for call, side in zip(calls, sides, strict=True))

    @property
    def call_count(self) -> int:
        """How many calls there were so far; cheaper than `calls`, for those who look again and again."""
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

    def verdict(self) -> MeasurementError | None:
        """Return who is to blame if the model did not answer, as an error to raise; `None` if it did.

        To be asked when the agent has ended its turn, or has been stopped. The last call of the conversation decides:
        agents also end a turn with a provider's error as their answer. A call that was given up decides only if
        nothing had come of it, and then the one before it. In a replay, any call of the conversation decides that is
        not in the recording; side calls do not, since they come at other times in each run.
        """
        if self._refusal is not None:
            return self._refusal
        replayed = [call.replayed for call in self.main_calls if call.replayed is not None]
        if diverged := [each for each in replayed if each.verdict == "divergence"]:
            count = f"{len(diverged)} of {plural(len(replayed), 'model call')}"
            return ReplayDivergedError(f"{count} not in the recording; the first: {diverged[0]}")
        calls = [call for call in self.main_calls if call.error_kind != "abandoned" or call.response_bytes]
        if not calls or not calls[-1].has_failed:
            return None
        last = calls[-1]
        # An agent whose requests were answered before has itself made one that cannot be.
        has_worked = any(not call.has_failed for call in calls)
        if last.status in _ERRORS_OF_REQUESTS and has_worked and not _OF_ACCOUNTS.search(last.error or ""):
            return None
        status = "" if last.status is None else f" ({last.status})"
        tries = f" after {last.attempt} attempts" if last.attempt > 1 else ""
        message = f"the model's provider failed{tries}{status}: {last.error}"
        if last.error_kind in ("authentication", "request"):
            return ModelProviderError(message)
        return TransientError(message, cause=Cause.MODEL_PROVIDER, retry_after_s=last.retry_after_s)

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
        # Of a call that failed nothing was read: what it told is told again, and first known by the next attempt.
        told = [each.asked.result_keys for each in self._calls if each.asked is not None and not each.has_failed]
        seen = set[str]().union(*told)
        call.asked = asked = _Asked(
            fields={
                "model_asked": request.model,
                "streamed": request.is_streamed,
                "anatomy": request.anatomy,
                "tools_offered": request.tools_offered,
                "tool_result_count": len(results),
                "tool_results": tuple(each for key, each in zip(keys, results, strict=True) if key not in seen),
                "settings": request.settings,
            },
            result_keys=frozenset(keys),
            model=request.model,
            tools=request.tools_offered,
            likeness=(request.wire, request.model, len(request.pieces), len(results), request.tools_offered),
            mentions_prompt=not self._prompts or request.mentions(self._prompts),
            asks_after_answer=bool(self._prompts) and request.asks_after_answer(self._prompts),
        )
        self.unfit_words = self.unfit_words or request.find_instruction(self.unfit_if)
        for earlier in reversed(self._calls[: call.number - 1]):
            if earlier.asked is not None and earlier.asked.likeness == asked.likeness:
                if earlier.error_kind is not None or earlier.has_failed:
                    call.retry_of, call.attempt = earlier.retry_of or earlier.number, earlier.attempt + 1
                break

    def refuse_by_budget(self, call: CallInProgress, read: Callable[[], ModelRequest]) -> str | None:
        """Return why a call is over budget; `None` if it is not, and then it is counted.

        Only where turns are limited is the request read for that: reading takes time that the agent would wait.
        """
        scopes = ((self.spending, BudgetExhaustedError), (self.run_spending, RunBudgetError))
        is_main = True
        if any(spending.budget.max_turns is not None for spending, _ in scopes):
            self.take_request(call, read())
            self._count_turns()
            is_main = find_sides(self._calls, self.model)[call.number - 1] is None
        for spending, error in scopes:
            refusal = spending.find_refusal(is_main=is_main)
            if refusal is not None:
                self._refusal = self._refusal or error(refusal)
                return refusal
        for spending, _ in scopes:
            spending.begin_call()
        return None

    def end_call(self, call: CallInProgress) -> None:
        """Note that a call is over."""
        call.ended = self.clock.monotonic()
        limited = [each for each in (self.spending, self.run_spending) if each.budget.is_limited]
        if limited and call.status is not None and call.error_kind != "budget":
            record = call.record(call.ended, side=find_sides(self._calls, self.model)[call.number - 1])
            for spending in limited:
                spending.end_call(record, self.model)
            self._count_turns()

    def _count_turns(self) -> None:
        """Count the answered calls of the conversation anew: a later call may show that one was beside it."""
        sides = find_sides(self._calls, self.model)
        turns = sum(side is None and call.has_answered for call, side in zip(self._calls, sides, strict=True))
        for spending in (self.spending, self.run_spending):
            spending.turns += turns - self._turns
        self._turns = turns


def find_sides(calls: Sequence[CallInProgress], model: str | None) -> list[SideReason | None]:
    """Return why each call is a side call, or `None` for the calls of the conversation.

    Titles, suggestions, classifiers and memory are asked for beside the conversation, at times before it, so that only
    all calls together show which are which.
    """
    read = [call.asked for call in calls if call.asked is not None]
    with_tools = [asked for asked in read if asked.tools]
    ours = [asked for asked in with_tools if asked.mentions_prompt and _is_model(asked.model, model)]
    first = next(iter(ours or with_tools or read), None)
    return [
        None if call.asked is None or first is None else _find_side(call.asked, first, has_tools=bool(with_tools))
        for call in calls
    ]


def _find_side(asked: _Asked, first: _Asked, *, has_tools: bool) -> SideReason | None:
    if has_tools and not asked.tools:
        return "no_tools"
    if asked.model != first.model:
        return "other_model"
    # A conversation that was compacted may have lost the prompt; it still has its tools.
    is_elsewhere = not asked.mentions_prompt and asked.tools != first.tools
    return "other_prompt" if asked.asks_after_answer or is_elsewhere else None


def _is_model(asked: str | None, model: str | None) -> bool:
    return model is None or asked is None or model == asked or model.endswith(f"/{asked}")
