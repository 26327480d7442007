"""The OpenAI Responses API."""

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
from ghx_profiler.agents.wires.openai_chat import KINDS_BY_ROLE, openai_usage
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelSettings, RequestedToolCall

_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


def read_request(body: JsonObject) -> ModelRequest:
    """Return what a request for a response holds."""
    tools, instructions, items = as_objects(body.get("tools")), body.get("instructions"), body.get("input")
    first = [Piece(kind="instructions", size=size_of(instructions), text=flatten(instructions))] if instructions else []
    text_pieces = [Piece(kind="user", size=size_of(items), text=items)] if isinstance(items, str) else []
    return ModelRequest(
        wire="openai-responses",
        model=as_text(body.get("model")),
        is_streamed=body.get("stream") is True,
        pieces=(*first, *text_pieces, *map(_piece, as_objects(items))),
        tools_offered=tuple(name for tool in tools for name in _tool_names(tool)),
        tool_schema_bytes=size_of(tools) if tools else 0,
        settings=ModelSettings(
            temperature=as_number(body.get("temperature")),
            top_p=as_number(body.get("top_p")),
            max_output_tokens=as_count(body.get("max_output_tokens")),
            effort=as_text(as_object(body.get("reasoning")).get("effort")),
        ),
    )


def _tool_names(tool: JsonObject) -> Iterator[str]:
    name = as_text(tool.get("name")) or as_text(tool.get("type"))
    if tool.get("type") == "namespace":
        for each in as_objects(tool.get("tools")):
            yield f"{name}.{as_text(each.get('name')) or ''}"
    elif name is not None:
        yield name


def _piece(item: JsonObject) -> Piece:
    kind, size = item.get("type"), size_of(item)
    if kind in _CALLS:
        return Piece(kind="call", size=size, id=as_text(item.get("call_id")), name=_called_name(item))
    if kind in _RESULTS:
        return Piece(kind="result", size=size, text=flatten(item.get("output")), id=as_text(item.get("call_id")))
    if kind == "reasoning":
        return Piece(kind="thought", size=size)
    return Piece(kind=KINDS_BY_ROLE.get(item.get("role"), "user"), size=size, text=flatten(item.get("content")))


def _called_name(item: JsonObject) -> str:
    namespace, name = as_text(item.get("namespace")), as_text(item.get("name")) or ""
    return name if namespace is None else f"{namespace}.{name}"


class ResponsesReader(AnswerReader):
    """Reads a response; its last event holds the whole of it."""

    def __init__(self, *, is_stream: bool) -> None:
        super().__init__(is_stream=is_stream)
        self._usage: JsonObject = {}
        self._items: list[JsonObject] = []

    def see(self, event: JsonObject) -> None:
        """Take an event."""
        kind = as_text(event.get("type")) or ""
        if kind.endswith(".delta"):
            self.has_begun = True
            self.count_output(event.get("delta"))
        elif kind == "response.output_item.done":
            self.has_begun = True
            self._items.append(as_object(event.get("item")))
        elif kind == "error":
            self.take_error(event.get("error") or event)
        elif "response" in event:
            self._take_response(as_object(event["response"]), is_last=kind in _ENDS)

    def see_whole(self, answer: JsonObject) -> None:
        """Take a response."""
        self._take_response(answer, is_last="output" in answer)
        self.count_output(*self._items)

    @property
    def usage(self) -> TokenUsage | None:
        """The reported tokens; cached tokens are part of the input, and reasoning is part of the output."""
        return openai_usage(self._usage, ("input_tokens", "output_tokens"))

    @property
    def tool_calls(self) -> tuple[RequestedToolCall, ...]:
        """The tool calls among the items."""
        return tuple(
            RequestedToolCall(
                id=as_text(item.get("call_id")),
                name=_called_name(item),
                # A custom tool takes a text, whatever it looks like.
                arguments=item["input"] if "input" in item else parse_arguments(as_text(item.get("arguments")) or "{}"),
            )
            for item in self._items
            if item.get("type") in _CALLS
        )

    def _take_response(self, response: JsonObject, *, is_last: bool) -> None:
        self.model = as_text(response.get("model")) or self.model
        if not is_last:
            return
        self.has_ended = True
        self._usage = as_object(response.get("usage"))
        # Some servers send the items only one by one, others only here.
        self._items = as_objects(response.get("output")) or self._items
        self.has_begun = self.has_begun or bool(self._items)
        why = as_text(as_object(response.get("incomplete_details")).get("reason"))
        self.stop_reason = why or as_text(response.get("status"))
        if response.get("error"):
            self.take_error(response["error"])
