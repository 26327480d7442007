"""A model call in progress, and which calls of a session are not part of its conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from ghx_profiler.agents.wires.answer_reader import AnswerReader
from ghx_profiler.agents.wires.protocol import Route
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import CallErrorKind, ModelCall, ReplayedCall, SideReason

_BYTES_PER_TOKEN = 4
"""Of English, code and JSON alike, about; tokenizers differ, and an estimate is all that is wanted."""


@dataclass(slots=True, kw_only=True)
class CallInProgress:
    """A model call in progress; `record` returns what is known of it at any moment."""

    number: int
    route: Route
    started_at: str
    began: float
    request_bytes: int
    summary: "RequestSummary | None" = None
    """What the request holds; `None` until it was read."""
    retry_of: int | None = None
    attempt: int = 1
    first_token: float | None = None
    last_byte: float | None = None
    ended: float | None = None
    status: int | None = None
    reader: AnswerReader | None = None
    response_bytes: int = 0
    error_kind: CallErrorKind | None = None
    error: str | None = None
    retry_after_s: float | None = None
    has_foreign_key: bool = False
    """Whether it came with another key than that of its session, and was refused for that."""
    replayed: ReplayedCall | None = None

    @property
    def has_failed(self) -> bool:
        """Whether it is known that no answer comes of it which an agent can use."""
        return self.error_kind not in {None, "abandoned"} or (self.reader is not None and self.reader.error is not None)

    @property
    def is_given_up(self) -> bool:
        """Whether the agent has stopped listening before its answer was complete, or still waits for it."""
        if self.error_kind is not None or self.has_failed:
            return self.error_kind == "abandoned"
        return self.ended is None and not (self.reader is not None and self.reader.has_ended)

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
        if self.summary is not None:
            fields |= self.summary.fields
        return ModelCall.model_validate(fields | self._answer_fields()).with_all_keys()

    def _answer_fields(self) -> dict[str, object]:
        reader, kind, error = self.reader, self.error_kind, self.error
        has_ended = reader is not None and reader.has_ended
        if kind is None and reader is not None and reader.error is not None:
            kind, error = "request" if reader.is_request_refused else "stream", reader.error
        if kind is None and self.ended is None and not has_ended:
            kind, error = "abandoned", "still going on when the session was over"
        usage = None if reader is None else reader.usage
        # An answer that an error ends has been worked for until then, whatever the stream sends after it.
        is_broken = reader is not None and reader.has_begun and reader.error is not None and usage is None
        # Without any answer an agent's giving up is a cut, too: the provider may well have worked for it.
        is_cut = is_broken or (not has_ended and (reader is not None or kind == "abandoned"))
        fields: dict[str, object] = {"error_kind": kind, "error": error, "cut": is_cut}
        if is_cut:
            fields["usage_at_least"] = usage or TokenUsage.of(input=0, output=0, cache_read=0)
        elif usage is not None:
            fields["usage"] = usage
        if is_cut or (usage is None and kind is None):
            fields["usage_estimated"] = self._estimate_usage(usage)
        if reader is not None:
            fields |= {
                "model_answered": reader.model,
                "stop_reason": reader.stop_reason,
                "tool_calls": reader.tool_calls,
            }
        return fields

    def _estimate_usage(self, reported: TokenUsage | None) -> TokenUsage:
        """Return the tokens of a call by its size, and for the answer at least those reported before it was cut."""
        answered = 0 if self.reader is None else self.reader.said_bytes // _BYTES_PER_TOKEN
        if reported is None or reported.total is None:
            return TokenUsage.of(input=self.request_bytes // _BYTES_PER_TOKEN, output=answered, cache_read=0)
        return TokenUsage.of(
            input=reported.input,
            cache_read=reported.cache_read or 0,
            cache_write=reported.cache_write,
            output=max((reported.output or 0) + (reported.reasoning or 0), answered),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSummary:
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


def find_sides(calls: Sequence[CallInProgress], model: str | None) -> list[SideReason | None]:
    """Return why each call is a side call, or `None` for the calls of the conversation.

    Calls for titles, suggestions, classifiers and memory are not part of the conversation, and may come before it, so
    that only all calls together show which are which.
    """
    read = [call.summary for call in calls if call.summary is not None]
    with_tools = [request for request in read if request.tools]
    ours = [asked for asked in with_tools if asked.mentions_prompt and _is_model(asked.model, model)]
    first = next(iter(ours or with_tools or read), None)
    return [
        None if call.summary is None or first is None else _find_side(call.summary, first, has_tools=bool(with_tools))
        for call in calls
    ]


def _find_side(request: RequestSummary, first: RequestSummary, *, has_tools: bool) -> SideReason | None:
    if has_tools and not request.tools:
        return "no_tools"
    if request.model != first.model:
        return "other_model"
    # A conversation that was compacted may have lost the prompt; it still has its tools.
    is_elsewhere = not request.mentions_prompt and request.tools != first.tools
    return "other_prompt" if request.asks_after_answer or is_elsewhere else None


def _is_model(name: str | None, model: str | None) -> bool:
    return model is None or name is None or model == name or model.endswith(f"/{name}")
