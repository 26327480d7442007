"""The record of one call of a model, as seen on its way to the provider; the same for all wires."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import JsonValue

from ghx_base.wire import OMITTABLE, Count, ForeignModel, Number
from ghx_profiler.records.metrics import TokenUsage

WireKind = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
"""The protocol of a call: chat completions, Responses, Messages, or generateContent."""

SideReason = Literal["no_tools", "other_model", "other_prompt"]
"""Why a call is not one of the conversation: it offers no tools, asks another model, or is about something else."""

CallErrorKind = Literal[
    "rate_limit", "overloaded", "server", "authentication", "request", "connection", "stream", "abandoned", "budget"
]
"""What went wrong with a call.

`connection` is a provider that could not be reached or hung up, `stream` an error inside an answer that had begun
(but `request` for a request that cannot be answered),
`abandoned` an agent that stopped listening, and `budget` a call that was never let through.
"""


class RequestAnatomy(ForeignModel):
    """Bytes of a request by purpose; a tokenizer would be needed for tokens."""

    instructions: Count = 0
    """The system prompt, and other messages that speak for the system."""
    tool_schemas: Count = 0
    conversation: Count = 0
    """Messages of the user and the model, including the tool calls of the model."""
    tool_results: Count = 0


class RequestedToolCall(ForeignModel):
    """A tool call that the model requested; `arguments` are text if they are not JSON."""

    id: str | None = None
    name: str
    arguments: JsonValue = None


class SeenToolResult(ForeignModel):
    """A tool's result as the model saw it; `failed` is `None` if the wire has no flag."""

    id: str | None = None
    name: str | None = None
    text: str
    failed: bool | None = None


class ModelSettings(ForeignModel):
    """What a request sets; `None` leaves it to the provider."""

    temperature: Number | None = None
    top_p: Number | None = None
    max_output_tokens: Count | None = None
    effort: str | None = None
    """How much the model is to think: a word, or a number of tokens in digits."""
    seed: int | None = None


class ReplayedCall(ForeignModel):
    """How a call that was answered from a recording compares to the one that was recorded."""

    verdict: Literal["exact", "blind_spot", "divergence"]
    blind_spots: tuple[str, ...] = ()
    """The names of what is different in it and does not count."""
    recorded: Annotated[str | None, OMITTABLE] = None
    asked: Annotated[str | None, OMITTABLE] = None
    """In a divergence, both texts around the first place where they differ."""

    def __str__(self) -> str:
        match self.verdict:
            case "exact":
                return "exact"
            case "blind_spot":
                return f"equal but for {', '.join(self.blind_spots)}"
            case "divergence":
                return f"the recording has {self.recorded!r}, the agent asked {self.asked!r}"


class ModelCall(ForeignModel):
    """One call of a model: its request, answer, time and usage.

    `usage` follows the convention of `TokenUsage` on every wire. It is all `None` where the answer was cut before the
    provider had reported it; the usage reported until then is `usage_at_least`.
    """

    number: Count
    """From 1, in the order in which the calls of a session began."""
    wire: WireKind
    model_asked: str | None = None
    model_answered: str | None = None
    side: SideReason | None = None
    """`None` for the calls of the conversation itself."""
    started_at: str
    """When the request was there, in UTC."""
    time_to_first_token_ms: Number | None = None
    """Until the first piece of the answer that holds text, thought or a tool call."""
    duration_ms: Number | None = None
    streamed: bool | None = None
    status: Count | None = None
    """Of the HTTP response; `None` without one."""
    error_kind: CallErrorKind | None = None
    error: str | None = None
    retry_after_s: Annotated[Number | None, OMITTABLE] = None
    retry_of: Annotated[Count | None, OMITTABLE] = None
    """The number of the first call of which this one is another attempt."""
    attempt: Count = 1
    cut: bool = False
    """Whether the answer ended before the provider had reported its usage."""
    stop_reason: str | None = None
    usage: TokenUsage = TokenUsage()
    usage_at_least: Annotated[TokenUsage | None, OMITTABLE] = None
    usage_estimated: Annotated[TokenUsage | None, OMITTABLE] = None
    """An estimate by the size of request and answer, if the provider did not report all tokens."""
    request_bytes: Count = 0
    response_bytes: Count = 0
    anatomy: RequestAnatomy = RequestAnatomy()
    tools_offered: tuple[str, ...] = ()
    tool_calls: tuple[RequestedToolCall, ...] = ()
    tool_result_count: Count = 0
    """How many tool results the request holds, those of earlier calls included."""
    tool_results: tuple[SeenToolResult, ...] = ()
    """The results that were in no earlier call of the session."""
    settings: ModelSettings = ModelSettings()
    replayed: Annotated[ReplayedCall | None, OMITTABLE] = None
    """In a replay: how the call compares to the recorded one."""

    @property
    def has_failed(self) -> bool:
        """Whether no answer came of it that an agent can use; one that the agent itself gave up did not fail."""
        return self.error_kind not in (None, "abandoned")

    @property
    def has_used_tokens(self) -> bool:
        """Whether it used any, known or not: calls that failed before an answer began did not."""
        return self.cut or not self.has_failed or self.usage.total is not None


def usage_of(calls: Iterable[ModelCall]) -> TokenUsage:
    """Return the tokens of several calls together; a part that one of them does not report is unknown."""
    return add_usage(call.usage for call in calls if call.has_used_tokens)


def add_usage(usages: Iterable[TokenUsage]) -> TokenUsage:
    """Return the sum of tokens; a part that one of them does not report is unknown."""
    parts = list(usages)
    if not parts:
        return TokenUsage()
    # Part by part, totals as well: wires differ in the parts they report, not in their sum.
    columns = {part: [getattr(usage, part) for usage in parts] for part in TokenUsage.model_fields}
    return TokenUsage(**{part: None if None in column else sum(column) for part, column in columns.items()})


def usage_at_least(calls: Iterable[ModelCall]) -> TokenUsage:
    """Return the tokens that calls used for certain: of a cut answer, the usage reported until then."""
    usages = [call.usage_at_least or TokenUsage() if call.cut else call.usage for call in calls]
    return TokenUsage(**{part: sum(getattr(usage, part) or 0 for usage in usages) for part in TokenUsage.model_fields})


def usage_estimated(calls: Iterable[ModelCall]) -> TokenUsage:
    """Return the tokens that calls used, for a budget: of a call that did not report them, the estimate."""
    usages = [call.usage_estimated or call.usage for call in calls]
    return TokenUsage(**{part: sum(getattr(usage, part) or 0 for usage in usages) for part in TokenUsage.model_fields})
