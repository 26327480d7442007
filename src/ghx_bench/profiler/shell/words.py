"""The words of a command as the shell reads them, without quotes and escapes."""

import re
from collections.abc import Mapping

_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\]|\n)')
_ANSI_C = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_C_LETTERS: Mapping[str, str] = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}


def plain(text: str) -> str:
    r"""Read a bare word: `a\ b` is `a b`, and a line that ends in a backslash goes on."""
    return _ESCAPED.sub(_kept, text)


def double_quoted(text: str) -> str:
    """Read what stands between double quotes; expansions stay as they are."""
    return _ESCAPED_IN_QUOTES.sub(_kept, text)


def ansi_c_quoted(text: str) -> str:
    r"""Read what stands between `$'` and `'`, where `\n` is a line break."""
    return _ANSI_C.sub(_ansi_c, text)


def _kept(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _ansi_c(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xu" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    return _ANSI_C_LETTERS.get(escape, escape)
