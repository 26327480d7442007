"""JSON as a document: fast where all is well, exact where it is not."""

import json
import math
import re
import sys
from typing import NoReturn, cast

from pydantic import JsonValue

from ghx_base.documents.text import MAX_DEPTH, Flaw, FlawedTextError, Flaws, Frame, Lines, Place, open_frame
from ghx_base.problems import shortened

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LONGEST_SHOWN = 20
_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}
_OTHER_LANGUAGES = {"True": "true", "False": "false", "None": "null", "undefined": "null", "nil": "null"}


class _UncleanError(Exception):
    """The text is valid for Python's decoder but not as a document; the slow path finds the position and reason."""


def load_json(text: str) -> JsonValue:
    """Return the value of a JSON text, or raise `FlawedTextError` with everything wrong with it."""
    try:
        value = cast("JsonValue", _DECODER.decode(text))
    except RecursionError:
        _refuse_depth(text)
    except (_UncleanError, ValueError):
        _refuse(text)
    # Counting brackets is much cheaper than walking the text, and clears nearly every file.
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    if _SURROGATE_ESCAPE.search(text):
        _scan(text)
    return value


def json_places(text: str) -> Place:
    """Return where everything stands in a JSON text that `load_json` accepted."""
    return _scan(text)


def _object_of(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _UncleanError
    return fields


def _finite(token: str) -> float:
    number = float(token)
    if math.isinf(number):
        raise _UncleanError
    return number


def _unclean(_: str) -> NoReturn:
    raise _UncleanError


_DECODER = json.JSONDecoder(object_pairs_hook=_object_of, parse_float=_finite, parse_constant=_unclean)


def _refuse(text: str) -> NoReturn:
    try:
        json.loads(text, parse_int=str)  # as text, since `int` refuses long numbers before anything else is found
    except json.JSONDecodeError as error:
        raise FlawedTextError([_explain(error, text)]) from None
    except RecursionError:
        _refuse_depth(text)
    _scan(text)
    Flaws(text).stop(0, "this cannot be read as JSON")


def _refuse_depth(text: str) -> NoReturn:
    _check_depth(text)
    Flaws(text).stop_too_deep(0)


def _check_depth(text: str) -> None:
    depth = 0
    for match in _TOKEN.finditer(text):
        first = match[0][0]
        depth += (first in "[{") - (first in "]}")
        if depth > MAX_DEPTH:
            Flaws(text).stop_too_deep(match.start())


def _scan(text: str) -> Place:
    """Walk through well-formed JSON, noting where things stand and what is wrong with them."""
    flaws = Flaws(text)
    document = open_frame(0, is_object=False)
    frames: list[Frame] = [document]
    for match in _TOKEN.finditer(text):
        piece, start, frame = match[0], match.start(), frames[-1]
        if piece in "{[":
            opened = open_frame(start, is_object=piece == "{")
            frame.attach(opened.place)
            frames.append(opened)
        elif piece in "}]":
            frames.pop()
        elif piece in ",:":
            continue
        elif frame.wants_key:
            _check_scalar(piece, start, flaws)
            frame.take_key(cast("str", json.loads(piece)), start, flaws)
        else:
            _check_scalar(piece, start, flaws)
            frame.attach(Place(start))
    flaws.raise_if_any()
    return document.children["0"]


def _check_scalar(piece: str, start: int, flaws: Flaws) -> None:
    if piece[0] == '"':
        if _SURROGATE_ESCAPE.search(piece) and _LONE_SURROGATE.search(json.loads(piece)):
            flaws.add(
                start, "half a character: a surrogate escape without its other half", "write the character itself"
            )
    elif piece in _NOT_FINITE:
        flaws.add(start, f"{piece} is not a JSON value", "write null or a number")
    elif piece[0] in "-0123456789":
        check_number(piece, start, flaws)


def check_number(token: str, start: int, flaws: Flaws) -> bool:
    """Return whether Python can read and write a number; note a flaw if it cannot."""
    digits = token.lstrip("+-")
    limit = sys.get_int_max_str_digits()
    if digits.isdigit() and 0 < limit < len(digits):
        flaws.add(start, f"a number of {len(digits)} digits is too long", "put it in quotes if it is text")
    elif not digits.isdigit() and math.isinf(float(token)):
        flaws.add(start, f"the number {token[:_LONGEST_SHOWN]} is too large", "put it in quotes if it is text")
    else:
        return True
    return False


def _explain(error: json.JSONDecodeError, text: str) -> Flaw:
    """Return what is wrong with broken JSON, and what people usually meant."""
    at = error.pos
    until_here = text[:at].rstrip()
    if error.msg.startswith("Illegal trailing comma") or (until_here.endswith(",") and text[at : at + 1] in {"}", "]"}):
        comma = at if text[at] == "," else len(until_here) - 1
        return Flaw(offset=comma, reason="a comma before a closing bracket", suggestion="remove the comma")
    if not text[at:].strip() and not error.msg.startswith("Unterminated"):
        return _explain_end(text)
    reason, suggestion = _explain_foreign(text, at) or _explain_message(error.msg)
    return Flaw(offset=at, reason=reason, suggestion=suggestion)


def _explain_end(text: str) -> Flaw:
    opened: list[re.Match[str]] = []
    for match in _TOKEN.finditer(text):
        if match[0] in "{[":
            opened.append(match)
        elif match[0] in "}]" and opened:
            opened.pop()
    end = len(text.rstrip())
    if not opened:
        return Flaw(offset=end, reason="the file ends where a value was expected")
    bracket, line = opened[-1][0], Lines(text).position(opened[-1].start()).line
    return Flaw(offset=end, reason=f"the file ends before the {bracket!r} of line {line} is closed")


def _explain_foreign(text: str, at: int) -> tuple[str, str] | None:
    """Return what is wrong where the author wrote what other languages allow."""
    if text.startswith(("#", "//", "/*"), at):
        return "JSON has no comments", "remove it, or write the file as YAML"
    if text.startswith("'", at):
        return "a string in single quotes", 'write it in "double quotes"'
    if text[at - 1 : at] == "0" and text[at : at + 1].isdigit():
        return "a number cannot begin with 0", "remove the 0, or put it in quotes if it is text"
    word = _WORD.match(text, at)
    if word is None:
        return None
    if word[0] in _OTHER_LANGUAGES:
        return f"{word[0]} is not a JSON value", f"write {_OTHER_LANGUAGES[word[0]]}"
    return f"unexpected {shortened(word[0])}", 'write text in "double quotes"'


def _explain_message(message: str) -> tuple[str, str | None]:
    for beginning, explained in _EXPLAINED.items():
        if message.startswith(beginning):
            return explained
    return message, None


_EXPLAINED: dict[str, tuple[str, str | None]] = {
    "Expecting property name": ("expected a key", 'write it in "double quotes"'),
    "Expecting ':'": ("expected ':' after the key", None),
    "Expecting ','": ("expected ',' or a closing bracket", "put a comma between two values"),
    "Expecting value": ("expected a value", None),
    "Extra data": ("text after the end of the document", "keep one document to a file"),
    "Unterminated string": ("this string is never closed", 'end it with "'),
    "Invalid control character": ("a line break or control character inside a string", "write \\n for a line break"),
    "Invalid \\": ("unknown escape inside a string", "write \\\\ for a backslash"),
}
