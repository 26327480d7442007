"""Gemini's generateContent and streamGenerateContent."""

from collections.abc import Iterator

from pydantic_core import to_json

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
    size_of,
)
from ghx_profiler.agents.wires.model_request import ModelRequest, Piece
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import ModelSettings, RequestedToolCall


def read_request(body: JsonObject, *, model: str | None, is_streamed: bool) -> ModelRequest:
    """Return what a request for content holds; its model, and whether it streams, stand in the address."""
    tools, system, config = as_objects(body.get("tools")), body.get("systemInstruction"), body.get("generationConfig")
    settings = as_object(config)
    thinking = as_object(settings.get("thinkingConfig"))
    budget = as_integer(thinking.get("thinkingBudget"))  # -1: as much as the model thinks right
    first = [Piece(kind="instructions", size=size_of(system), text=_text(as_object(system)))] if system else []
    return ModelRequest(
        wire="gemini",
        model=model,
        is_streamed=is_streamed,
        pieces=(*first, *(piece for content in as_objects(body.get("contents")) for piece in _pieces(content))),
        tools_offered=tuple(
            name
            for tool in tools
            for each in as_objects(tool.get("functionDeclarations"))
            if (name := as_text(each.get("name"))) is not None
        ),
        tool_schema_bytes=size_of(tools) if tools else 0,
        settings=ModelSettings(
            temperature=as_number(settings.get("temperature")),
            top_p=as_number(settings.get("topP")),
            max_output_tokens=as_count(settings.get("maxOutputTokens")),
            effort=as_text(thinking.get("thinkingLevel")) or (None if budget is None else str(budget)),
            seed=as_integer(settings.get("seed")),
        ),
    )


def _text(content: JsonObject) -> str:
    return flatten(content.get("parts"))


def _pieces(content: JsonObject) -> Iterator[Piece]:
    is_model = content.get("role") == "model"
    for part in as_objects(content.get("parts")):
        size = size_of(part)
        if "functionResponse" in part:
            yield _result(as_object(part["functionResponse"]), size)
        elif "functionCall" in part:
            call = as_object(part["functionCall"])
            yield Piece(kind="call", size=size, id=as_text(call.get("id")), name=as_text(call.get("name")))
        elif part.get("thought") is True:
            yield Piece(kind="thought", size=size)
        else:
            yield Piece(kind="answer" if is_model else "user", size=size, text=as_text(part.get("text")) or "")


def _result(result: JsonObject, size: int) -> Piece:
    response, call, name = as_object(result.get("response")), as_text(result.get("id")), as_text(result.get("name"))
    # Clients put a tool's output under one of these two keys; other values are passed on unchanged.
    for key in ("output", "error"):
        if list(response) == [key] and isinstance(text := response[key], str):
            return Piece(kind="result", size=size, text=text, id=call, name=name, failed=key == "error")
    return Piece(kind="result", size=size, text=to_json(response).decode(), id=call, name=name)


class ContentReader(AnswerReader):
    """Reads generated content; each event of a stream has the shape of a whole answer."""

    def __init__(self, *, is_stream: bool) -> None:
        super().__init__(is_stream=is_stream)
        self._usage: JsonObject = {}
        self._calls: list[JsonObject] = []

    def see(self, event: JsonObject) -> None:
        """Take a part of the answer."""
        self.model = as_text(event.get("modelVersion")) or self.model
        self._usage = as_object(event.get("usageMetadata")) or self._usage
        if event.get("error"):
            self.take_error(event["error"])
        for candidate in as_objects(event.get("candidates"))[:1]:
            for part in as_objects(as_object(candidate.get("content")).get("parts")):
                self.has_begun = self.has_begun or "functionCall" in part or bool(part.get("text"))
                self.count_output(part.get("text"), part.get("functionCall"))
                self._calls += [as_object(part["functionCall"])] if "functionCall" in part else []
            self.stop_reason = as_text(candidate.get("finishReason")) or self.stop_reason
        blocked = as_text(as_object(event.get("promptFeedback")).get("blockReason"))
        self.stop_reason = self.stop_reason or blocked
        # Counts come with every event, and grow; they are final where the answer ends.
        self.has_ended = self.stop_reason is not None

    def see_whole(self, answer: JsonObject) -> None:
        """Take an answer, or one of a list of events."""
        self.see(answer)

    @property
    def usage(self) -> TokenUsage | None:
        """The reported tokens; cached tokens are part of the prompt, thoughts are not part of the candidates."""
        input_tokens = as_count(self._usage.get("promptTokenCount"))
        if input_tokens is None:
            return None
        # A count of zero is left out on this wire.
        cached, thoughts, answered, tools = (
            as_count(self._usage.get(f"{name}TokenCount")) or 0
            for name in ("cachedContent", "thoughts", "candidates", "toolUsePrompt")
        )
        return TokenUsage.of(
            input=max(input_tokens - cached, 0) + tools, cache_read=cached, output=answered, reasoning=thoughts
        )

    @property
    def tool_calls(self) -> tuple[RequestedToolCall, ...]:
        """The tool calls among the parts."""
        return tuple(
            RequestedToolCall(
                id=as_text(call.get("id")), name=as_text(call.get("name")) or "", arguments=call.get("args")
            )
            for call in self._calls
        )
