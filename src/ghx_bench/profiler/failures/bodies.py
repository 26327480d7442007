"""Answers in JSON that say by their shape that something failed: error bodies of HTTP services, envelopes, GraphQL."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from ghx_bench.profiler.shell.vocabulary import words_in

_ENVELOPE = words_in("""
    block code data detail details documentation_url documentationUrl doc_url domain error error_code error_description
    error_uri errorCode errorMessage errorType errors extensions hint id instance isError is_error jsonrpc message meta
    metadata msg name ok path reason request_id requestId result retryable retry_after stack status status_code
    statusCode success timestamp title traceId trace_id type url
""")
"""Keys that go with the report of an error; a thing that was asked for has others too."""
_THINGS = frozenset({"id", "name", "url", "title", "path", "type"})
"""Of these, those that things have as well: not enough of an envelope by themselves."""
_CAUSES = ("error", "errors", "message", "msg", "detail", "details", "error_description", "errorMessage", "reason")
_FAILED_WORDS = frozenset({"error", "fail", "failed", "failure"})
_STATUS_PHRASE = re.compile(
    r"(?:\d{3} )?(?:not found|forbidden|unauthorized|bad credentials|bad request|validation failed|conflict|gone"
    r"|unprocessable entity|requires authentication|internal server error|service unavailable|bad gateway|server error"
    r"|gateway time-?out|too many requests|method not allowed)\.?",
    re.IGNORECASE,
)
_FIRST_ERROR, _LAST_ERROR = 400, 599


def error_in(document: object) -> str | None:
    """Return the error that a JSON answer is nothing but, in words; `None` if it holds something that was asked for.

    Only the outermost object counts. An item of a list, or a thing with fields of its own, may well have failed, be
    called an error or carry one: it was found and shown, and that is a success.
    """
    if not isinstance(document, dict):
        return None
    body = cast("Mapping[str, object]", document)
    if _says_failed(body) or _is_error_body(body) or _has_graphql_errors(body):
        return _message_of(body)
    return next(_failed_steps(body), None)


def says_it_went_well(document: object) -> bool:
    """Say whether a JSON answer tells that it is a success."""
    if not isinstance(document, dict):
        return False
    body = cast("Mapping[str, object]", document)
    return body.get("ok") is True or body.get("success") is True or _is_error_flag(body) is False


def _says_failed(body: Mapping[str, object]) -> bool:
    if body.get("ok") is False or _is_error_flag(body) is True:
        return True
    return body.get("success") is False and (_is_envelope(body) or ("id" not in body and bool(_cause_of(body))))


def _is_error_flag(body: Mapping[str, object]) -> bool | None:
    flag = body.get("isError", body.get("is_error"))
    return flag if isinstance(flag, bool) else None


def _is_error_body(body: Mapping[str, object]) -> bool:
    """Say whether all that the object holds is an error."""
    if not _is_envelope(body) or body.get("ok") is True or body.get("success") is True or _has_data(body):
        return False
    error, message = body.get("error"), body.get("message")
    if isinstance(error, str | dict) and error:
        return True
    if _status_of(body) is not None and (_cause_of(body) or "title" in body):
        return True
    if isinstance(message, str) and ("documentation_url" in body or _STATUS_PHRASE.fullmatch(message.strip())):
        return True
    status = body.get("status")
    return isinstance(status, str) and status.lower() in _FAILED_WORDS and bool(_cause_of(body))


def _has_graphql_errors(body: Mapping[str, object]) -> bool:
    errors = body.get("errors")
    if not isinstance(errors, list) or not errors or not body.keys() <= {"data", "errors", "extensions"}:
        return False
    return all(isinstance(error, dict) and "message" in error for error in cast("list[object]", errors))


def _failed_steps(body: Mapping[str, object]) -> Iterator[str]:
    """Yield the failed steps of a batch, whose answer is nothing but how each of its steps went."""
    steps = body.get("results")
    if not isinstance(steps, list) or not body.keys() <= {"status", "ok", "results", "meta"}:
        return
    for step in cast("list[object]", steps):
        if isinstance(step, dict):
            fields = cast("Mapping[str, object]", step)
            if fields.get("ok") is False:
                yield _message_of(fields)


def _is_envelope(body: Mapping[str, object]) -> bool:
    keys = body.keys()
    is_thing = keys <= _THINGS or ("id" in keys and "jsonrpc" not in keys) or ("name" in keys and "message" not in keys)
    return keys <= _ENVELOPE and not is_thing


def _has_data(body: Mapping[str, object]) -> bool:
    return any(body.get(key) not in (None, {}, [], "", False) for key in ("data", "result"))


def _status_of(body: Mapping[str, object]) -> int | None:
    for key in ("status", "statusCode", "status_code", "code", "errorCode"):
        value = body.get(key)
        number = int(value) if isinstance(value, str) and re.fullmatch(r"\d{3}", value) else value
        if isinstance(number, int) and not isinstance(number, bool) and _FIRST_ERROR <= number <= _LAST_ERROR:
            return number
    error = body.get("error")
    return _status_of(cast("Mapping[str, object]", error)) if isinstance(error, dict) else None


def _cause_of(body: Mapping[str, object]) -> object:
    return next((body[key] for key in _CAUSES if body.get(key)), None)


def _message_of(body: Mapping[str, object]) -> str:
    """Return the words of an error: its HTTP status, its code or type, and its message."""
    status = _status_of(body)
    told: list[str] = [] if status is None else [f"HTTP {status}"]
    _gather(body, told, depth=3)
    return ": ".join(dict.fromkeys(told)) or "the answer says that it failed"


def _gather(value: object, told: list[str], *, depth: int) -> None:
    match value:
        case str() if value:
            told.append(value)
        case dict() if depth:
            fields = cast("Mapping[str, object]", value)
            for key in ("code", "errorCode", "type", *_CAUSES, "content", "text"):
                found = fields.get(key)
                if key != "type" or found not in ("text", "error"):
                    _gather(found, told, depth=depth - 1)
        case list() if depth:
            for item in cast("list[object]", value)[:3]:
                _gather(item, told, depth=depth - 1)
        case _:
            pass
