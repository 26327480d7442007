"""An agent reduced to its model calls: one conversation on one wire, over real HTTP."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

from ghx_profiler.agents.wires.protocol import Route, find_route, make_reader
from ghx_profiler.records.model_calls import RequestedToolCall, WireKind

WIRES: tuple[WireKind, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")
MODEL = "scripted-1"
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}

_PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:{verb}",
}


@dataclass
class Conversation:
    """What was said so far, as the wire writes it."""

    wire: WireKind
    system: str = "You are a careful engineer."
    tools: tuple[str, ...] = ("bash",)
    description: str = "Run."
    temperature: float = 0.5
    model: str = MODEL
    stream: bool = True
    items: list[dict[str, Any]] = field(default_factory=list)

    def say(self, text: str) -> None:
        match self.wire:
            case "gemini":
                self.items.append({"role": "user", "parts": [{"text": text}]})
            case "openai-responses":
                self.items.append(
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
                )
            case _:
                self.items.append({"role": "user", "content": text})

    def take_answer(self, text: str) -> None:
        match self.wire:
            case "gemini":
                self.items.append({"role": "model", "parts": [{"text": text}]})
            case "openai-responses":
                content = [{"type": "output_text", "text": text}]
                self.items.append({"type": "message", "role": "assistant", "content": content})
            case _:
                self.items.append({"role": "assistant", "content": text})

    def take_result(self, call: RequestedToolCall, result: str) -> None:
        arguments = json.dumps(call.arguments)
        match self.wire:
            case "openai-chat":
                asked = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
                self.items += [
                    {"role": "assistant", "content": None, "tool_calls": [asked]},
                    {"role": "tool", "tool_call_id": call.id, "content": result},
                ]
            case "openai-responses":
                self.items += [
                    {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments},
                    {"type": "function_call_output", "call_id": call.id, "output": result},
                ]
            case "anthropic":
                asked = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
                told = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": result}]}
                self.items += [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [told]}]
            case "gemini":
                response = {"name": call.name, "response": {"output": result}}
                self.items += [
                    {"role": "model", "parts": [{"functionCall": {"name": call.name, "args": call.arguments}}]},
                    {"role": "user", "parts": [{"functionResponse": response}]},
                ]

    def body(self) -> dict[str, Any]:
        tool, temperature = {"description": self.description, "parameters": SCHEMA}, {"temperature": self.temperature}
        match self.wire:
            case "openai-chat":
                messages = [{"role": "system", "content": self.system}, *self.items]
                tools = [{"type": "function", "function": {"name": name, **tool}} for name in self.tools]
                body = {"model": self.model, "messages": messages, "tools": tools, "stream": self.stream, "seed": 7}
                return body | temperature | ({"stream_options": {"include_usage": True}} if self.stream else {})
            case "openai-responses":
                tools = [{"type": "function", "name": name, **tool} for name in self.tools]
                body = {"model": self.model, "instructions": self.system, "input": self.items, "tools": tools}
                return body | temperature | {"stream": self.stream, "reasoning": {"effort": "low"}}
            case "anthropic":
                told = {"description": self.description, "input_schema": SCHEMA}
                tools = [{"name": name, **told} for name in self.tools]
                body = {"model": self.model, "system": self.system, "messages": self.items, "tools": tools}
                return body | temperature | {"stream": self.stream, "max_tokens": 1000}
            case "gemini":
                tools = [{"functionDeclarations": [{"name": name, **tool} for name in self.tools]}]
                system = {"parts": [{"text": self.system}]}
                body = {"contents": self.items, "systemInstruction": system, "generationConfig": temperature}
                return body | {"tools": tools if self.tools else []}

    @property
    def path(self) -> str:
        verb = "streamGenerateContent" if self.stream else "generateContent"
        path = _PATHS[self.wire].format(model=self.model, verb=verb)
        return f"{path}?alt=sse" if self.wire == "gemini" and self.stream else path

    @property
    def route(self) -> Route:
        route = find_route("POST", self.path.partition("?")[0])
        assert route is not None
        return route


def key_headers(wire: WireKind, key: str) -> dict[str, str]:
    match wire:
        case "anthropic":
            return {"x-api-key": key}
        case "gemini":
            return {"x-goog-api-key": key}
        case _:
            return {"authorization": f"Bearer {key}"}


class WireClient:
    """Asks a model, and does what it asks for."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str, key: str) -> None:
        self.http, self.base_url, self.key = http, base_url, key

    async def ask(self, conversation: Conversation) -> httpx2.Response:
        """Return the whole response."""
        return await self.http.post(
            f"{self.base_url}{conversation.path}",
            json=conversation.body(),
            headers=key_headers(conversation.wire, self.key),
        )

    def stream(self, conversation: Conversation) -> Any:
        """Return a block in which the response comes bit by bit."""
        url, headers = f"{self.base_url}{conversation.path}", key_headers(conversation.wire, self.key)
        return self.http.stream("POST", url, json=conversation.body(), headers=headers)

    async def work(self, conversation: Conversation, run: Callable[[RequestedToolCall], str]) -> int:
        """Ask until the model asks for no more tools, and return how many calls that took."""
        for number in range(1, 50):
            response = await self.ask(conversation)
            assert response.status_code == 200, response.text
            reader = make_reader(conversation.wire, is_stream=conversation.stream)
            reader.feed(response.content)
            reader.end()
            if not reader.tool_calls:
                conversation.take_answer("Done.")
                return number
            for call in reader.tool_calls:
                conversation.take_result(call, run(call))
        raise AssertionError("the model never came to an end")


@asynccontextmanager
async def wire_client(base_url: str, key: str) -> AsyncIterator[WireClient]:
    async with httpx2.AsyncClient(trust_env=False, timeout=30) as http:
        yield WireClient(http, base_url, key)


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for what happens in the thread of a server."""
    with anyio.fail_after(30):
        while not is_so():  # noqa: ASYNC110 - see above
            await anyio.sleep(0.005)
