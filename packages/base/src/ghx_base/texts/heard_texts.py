"""Whether texts were in what somebody was given to read, however it was written."""

import re
from collections.abc import Sequence

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9]+")
# As in the logs of jobs, before which gh writes the names of the job and the step.
_TIME_OF_LINE = re.compile(r"(?m)^(?:[^\t\n]*\t){0,2}\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?")
# Bullets as well: wherever a text has one, a difference or a quotation puts its own sign before it.
_BETWEEN_WORDS = re.compile(r"[\s+>*-]+")


class InjectedTextDetector:
    """Texts that somebody planted, and whether all of them were in what others were answered.

    Compared as a reader takes them in: with the escapes of JSON undone, white space folded, and without the times that
    logs, and the signs that differences and quotations put before lines.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._has_any = bool(texts)
        self._missing = {_fold(each) for each in texts}
        # No way of writing a text splits a word of letters and digits: an answer without one does not have the text.
        self._words = {each: max(_WORD.findall(each), key=len, default="").encode() for each in self._missing}

    @property
    def all_found(self) -> bool:
        """Whether every part of the order was read."""
        return self._has_any and not self._missing

    def may_be_in(self, data: bytes) -> bool:
        """Return whether an answer may have what was not heard so far: a quick look that keeps most from a slow one."""
        return any(self._words[each] in data for each in self._missing)

    def read(self, text: str) -> None:
        """Take note of an answer."""
        if self._missing:
            once = _unescape(text)  # and twice: tools quote the JSON that others answered
            read = [_fold(each) for each in (text, once, _unescape(once))]
            self._missing = {each for each in self._missing if not any(each in answer for answer in read)}


def _fold(text: str) -> str:
    return _BETWEEN_WORDS.sub(" ", _TIME_OF_LINE.sub("", text)).strip()


_SHORT = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


def _unescape(text: str) -> str:
    def write(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _SHORT.get(match[3], match[3])

    # JSON writes what is beyond 16 bits as two escapes, which belong together.
    written = _ESCAPE.sub(write, text).encode("utf-16", "surrogatepass")
    return written.decode("utf-16", "replace")
