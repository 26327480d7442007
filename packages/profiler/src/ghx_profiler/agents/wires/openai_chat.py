"""OpenAI chat completions, which most other providers and local servers speak too."""

from collections.abc import Iterator

from ghx_base.wire import JsonObject
from ghx_profiler.agents.wires.answer_reader import AnswerReader
from ghx_profiler.agents.wires.loose_json import (
    as_count,
    as_integer,
    as_number,
    as_object,
    as_objects,
    as_text,
    flatten,
    parse_arguments,
    size_of,
)
from ghx_profiler.agents.wires.model_request import ModelRequest, Piece, PieceKind
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelSettings, RequestedToolCall

KINDS_BY_ROLE: dict[object, PieceKind] = {
    "system": "instructions",
    "developer": "instructions",
    "assistant": "answer",
}
"""Message kinds by role, in both of OpenAI's protocols; any other role is the user."""


def read_request(body: JsonObject) -> ModelRequest:
    """Return what a request for a chat completion holds."""
    tools = as_objects(body.get("tools"))
    return ModelRequest(
        wire="openai-chat",
        model=as_text(body.get("model")),
        is_streamed=body.get("stream") is True,
        pieces=tuple(piece for message in as_objects(body.get("messages")) for piece in _pieces(message)),
        tools_offered=tuple(filter(None, map(_tool_name, tools))),
        tool_schema_bytes=size_of(tools) if tools else 0,
        settings=ModelSettings(
            temperature=as_number(body.get("temperature")),
            top_p=as_number(body.get("top_p")),
            max_output_tokens=as_count(body.get("max_completion_tokens")) or as_count(body.get("max_tokens")),
            effort=as_text(body.get("reasoning_effort")) or as_text(as_object(body.get("reasoning")).get("effort")),
            seed=as_integer(body.get("seed")),
        ),
    )


def _tool_name(tool: JsonObject) -> str | None:
    return as_text(as_object(tool.get("function") or tool.get("custom")).get("name"))


def _pieces(message: JsonObject) -> Iterator[Piece]:
    role, text = message.get("role"), flatten(message.get("content"))
    if role == "tool":
        yield Piece(kind="result", size=size_of(message), text=text, id=as_text(message.get("tool_call_id")))
        return
    calls = as_objects(message.get("tool_calls"))
    spoken = {key: value for key, value in message.items() if key != "tool_calls"} if calls else message
    if text or not calls:
        yield Piece(kind=KINDS_BY_ROLE.get(role, "user"), size=size_of(spoken), text=text)
    for call in calls:
        yield Piece(kind="call", size=size_of(call), id=as_text(call.get("id")), name=_tool_name(call))


class ChatReader(AnswerReader):
    """Reads a chat completion; usage comes in a separate last event, and only on request."""

    def __init__(self, *, is_stream: bool) -> None:
        super().__init__(is_stream=is_stream)
        self._usage: JsonObject = {}
        self._calls: dict[int, tuple[str | None, str, list[str]]] = {}

    def see(self, event: JsonObject) -> None:
        """Take a chunk."""
        self.model = as_text(event.get("model")) or self.model
        self._usage = as_object(event.get("usage")) or self._usage
        if event.get("error"):  # some servers send `null` with every chunk
            self.take_error(event["error"])
        for choice in as_objects(event.get("choices"))[:1]:
            self._take_message(as_object(choice.get("delta") or choice.get("message")))
            self.stop_reason = as_text(choice.get("finish_reason")) or self.stop_reason
        # Some servers leave `[DONE]` out; what counts is that nothing more is to come.
        self.has_ended = self.has_ended or (self.stop_reason is not None and bool(self._usage))

    def see_whole(self, answer: JsonObject) -> None:
        """Take a completion."""
        self.see(answer)
        self.has_ended = "choices" in answer

    def end(self) -> None:
        """Take note that the body is complete; with a reason to stop it is an answer, though without usage."""
        super().end()
        self.has_ended = self.has_ended or self.stop_reason is not None

    @property
    def usage(self) -> TokenUsage | None:
        """The reported tokens; cached tokens are part of the prompt, and reasoning is part of the completion."""
        return openai_usage(self._usage, ("prompt_tokens", "completion_tokens"))

    @property
    def tool_calls(self) -> tuple[RequestedToolCall, ...]:
        """The tool calls, put together from their pieces."""
        return tuple(
            RequestedToolCall(id=call_id, name=name, arguments=parse_arguments("".join(pieces) or "{}"))
            for call_id, name, pieces in self._calls.values()
        )

    def _take_message(self, message: JsonObject) -> None:
        calls = as_objects(message.get("tool_calls"))
        texts = [message.get(key) for key in ("content", "reasoning_content", "reasoning", "refusal")]
        self.has_begun = self.has_begun or bool(calls) or any(texts)
        self.count_output(*texts)
        for position, call in enumerate(calls):
            index, function = as_count(call.get("index")), as_object(call.get("function") or call.get("custom"))
            call_id, name, pieces = self._calls.get(position if index is None else index, (None, "", []))
            pieces.append(as_text(function.get("arguments") or function.get("input")) or "")
            self.count_output(pieces[-1], function.get("name"))
            call_fields = (as_text(call.get("id")) or call_id, as_text(function.get("name")) or name, pieces)
            self._calls[position if index is None else index] = call_fields


def openai_usage(usage: JsonObject, names: tuple[str, str]) -> TokenUsage | None:
    """Return the tokens in an OpenAI usage object, whose two counts have these names."""
    input_tokens, output_tokens = (as_count(usage.get(name)) for name in names)
    if input_tokens is None or output_tokens is None:
        return None
    asked_parts, answered_parts = (as_object(usage.get(f"{name}_details")) for name in names)
    cached, written = as_count(asked_parts.get("cached_tokens")), as_count(asked_parts.get("cache_write_tokens"))
    reasoning = as_count(answered_parts.get("reasoning_tokens"))
    # A provider (xAI) counts reasoning in addition to the completion; only its total shows that.
    is_apart = bool(reasoning) and as_count(usage.get("total_tokens")) == input_tokens + output_tokens + (
        reasoning or 0
    )
    return TokenUsage.of(
        input=max(input_tokens - (cached or 0) - (written or 0), 0),
        cache_read=0 if cached is None and asked_parts else cached,
        cache_write=written,
        output=output_tokens if is_apart else max(output_tokens - (reasoning or 0), 0),
        reasoning=reasoning,
    )
