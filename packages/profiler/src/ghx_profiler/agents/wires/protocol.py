"""The four wires: their addresses, the place of their keys, and their error formats."""

import re
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import unquote

from pydantic_core import to_json

from ghx_base.wire import JsonObject
from ghx_profiler.agents.wires import anthropic, gemini, openai_chat, openai_responses
from ghx_profiler.agents.wires.answer_reader import AnswerReader
from ghx_profiler.agents.wires.loose_json import as_object, as_objects, as_text, parse_object, parse_objects
from ghx_profiler.agents.wires.model_request import ModelRequest
from ghx_profiler.records.model_calls import CallErrorKind, WireKind

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
"""Where agents put the key of a model, in lower case; Gemini's clients may also put it into the query, as `key`."""

_GEMINI = re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>[^/:]+):(?P<verb>\w+)")
_LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What an address asks for; only model calls are counted, the rest costs nothing."""

    wire: WireKind
    is_model_call: bool = True
    model: str | None = None
    """Where the address names it."""
    is_streamed: bool = False
    """The model, if it is part of the address."""


_POSTED = {
    "/chat/completions": Route(wire="openai-chat"),
    "/responses": Route(wire="openai-responses"),
    "/messages": Route(wire="anthropic"),
    "/messages/count_tokens": Route(wire="anthropic", is_model_call=False),
}


def find_route(method: str, path: str) -> Route | None:
    """Return what an address behind a base URL asks for; `None` for what no agent needs from a model's API."""
    path = path.rstrip("/")
    if method == "POST":
        return _POSTED.get(path.removeprefix("/v1")) or _find_gemini_route(path)
    listed = re.fullmatch(r"/v1(beta)?/models(?:/[^/]+)?", path)
    if listed is None or method != "GET":
        return None
    return Route(wire="gemini" if listed[1] else "openai-chat", is_model_call=False)


def _find_gemini_route(path: str) -> Route | None:
    match = _GEMINI.fullmatch(path)
    if match is None or match["verb"] not in ("generateContent", "streamGenerateContent", "countTokens"):
        return None
    return Route(
        wire="gemini",
        model=unquote(match["model"]),
        is_model_call=match["verb"] != "countTokens",
        is_streamed=match["verb"] == "streamGenerateContent",
    )


def read_request(route: Route, body: bytes) -> ModelRequest:
    """Return the content of a request; one that is not JSON has none."""
    content = parse_object(body)
    match route.wire:
        case "openai-chat":
            return openai_chat.read_request(content)
        case "openai-responses":
            return openai_responses.read_request(content)
        case "anthropic":
            return anthropic.read_request(content)
        case "gemini":
            return gemini.read_request(content, model=route.model, is_streamed=route.is_streamed)
        case _:
            assert_never(route.wire)


_READERS: dict[WireKind, type[AnswerReader]] = {
    "openai-chat": openai_chat.ChatReader,
    "openai-responses": openai_responses.ResponsesReader,
    "anthropic": anthropic.MessagesReader,
    "gemini": gemini.ContentReader,
}


def make_reader(wire: WireKind, *, is_stream: bool) -> AnswerReader:
    """Return what reads one answer on a wire."""
    return _READERS[wire](is_stream=is_stream)


def key_header(wire: WireKind, key: str) -> tuple[str, str]:
    """Return the header in which a provider wants its key."""
    match wire:
        case "anthropic":
            return "x-api-key", key
        case "gemini":
            return "x-goog-api-key", key
        case "openai-chat" | "openai-responses":
            return "authorization", f"Bearer {key}"
        case _:
            assert_never(wire)


def classify_status(status: int) -> CallErrorKind | None:
    """Return the kind of error of a status; `None` for an answer."""
    if status < 300:  # noqa: PLR2004 - where answers end: a provider that has moved does not answer either
        return None
    known: dict[int, CallErrorKind] = {401: "authentication", 403: "authentication", 429: "rate_limit"}
    if status in known:
        return known[status]
    if status < 500:  # noqa: PLR2004 - the client's
        return "request"
    return "overloaded" if status in (503, 529) else "server"


_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_OPENAI_ERRORS = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded"}
_GEMINI_ERRORS = {
    400: "FAILED_PRECONDITION",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    504: "DEADLINE_EXCEEDED",
}


def write_error(wire: WireKind, status: int, message: str, *, code: str | None = None) -> bytes:
    """Return the body of an error as the provider would write it; `code` is for wires that have one."""
    body: JsonObject
    match wire:
        case "anthropic":
            kind = _ANTHROPIC_ERRORS.get(status, "api_error")
            body = {"type": "error", "error": {"type": kind, "message": message}}
        case "gemini":
            name = _GEMINI_ERRORS.get(status, "UNAVAILABLE")
            body = {"error": {"code": status, "message": message, "status": name}}
        case "openai-chat" | "openai-responses":
            kind = "server_error" if status >= 500 else "invalid_request_error"  # noqa: PLR2004 - the server's
            body = {
                "error": {"message": message, "type": kind, "param": None, "code": code or _OPENAI_ERRORS.get(status)}
            }
        case _:
            assert_never(wire)
    return to_json(body)


def read_error(body: bytes) -> str:
    """Return the message of an error's body, shortened to one line."""
    body_fields = (parse_objects(body) or [{}])[0]
    message = as_text(as_object(body_fields.get("error")).get("message")) or as_text(body_fields.get("message"))
    words = " ".join((message or body[: 4 * _LONGEST_ERROR].decode(errors="replace")).split())
    return words if len(words) <= _LONGEST_ERROR else f"{words[:_LONGEST_ERROR]}..."


def read_retry_delay(body: bytes) -> float | None:
    """Return the seconds of a retry hint in an error's body; Gemini sends no header for it."""
    for error in parse_objects(body):
        for detail in as_objects(as_object(error.get("error")).get("details")):
            delay = re.fullmatch(r"(\d+(?:\.\d+)?)s", as_text(detail.get("retryDelay")) or "")
            if delay is not None:
                return float(delay[1])
    return None
