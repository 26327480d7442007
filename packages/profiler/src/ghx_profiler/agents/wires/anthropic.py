"""Anthropic Messages."""

from collections.abc import Iterator

from ghx_base.wire import JsonObject
from ghx_profiler.agents.wires.answer_reader import AnswerReader
from ghx_profiler.agents.wires.loose_json import (
    as_count,
    as_number,
    as_object,
    as_objects,
    as_text,
    flatten,
    parse_arguments,
    size_of,
)
from ghx_profiler.agents.wires.model_request import ModelRequest, Piece
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelSettings, RequestedToolCall


def read_request(body: JsonObject) -> ModelRequest:
    """Return what a request for a message holds."""
    tools, system = as_objects(body.get("tools")), body.get("system")
    first = [Piece(kind="instructions", size=size_of(system), text=flatten(system))] if system else []
    thinking = as_object(body.get("thinking"))
    budget = as_count(thinking.get("budget_tokens"))
    return ModelRequest(
        wire="anthropic",
        model=as_text(body.get("model")),
        is_streamed=body.get("stream") is True,
        pieces=(*first, *(piece for message in as_objects(body.get("messages")) for piece in _pieces(message))),
        tools_offered=tuple(filter(None, (as_text(tool.get("name")) for tool in tools))),
        tool_schema_bytes=size_of(tools) if tools else 0,
        settings=ModelSettings(
            temperature=as_number(body.get("temperature")),
            top_p=as_number(body.get("top_p")),
            max_output_tokens=as_count(body.get("max_tokens")),
            effort=as_text(as_object(body.get("output_config")).get("effort")) or (str(budget) if budget else None),
        ),
    )


def _pieces(message: JsonObject) -> Iterator[Piece]:
    content, is_user = message.get("content"), message.get("role") == "user"
    if isinstance(content, str):
        yield Piece(kind="user" if is_user else "answer", size=size_of(content), text=content)
    for block in as_objects(content):
        yield _piece(block, is_user=is_user)


def _piece(block: JsonObject, *, is_user: bool) -> Piece:
    size = size_of(block)
    match block.get("type"):
        case "tool_result":
            text, call = flatten(block.get("content")), as_text(block.get("tool_use_id"))
            return Piece(kind="result", size=size, text=text, id=call, failed=block.get("is_error") is True)
        case "tool_use":
            return Piece(kind="call", size=size, id=as_text(block.get("id")), name=as_text(block.get("name")))
        case "thinking" | "redacted_thinking":
            return Piece(kind="thought", size=size)
        case _:
            return Piece(kind="user" if is_user else "answer", size=size, text=as_text(block.get("text")) or "")


class MessagesReader(AnswerReader):
    """Reads a message; input tokens are reported at its beginning, output tokens at its end."""

    def __init__(self, *, is_stream: bool) -> None:
        super().__init__(is_stream=is_stream)
        self._usage: JsonObject = {}
        self._blocks: dict[int, JsonObject] = {}
        self._arguments: dict[int, list[str]] = {}

    def see(self, event: JsonObject) -> None:
        """Take an event."""
        index = as_count(event.get("index")) or 0
        match event.get("type"):
            case "message_start":
                self._take_message(as_object(event.get("message")))
            case "content_block_start":
                self._blocks[index] = as_object(event.get("content_block"))
                self.has_begun = True
            case "content_block_delta":
                delta = as_object(event.get("delta"))
                self._arguments.setdefault(index, []).append(as_text(delta.get("partial_json")) or "")
                self.count_output(*(delta.get(key) for key in ("text", "thinking", "partial_json")))
            case "message_delta":
                self.stop_reason = as_text(as_object(event.get("delta")).get("stop_reason")) or self.stop_reason
                self._take_usage(event)
            case "message_stop":
                self.has_ended = True
            case "error":
                self.take_error(event.get("error"))
            case _:
                pass  # `ping`, and what is yet to come

    def see_whole(self, answer: JsonObject) -> None:
        """Take a message."""
        self._take_message(answer)
        self._blocks = dict(enumerate(as_objects(answer.get("content"))))
        self.has_begun, self.has_ended = bool(self._blocks), "content" in answer
        self.count_output(*self._blocks.values())
        self.stop_reason = as_text(answer.get("stop_reason"))

    @property
    def usage(self) -> TokenUsage | None:
        """The reported tokens; input excludes what a cache served or took, and reasoning is part of the output."""
        input_tokens, output_tokens = (
            as_count(self._usage.get("input_tokens")),
            as_count(self._usage.get("output_tokens")),
        )
        if input_tokens is None or output_tokens is None:
            return None
        return TokenUsage.of(
            input=input_tokens,
            cache_read=as_count(self._usage.get("cache_read_input_tokens")) or 0,
            cache_write=as_count(self._usage.get("cache_creation_input_tokens")) or 0,
            output=output_tokens,
        )

    @property
    def tool_calls(self) -> tuple[RequestedToolCall, ...]:
        """The tool calls among the blocks; those that the provider runs itself do not count."""
        return tuple(
            RequestedToolCall(
                id=as_text(block.get("id")),
                name=as_text(block.get("name")) or "",
                arguments=parse_arguments(pieces) if pieces else block.get("input"),
            )
            for index, block in self._blocks.items()
            if block.get("type") == "tool_use"
            for pieces in ["".join(self._arguments.get(index, ()))]
        )

    def _take_message(self, message: JsonObject) -> None:
        self.model = as_text(message.get("model")) or self.model
        self._take_usage(message)

    def _take_usage(self, event: JsonObject) -> None:
        usage = as_object(event.get("usage"))
        self._usage = {**self._usage, **{key: value for key, value in usage.items() if value is not None}}
