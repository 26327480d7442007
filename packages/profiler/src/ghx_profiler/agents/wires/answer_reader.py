"""Reading what a model answers as it passes by: tokens, tool calls, and whether it came to its end."""

from abc import ABC, abstractmethod

from ghx_base.wire import JsonObject
from ghx_profiler.agents.wires.loose_json import as_object, as_text, parse_object, parse_objects, size_of
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import RequestedToolCall

_LONGEST_EVENT = 64 * 2**20
# The codes of OpenAI, the types of Anthropic, and the status of Gemini.
_OF_REQUESTS = frozenset(
    {
        "context_length_exceeded",
        "invalid_prompt",
        "string_above_max_length",
        "invalid_request_error",
        "request_too_large",
        "INVALID_ARGUMENT",
        "400",
        "413",
        "422",
    }
)


class AnswerReader(ABC):
    """Takes the bytes of one successful answer, streamed or whole; each wire implements the parsing.

    `feed` for each piece of the body, `end` after the last. Bytes that make no sense are passed over: the agent gets
    them as they are, and has to complain itself.
    """

    def __init__(self, *, is_stream: bool) -> None:
        self.model: str | None = None
        self.stop_reason: str | None = None
        self.error: str | None = None
        self.is_request_refused = False
        """Whether the error is about the request, such as one that is too long."""
        self.said_bytes = 0
        """How much of text, thoughts and tool calls was seen."""
        self.has_begun = False
        """Whether any text, thought or tool call was seen."""
        self.has_ended = False
        """Whether the provider sent the end of the answer."""
        self._is_stream = is_stream
        self._rest = bytearray()
        self._data: list[bytes] = []

    @property
    @abstractmethod
    def usage(self) -> TokenUsage | None:
        """The tokens reported so far; `None` before the first report."""

    @property
    @abstractmethod
    def tool_calls(self) -> tuple[RequestedToolCall, ...]:
        """The tool calls that the model has requested so far."""

    @abstractmethod
    def see(self, event: JsonObject) -> None:
        """Take one event of a stream."""

    @abstractmethod
    def see_whole(self, answer: JsonObject) -> None:
        """Take an answer that was not streamed."""

    def take_error(self, error: object) -> None:
        """Record an error that a provider reports inside an answer."""
        fields = as_object(error)
        self.error = as_text(fields.get("message")) or (str(error) if error else "the stream holds an error")
        self.is_request_refused = any(str(fields.get(key)) in _OF_REQUESTS for key in ("code", "type", "status"))

    def count_output(self, *values: object) -> None:
        """Count the model's output: text as it is, and other values as JSON."""
        for value in values:
            self.said_bytes += len(value.encode()) if isinstance(value, str) else size_of(value) if value else 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._rest += data
        if not self._is_stream or b"\n" not in data:
            if len(self._rest) > _LONGEST_EVENT:
                self._rest.clear()
            return
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            self._take_line(line.removesuffix(b"\r"))

    def end(self) -> None:
        """Take note that the body is complete."""
        if self._is_stream:
            self._take_line(bytes(self._rest))
            self._take_line(b"")
        else:
            for each in parse_objects(self._rest):
                self.see_whole(each)
        self._rest.clear()

    def _take_line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            data = b"\n".join(self._data)
            self._data.clear()
            if data == b"[DONE]":  # of chat completions, and of no other wire
                self.has_ended = True
            elif event := parse_object(data):
                self.see(event)
