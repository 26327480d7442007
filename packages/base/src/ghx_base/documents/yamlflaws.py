"""What is wrong with broken YAML, in words for its author rather than for the author of the parser."""

import re
from collections.abc import Callable
from typing import Any

import yaml

from ghx_base.documents.text import Flaw, Lines

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's parser: the one in C, which is ten times as fast, where it was built."""

QUOTE_TEMPLATE = "put quotes around a value that begins with '{{'"
"""The remedy for the commonest slip in a scenario: `prompt: {{name}} ...`."""

_QUOTE_IT = "put quotes around it"
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BARE_TEMPLATE = re.compile(r"[:-]\s+\{\{")

_Explainer = Callable[[int, int, str], Flaw]
"""Makes a flaw of where the unfinished thing begins, where the parser gave up, and the text."""


def explain(error: Exception, text: str) -> Flaw:
    """Return what is wrong and what to do about it."""
    if isinstance(error, yaml.reader.ReaderError):
        return _forbidden_character(text)
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Flaw(offset=0, reason="this cannot be read as YAML")
    message, at = error.problem or "", error.problem_mark.index
    begun = at if error.context_mark is None else error.context_mark.index
    for words, explainer in _EXPLAINERS:
        if words in message:
            runaway = _runaway_quote(at, text) if explainer in _BEHIND_A_QUOTE else None
            return runaway or explainer(begun, at, text)
    return Flaw(
        offset=at, reason=f"broken YAML: {message}", suggestion="put quotes around text with special characters"
    )


def _forbidden_character(text: str) -> Flaw:
    match = _FORBIDDEN.search(text)
    offset = match.start() if match else 0
    reason = f"U+{ord(text[offset]):04X} is not allowed in YAML"
    return Flaw(offset=offset, reason=reason, suggestion="remove it, or escape it in double quotes")


def _explainer(reason: str, suggestion: str) -> _Explainer:
    return lambda _, at, __: Flaw(offset=at, reason=reason, suggestion=suggestion)


def _explainer_at_start(reason: str, suggestion: str) -> _Explainer:
    return lambda begun, _, __: Flaw(offset=begun, reason=reason, suggestion=suggestion)


def _first_character(_: int, at: int, text: str) -> Flaw:
    if text[at : at + 1] == "\t":  # PyYAML's parser in Python calls a tab this, and not by its name
        return _tab(at, at, text)
    return Flaw(offset=at, reason=f"a value cannot begin with {text[at : at + 1]!r}", suggestion=_QUOTE_IT)


def _tab(_: int, at: int, __: str) -> Flaw:
    return Flaw(offset=at, reason="a tab cannot indent", suggestion="use spaces, not tabs")


def _unexpected(_: int, at: int, text: str) -> Flaw:
    if not text[at:].strip() and (begun := _last_open_bracket(text)) is not None:
        return _unclosed(begun, at, text)
    return Flaw(offset=at, reason=f"unexpected {text[at : at + 1]!r}", suggestion=_QUOTE_IT)


def _colon(_: int, at: int, text: str) -> Flaw:
    if ":" in _line_until(at, text):
        remedy = "put quotes around a value that contains ': '"
        return Flaw(offset=at, reason="a second ':' on one line", suggestion=remedy)
    remedy = "correct the indentation, or end the line above with ':'"
    return Flaw(offset=at, reason="a key cannot stand below a plain value", suggestion=remedy)


def _unclosed(begun: int, at: int, text: str) -> Flaw:
    bracket = text[begun : begun + 1]
    closing = "]" if bracket == "[" else "}"
    if not text[at:].strip():
        return Flaw(offset=begun, reason=f"this {bracket!r} is never closed", suggestion=f"close it with {closing!r}")
    line = Lines(text).position(begun).line
    return Flaw(offset=at, reason=f"expected ',' or {closing!r} after the {bracket!r} of line {line}")


def _misfit(begun: int, at: int, text: str) -> Flaw:
    if _BARE_TEMPLATE.search(_line_until(at, text)):
        return Flaw(offset=at, reason="text after '}'", suggestion=QUOTE_TEMPLATE)
    reason = f"this does not fit into the block that begins on line {Lines(text).position(begun).line}"
    return Flaw(offset=at, reason=reason, suggestion="correct the indentation")


def _runaway_quote(at: int, text: str) -> Flaw | None:
    """Return what is wrong if text stands behind a quote that was closed too late, or too early."""
    before = _last_quoted_text(at, text)
    if before is None or text[before[1] : at].strip(" "):
        return None
    start, end = before
    lines = Lines(text)
    last = lines.position(end).line
    if lines.position(start).line != last:
        return Flaw(offset=start, reason=f"this quote is closed only on line {last}", suggestion="close it here")
    if end != at:
        return None
    remedy = "write '' for a quote inside" if text[start] == "'" else 'write \\" for a quote inside'
    return Flaw(offset=end, reason="text behind the closing quote", suggestion=remedy)


def _last_quoted_text(at: int, text: str) -> tuple[int, int] | None:
    """Return where the last text in quotes before `at` begins and ends."""
    loader = LOADER(text)
    last: tuple[int, int] | None = None
    try:
        for token in iter(loader.get_token, None):
            if isinstance(token, yaml.ScalarToken) and token.style in ("'", '"'):
                if token.end_mark.index > at:
                    break
                last = token.start_mark.index, token.end_mark.index
    except yaml.YAMLError:
        pass  # the error that is being explained
    finally:
        loader.dispose()
    return last


def _last_open_bracket(text: str) -> int | None:
    """Return where the bracket is that was opened last and never closed."""
    loader = LOADER(text)
    opened: list[int] = []
    try:
        for token in iter(loader.get_token, None):
            if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
                opened.append(token.start_mark.index)
            elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken) and opened:
                opened.pop()
    except yaml.YAMLError:
        pass  # the error that is being explained
    finally:
        loader.dispose()
    return opened[-1] if opened else None


def _line_until(at: int, text: str) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


_BEHIND_A_QUOTE = (_colon, _unclosed, _misfit)
"""What a quote that is closed in the wrong place is taken for."""

# Both parsers of PyYAML are covered: the one in C, and the one in Python where that is missing.
_EXPLAINERS: tuple[tuple[str, _Explainer], ...] = (
    ("tab character", _tab),
    ("cannot start any token", _first_character),
    ("mapping values are not allowed", _colon),
    ("',' or", _unclosed),
    ("expected key", _misfit),
    ("'-' indicator", _misfit),
    ("<block end>", _misfit),
    ("node content", _unexpected),
    ("unexpected end of stream", _explainer_at_start("this quote is never closed", "close it")),
    (
        "expected ':'",
        _explainer_at_start("expected 'key: value'", "add the ':', or indent what continues the line above"),
    ),
    ("sequence entries are not allowed", _explainer("a list cannot begin here", "put its first '-' on a new line")),
    ("unknown escape", _explainer("unknown escape in double quotes", "write \\\\ for a backslash")),
    ("escape", _explainer("an escape that is no character", "write \\\\ for a backslash")),
    ("<document start>", _explainer("text after the end of the document", "keep one document to a file")),
    ("directive", _explainer("a line cannot begin with '%'", _QUOTE_IT)),
    ("tag", _explainer("a tag that cannot be read", "put quotes around text that begins with '!'")),
)
