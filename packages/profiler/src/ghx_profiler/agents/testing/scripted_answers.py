"""Answers of a scripted model in the format of each wire: streamed or whole."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from ghx_base.wire import JsonObject
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import WireKind

Written = dict[str, object]
"""An object that is about to be JSON."""

_PIECE = 12
_CREATED = 1_700_000_000  # the same in every run, so that runs can be compared to the byte


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTokens:
    """Tokens that an answer claims; each wire reports the same sum in its own fields."""

    input: int
    """Without what a cache served."""
    cache_read: int = 0
    output: int = 0
    """Without reasoning."""
    reasoning: int = 0

    def as_metered(self, wire: WireKind) -> TokenUsage:
        """Return these tokens in the parts that a wire distinguishes."""
        match wire:
            case "anthropic":
                output = self.output + self.reasoning
                return TokenUsage.of(input=self.input, cache_read=self.cache_read, cache_write=0, output=output)
            case "openai-chat" | "openai-responses" | "gemini":
                return TokenUsage.of(
                    input=self.input, cache_read=self.cache_read, output=self.output, reasoning=self.reasoning
                )
            case _:
                assert_never(wire)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """One answer of a scripted model: a thought, a text, tool calls, and the tokens that it claims."""

    tokens: ScriptedTokens
    thought: str = ""
    text: str = ""
    calls: tuple[tuple[str, JsonObject], ...] = ()
    number: int = 0
    """Of the step; ids are made of it, so that they are the same in every run."""


def write_stream(wire: WireKind, answer: ScriptedAnswer, model: str) -> Iterator[bytes]:
    """Yield an answer as server-sent events."""
    match wire:
        case "openai-chat":
            yield from _chat_events(answer, model)
        case "openai-responses":
            yield from (_event(each, str(each["type"])) for each in _response_events(answer, model))
        case "anthropic":
            yield from (_event(each, str(each["type"])) for each in _message_events(answer, model))
        case "gemini":
            yield from map(_event, _content_events(answer, model))
        case _:
            assert_never(wire)


def write_whole(wire: WireKind, answer: ScriptedAnswer, model: str) -> Written:
    """Return an answer that is not streamed."""
    match wire:
        case "openai-chat":
            message: Written = {"role": "assistant", "content": answer.text or None}
            if answer.thought:
                message["reasoning_content"] = answer.thought
            if answer.calls:
                message["tool_calls"] = _chat_calls(answer)
            return _chat_object(answer, model, {"message": message, "finish_reason": _chat_end(answer)}) | {
                "object": "chat.completion",
                "usage": _openai_usage(answer.tokens, "prompt", "completion"),
            }
        case "openai-responses":
            return _response(answer, model, is_complete=True)
        case "anthropic":
            return _message(answer, model) | {
                "content": list(_blocks(answer)),
                "stop_reason": "tool_use" if answer.calls else "end_turn",
                "usage": _message_usage(answer.tokens),
            }
        case "gemini":
            return _content(answer, model, list(_parts(answer)), is_last=True)
        case _:
            assert_never(wire)


def _event(data: Written, name: str | None = None) -> bytes:
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> Iterator[str]:
    yield from (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _openai_usage(tokens: ScriptedTokens, input_name: str, output_name: str) -> Written:
    read, written = tokens.input + tokens.cache_read, tokens.output + tokens.reasoning
    return {
        f"{input_name}_tokens": read,
        f"{output_name}_tokens": written,
        "total_tokens": read + written,
        f"{input_name}_tokens_details": {"cached_tokens": tokens.cache_read},
        f"{output_name}_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _chat_object(answer: ScriptedAnswer, model: str, choice: Written | None) -> Written:
    choices: list[object] = [] if choice is None else [{"index": 0, **choice}]
    return {
        "id": f"chatcmpl-{answer.number}",
        "object": "chat.completion.chunk",
        "created": _CREATED,
        "model": model,
        "choices": choices,
    }


def _chat_calls(answer: ScriptedAnswer) -> list[object]:
    return [
        {
            "index": index,
            "id": f"call_{answer.number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(answer.calls)
    ]


def _chat_end(answer: ScriptedAnswer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _chat_events(answer: ScriptedAnswer, model: str) -> Iterator[bytes]:
    def chunk(delta: Written, end: str | None = None) -> bytes:
        return _event(_chat_object(answer, model, {"delta": delta, "finish_reason": end}))

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"reasoning_content": piece}) for piece in _pieces(answer.thought))
    yield from (chunk({"content": piece}) for piece in _pieces(answer.text))
    for index, (name, arguments) in enumerate(answer.calls):
        first: Written = {"name": name, "arguments": ""}
        begun: Written = {
            "index": index,
            "id": f"call_{answer.number}_{index}",
            "type": "function",
            "function": first,
        }
        yield chunk({"tool_calls": [begun]})
        for piece in _pieces(json.dumps(arguments)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _chat_end(answer))
    yield _event(_chat_object(answer, model, None) | {"usage": _openai_usage(answer.tokens, "prompt", "completion")})
    yield b"data: [DONE]\n\n"


def _response(answer: ScriptedAnswer, model: str, *, is_complete: bool) -> Written:
    response: Written = {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": _CREATED,
        "model": model,
        "status": "completed" if is_complete else "in_progress",
        "output": list(_items(answer)) if is_complete else [],
        "error": None,
        "incomplete_details": None,
    }
    return response | ({"usage": _openai_usage(answer.tokens, "input", "output")} if is_complete else {})


def _items(answer: ScriptedAnswer) -> Iterator[Written]:
    if answer.thought:
        summary: list[object] = [{"type": "summary_text", "text": answer.thought}]
        yield {"type": "reasoning", "id": f"rs_{answer.number}", "summary": summary}
    if answer.text:
        content: list[object] = [{"type": "output_text", "text": answer.text, "annotations": []}]
        yield {
            "type": "message",
            "id": f"msg_{answer.number}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    for index, (name, arguments) in enumerate(answer.calls):
        namespace, _, tool = name.rpartition(".")
        item: Written = {
            "type": "function_call",
            "id": f"fc_{answer.number}_{index}",
            "call_id": f"call_{answer.number}_{index}",
            "name": tool,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        yield item | ({"namespace": namespace} if namespace else {})


_EMPTIED: dict[str, Written] = {
    "reasoning": {"summary": []},
    "message": {"content": [], "status": "in_progress"},
    "function_call": {"arguments": ""},
}


def _response_events(answer: ScriptedAnswer, model: str) -> Iterator[Written]:
    events: list[Written] = [{"type": "response.created", "response": _response(answer, model, is_complete=False)}]
    for index, item in enumerate(_items(answer)):
        place: Written = {"output_index": index, "item_id": item["id"]}
        begun: Written = {**item, **_EMPTIED[str(item["type"])]}
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events += _item_events(item, answer, place)
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": _response(answer, model, is_complete=True)})
    yield from ({**event, "sequence_number": number} for number, event in enumerate(events))


def _item_events(item: Written, answer: ScriptedAnswer, place: Written) -> Iterator[Written]:
    match item["type"]:
        case "reasoning":
            at: Written = {**place, "summary_index": 0}
            part: Written = {"type": "summary_text", "text": ""}
            yield {"type": "response.reasoning_summary_part.added", **at, "part": part}
            for piece in _pieces(answer.thought):
                yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
        case "message":
            at = {**place, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            yield {"type": "response.content_part.added", **at, "part": part}
            for piece in _pieces(answer.text):
                yield {"type": "response.output_text.delta", **at, "delta": piece}
            yield {"type": "response.output_text.done", **at, "text": answer.text}
        case _:
            for piece in _pieces(str(item["arguments"])):
                yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}


def _message(answer: ScriptedAnswer, model: str) -> Written:
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _message_usage(tokens: ScriptedTokens) -> Written:
    return {
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": 0,
        "output_tokens": tokens.output + tokens.reasoning,
    }


def _blocks(answer: ScriptedAnswer) -> Iterator[Written]:
    if answer.thought:
        yield {"type": "thinking", "thinking": answer.thought, "signature": "c2ln"}
    if answer.text:
        yield {"type": "text", "text": answer.text}
    for index, (name, arguments) in enumerate(answer.calls):
        yield {"type": "tool_use", "id": f"toolu_{answer.number}_{index}", "name": name, "input": arguments}


def _message_events(answer: ScriptedAnswer, model: str) -> Iterator[Written]:
    # Like the real API: the output tokens reported first are not the final number.
    usage = _message_usage(answer.tokens)
    yield {"type": "message_start", "message": _message(answer, model) | {"usage": usage | {"output_tokens": 1}}}
    for index, block in enumerate(_blocks(answer)):
        begun, deltas = _block_events(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end: Written = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _block_events(block: Written) -> tuple[Written, list[Written]]:
    """Return a block as it begins, and the changes that make it what it is."""
    match block["type"]:
        case "thinking":
            deltas: list[Written] = [
                {"type": "thinking_delta", "thinking": piece} for piece in _pieces(str(block["thinking"]))
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return block | {"thinking": "", "signature": ""}, deltas
        case "text":
            return block | {"text": ""}, [
                {"type": "text_delta", "text": piece} for piece in _pieces(str(block["text"]))
            ]
        case _:
            nothing: Written = {}
            pieces = _pieces(json.dumps(block["input"]))
            return block | {"input": nothing}, [{"type": "input_json_delta", "partial_json": each} for each in pieces]


def _parts(answer: ScriptedAnswer) -> Iterator[object]:
    if answer.thought:
        yield {"text": answer.thought, "thought": True}
    yield from ({"text": piece} for piece in _pieces(answer.text))
    yield from ({"functionCall": {"name": name, "args": arguments}} for name, arguments in answer.calls)


def _content(answer: ScriptedAnswer, model: str, parts: list[object], *, is_last: bool) -> Written:
    candidate: Written = {"content": {"role": "model", "parts": parts}, "index": 0}
    if not is_last:
        return {"candidates": [candidate], "modelVersion": model}
    tokens, input_tokens = answer.tokens, answer.tokens.input + answer.tokens.cache_read
    usage: Written = {
        "promptTokenCount": input_tokens,
        "cachedContentTokenCount": tokens.cache_read,
        "candidatesTokenCount": tokens.output,
        "thoughtsTokenCount": tokens.reasoning,
        "totalTokenCount": input_tokens + tokens.output + tokens.reasoning,
    }
    return {"candidates": [{**candidate, "finishReason": "STOP"}], "modelVersion": model, "usageMetadata": usage}


def _content_events(answer: ScriptedAnswer, model: str) -> Iterator[Written]:
    yield from (_content(answer, model, [part], is_last=False) for part in _parts(answer))
    yield _content(answer, model, [], is_last=True)
