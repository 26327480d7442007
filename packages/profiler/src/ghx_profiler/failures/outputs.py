"""The parts of a tool call's output, and JSON answers in it whose shape reports a failure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from ghx_profiler.shell.names import words_in

_EXIT_KEYS = ("exitCode", "exit_code", "exit", "exitStatus", "exit_status", "returncode", "returnCode", "return_code")
_PRINTED_KEYS = ("aggregated_output", "aggregatedOutput", "output", "stdout", "stderr")
_WRAPPED_KEYS = ("content", "text", "result", "toolResult")
_LONGEST_JSON = 4_000_000
_MOST_DOCUMENTS = 1_000
_DEEPEST = 4
_EXIT_LINE = re.compile(
    r"\W*(?:error: )?(?:"
    r"(?:(?:the )?(?:process|command|program|script|shell) (?:\S.{0,160} )?)?"
    r"(?:(?:exited|finished|completed|failed|terminated|returned|ended)(?: with)?(?: an?)?(?: non-?zero)? )?"
    r"(?:exit[ _-]?(?:code|status)|return[ _-]?code)"
    r"|(?:(?:process|command|program|script|shell) (?:\S.{0,160} )?)?exited with (?:code|status)"
    r")\s*[:=]?\s*(-?\d{1,9})\W*",
    re.IGNORECASE,
)
_EXIT_TAG = re.compile(r"<(?:exit|return)_?(?:code|status)>\s*(-?\d{1,9})\s*</\w+>", re.IGNORECASE)
_TAGGED = re.compile(r"<(untrusted_context|output|stdout|result|tool_result)>(.*)</\1>", re.DOTALL)
_FRAME_START = re.compile(r"(?:Command|Chunk ID|Wall time|Exit code|Process exited with code)\b", re.IGNORECASE)
_FRAME_BODY = re.compile(r"(?:Output|Stdout|Final output):", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a call gave back, unwrapped.

    `documents` are the JSON values that it consists of, up to where it stops being JSON; `text` is all of what was
    text, and `rest` what comes behind the documents. `exit_code` is known if the tool reported it next to the text or
    in a line that it put before it; `is_error` where the tool flagged it.
    """

    text: str = ""
    documents: tuple[object, ...] = ()
    rest: str = ""
    exit_code: int | None = None
    is_error: bool | None = None
    was_cut_off: bool = False


def read_output(value: object, depth: int = _DEEPEST) -> Output:
    """Unwrap an output: run records, content blocks of the Model Context Protocol, JSON in a text."""
    match value:
        case None:
            return Output()
        case str():
            return _read_text(value, depth)
        case list():
            return _read_list(cast("list[object]", value), depth)
        case dict():
            return _read_object(cast("Mapping[str, object]", value), depth)
        case _:
            return Output(text=str(value), documents=(value,))


def exit_code_at_end(text: str) -> int | None:
    """Return the exit code that stands on one of the last lines, as tools add it to what a program printed."""
    for line in reversed(text.rstrip().rsplit("\n", 4)[-4:]):
        if (code := _exit_code_on(line)) is not None:
            return code
    return None


def _read_text(text: str, depth: int) -> Output:
    documents, rest = _documents_in(text)
    if depth and len(documents) == 1 and not rest and _is_wrapper(documents[0]):
        return read_output(documents[0], depth - 1)
    if depth and (tagged := _TAGGED.fullmatch(text.strip())):
        return read_output(tagged[2], depth - 1)
    code, body = _unframed(text)
    if body is not None and depth:
        return replace(read_output(body, depth - 1), exit_code=code)
    return Output(text=text, documents=documents, rest=rest, exit_code=code)


def _read_list(values: list[object], depth: int) -> Output:
    if not depth or not _are_blocks(values):
        return Output(documents=(values,))
    blocks = [cast("Mapping[str, object]", value) for value in values]
    texts = [block.get("text", block.get("content")) for block in blocks]
    return read_output("\n".join(text for text in texts if isinstance(text, str)), depth - 1)


def _read_object(fields: Mapping[str, object], depth: int) -> Output:
    code, flag = _exit_code_of(fields), _flag_of(fields)
    cut_off = any(fields.get(key) is True for key in ("interrupted", "timedOut", "timed_out"))
    if not depth or not _is_record(fields):
        return Output(documents=(fields,), exit_code=code, is_error=flag, was_cut_off=cut_off)
    inner = read_output(_wrapped_in(fields), depth - 1)
    return replace(
        inner,
        exit_code=inner.exit_code if code is None else code,
        is_error=inner.is_error if flag is None else flag,
        was_cut_off=inner.was_cut_off or cut_off,
    )


def _wrapped_in(fields: Mapping[str, object]) -> object:
    printed = [fields[key] for key in _PRINTED_KEYS if isinstance(fields.get(key), str) and fields[key]]
    if printed:
        # Some tools give the same text under several names, whole and in parts.
        return printed[0] if _PRINTED_KEYS[0] in fields or "output" in fields else "\n".join(cast("list[str]", printed))
    return next((fields[key] for key in _WRAPPED_KEYS if fields.get(key)), None)


def _is_record(fields: Mapping[str, object]) -> bool:
    """Return whether an object is a tool's record of a run, or a wrapper around content, and not the content itself."""
    if "id" in fields or "name" in fields:
        return False
    is_printed = not fields.keys().isdisjoint(_PRINTED_KEYS)
    if (_exit_code_of(fields) is not None and is_printed) or {"stdout", "stderr"} <= fields.keys():
        return True
    if isinstance(fields.get("output"), str):
        return fields.keys() <= {"output", "metadata", "title", "truncated", "attachments", "error", "status"}
    content = fields.get("content")
    if isinstance(content, list) and _are_blocks(cast("list[object]", content)):
        return True
    return _flag_of(fields) is not None and isinstance(content, str)


def _is_wrapper(document: object) -> bool:
    if isinstance(document, dict):
        return _is_record(cast("Mapping[str, object]", document))
    return isinstance(document, list) and _are_blocks(cast("list[object]", document))


def _are_blocks(values: Iterable[object]) -> bool:
    """Return whether a list holds content blocks, such as `{"type": "text", "text": "..."}`."""
    kinds = [cast("Mapping[str, object]", value).get("type") for value in values if isinstance(value, dict)]
    return bool(kinds) and kinds.count("text") + kinds.count("content") == len(kinds) == len(list(values))


def _exit_code_of(fields: Mapping[str, object]) -> int | None:
    metadata = fields.get("metadata")
    metadata_fields = cast("Mapping[str, object]", metadata) if isinstance(metadata, dict) else fields
    codes = (place.get(key) for place in (fields, metadata_fields) for key in _EXIT_KEYS)
    return next((code for code in codes if isinstance(code, int) and not isinstance(code, bool)), None)


def _flag_of(fields: Mapping[str, object]) -> bool | None:
    flag = fields.get("isError", fields.get("is_error"))
    return flag if isinstance(flag, bool) else None


def _unframed(text: str) -> tuple[int | None, str | None]:
    """Return the exit code that a tool put around the text, and the text inside if it can be separated."""
    head = text.lstrip()[:2_000].split("\n", 8)
    if tag := _EXIT_TAG.match(head[0]):
        return int(tag[1]), None
    if _FRAME_START.match(head[0]) is None:
        return _exit_code_on(head[0]), None
    before = [line for line in head[:8] if not _FRAME_BODY.match(line)]
    codes = [code for line in before if (code := _exit_code_on(line)) is not None]
    code = codes[0] if codes else exit_code_at_end(text)
    _, marker, body = text.partition("\nOutput:")
    return code, body if marker and code is not None else None


def _exit_code_on(line: str) -> int | None:
    line = line.strip()[:400]
    match = _EXIT_LINE.fullmatch(line) or _EXIT_TAG.fullmatch(line)
    return int(match[1]) if match else None


def _documents_in(text: str) -> tuple[tuple[object, ...], str]:
    """Return the JSON objects and lists at the start of a text, one after the other, and the rest."""
    if len(text) > _LONGEST_JSON or text.lstrip()[:1] not in {"{", "["}:
        return (), text
    decoder, documents, at = json.JSONDecoder(), list[object](), _next_sign(text, 0)
    while at < len(text) and text[at] in "{[" and len(documents) < _MOST_DOCUMENTS:
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        documents.append(document)
        at = _next_sign(text, at)
    return tuple(documents), text[at:]


def _next_sign(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


_ENVELOPE = words_in("""
    block code data detail details documentation_url documentationUrl doc_url domain error error_code error_description
    error_uri errorCode errorMessage errorType errors extensions hint id instance isError is_error jsonrpc message meta
    metadata msg name ok path reason request_id requestId result retryable retry_after stack status status_code
    statusCode success timestamp title traceId trace_id type url
""")
"""Keys of an error report; a requested object has others too."""
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
    """Return the message of a JSON answer that is only an error; `None` if it contains requested data.

    Only the outermost object counts. An item of a list, or a thing with fields of its own, may well have failed, be
    called an error or carry one: it was found and shown, and that is a success.
    """
    if not isinstance(document, dict):
        return None
    body = cast("Mapping[str, object]", document)
    if _reports_failure(body) or _is_error_body(body) or _has_graphql_errors(body):
        return _message_of(body)
    return next(_failed_steps(body), None)


def reports_success(document: object) -> bool:
    """Return whether a JSON answer reports success."""
    if not isinstance(document, dict):
        return False
    body = cast("Mapping[str, object]", document)
    return body.get("ok") is True or body.get("success") is True or _is_error_flag(body) is False


def _reports_failure(body: Mapping[str, object]) -> bool:
    if body.get("ok") is False or _is_error_flag(body) is True:
        return True
    return body.get("success") is False and (_is_envelope(body) or ("id" not in body and bool(_cause_of(body))))


def _is_error_flag(body: Mapping[str, object]) -> bool | None:
    flag = body.get("isError", body.get("is_error"))
    return flag if isinstance(flag, bool) else None


def _is_error_body(body: Mapping[str, object]) -> bool:
    """Return whether all that the object holds is an error."""
    has_data = any(body.get(key) not in (None, {}, [], "", False) for key in ("data", "result"))
    if not _is_envelope(body) or body.get("ok") is True or body.get("success") is True or has_data:
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
    texts: list[str] = [] if status is None else [f"HTTP {status}"]
    _gather(body, texts, depth=3)
    return ": ".join(dict.fromkeys(texts)) or "the answer says that it failed"


def _gather(value: object, texts: list[str], *, depth: int) -> None:
    match value:
        case str() if value:
            texts.append(value)
        case dict() if depth:
            fields = cast("Mapping[str, object]", value)
            for key in ("code", "errorCode", "type", *_CAUSES, "content", "text"):
                field = fields.get(key)
                if key != "type" or field not in ("text", "error"):
                    _gather(field, texts, depth=depth - 1)
        case list() if depth:
            for item in cast("list[object]", value)[:3]:
                _gather(item, texts, depth=depth - 1)
        case _:
            pass
