"""Keeping hostile shell text within what can be parsed in no time."""

import re
from collections.abc import Iterator

LONGEST = 8_192
"""Characters that are handed to the parser; error recovery takes time that grows faster than the text."""
MOST_STRUCTURE = 600
"""Brackets and operators that are handed to the parser, for the same reason."""

_STRUCTURE = re.compile(r"[()<>|&;{}$`\[\]=]")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^'"\\]+|.""", re.DOTALL)
_HEREDOC = re.compile(r"<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_]\w*))")
_KEPT = 64
_LONGEST_WORD = re.compile(r"(\S{512})\S+")


def within_bounds(text: str) -> tuple[str, bool]:
    """Return text that is safe to parse, and whether it is all of it.

    Text within the bounds comes back as it is. Otherwise the data in it is shortened first, which is the bodies of
    here-documents and long quotations, so that the commands behind them are still seen; then the rest is cut off.
    """
    text = text.replace("\0", " ")
    if _fits(text):
        return text, True
    shortened = _LONGEST_WORD.sub(r"\1", _without_long_quotes("".join(_without_bodies(text[: LONGEST * 64]))))
    return _cut(shortened), False


def _fits(text: str) -> bool:
    return len(text) <= LONGEST and sum(1 for _ in _STRUCTURE.finditer(text)) <= MOST_STRUCTURE


def _cut(text: str) -> str:
    text = text[:LONGEST]
    for count, match in enumerate(_STRUCTURE.finditer(text)):
        if count == MOST_STRUCTURE:
            return text[: match.start()]
    return text


def _without_bodies(text: str) -> Iterator[str]:
    """Yield the lines of the text without the bodies of here-documents."""
    lines = text.splitlines(keepends=True)
    last_seen = {line.strip(): at for at, line in enumerate(lines)}
    at = 0
    while at < len(lines):
        yield lines[at]
        opened = [next(filter(None, match.groups())) for match in _HEREDOC.finditer(lines[at])]
        at += 1
        for delimiter in opened:
            # Only where it is closed: `<<` also stands in arithmetic and in quotations.
            if last_seen.get(delimiter, -1) < at:
                continue
            while lines[at].strip() != delimiter:
                at += 1
            yield lines[at]
            at += 1


def _without_long_quotes(text: str) -> str:
    return _QUOTED.sub(_shortened, text)


def _shortened(match: re.Match[str]) -> str:
    token = match[0]
    if token[0] not in "'\"" or len(token) <= _KEPT + 2:
        return token
    return token[0] + re.sub(r"[^\w\s./:-]", "", token[1 : 1 + _KEPT]) + token[0]
