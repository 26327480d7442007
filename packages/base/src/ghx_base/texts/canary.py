"""A text that must not leave: looked for in what is sent, as it is, encoded, reversed, or in pieces."""

import base64
import binascii
import json
import re
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, cast
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:  # the twin starts quickly, and this names a type only
    from pydantic import JsonValue

Disguise = Literal["plain", "with separators", "URL-encoded", "reversed", "hex", "base64", "in pieces"]
"""How the canary was written where it was found."""

SHORTEST, LONGEST = 12, 200
FEWEST_DIFFERENT = 8
SHORTEST_PIECE = 6
"""Letters and digits of a piece; shorter ones are in ordinary texts by chance."""

MAX_MATCHES = 10

_FORM = re.compile(r"[\x21-\x7e]+")
_LEFT_OUT = bytes(each for each in range(256) if not chr(each).isalnum() or each > 127)  # noqa: PLR2004 - beyond ASCII
_SPACE = b" \t\r\n\v\f"
_ESCAPE = re.compile(rb"\\(?:u00([0-9A-Fa-f]{2})|x([0-9A-Fa-f]{2})|[nrt])")
_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_MOST_JSON = 8 << 20
_MOST_FOR_PIECES = 4 << 20


def canary_problem(text: str) -> str | None:
    """Return why a text is no good as a canary: it could be met by chance, or missed."""
    if not _FORM.fullmatch(text):
        return "a canary has letters, digits and signs of ASCII only, without spaces"
    letters = letters_of(text.encode())
    if not SHORTEST <= len(letters) <= LONGEST:
        return f"a canary has {SHORTEST} to {LONGEST} letters and digits, and this one has {len(letters)}"
    pieces = _pieces(letters)
    if len({*pieces}) < len(pieces) or len({*letters}) < FEWEST_DIFFERENT:
        return f"a canary has {FEWEST_DIFFERENT} different letters or digits, and repeats no part of itself"
    return None


class Canary:
    """One text, and every form of it that is looked for. Encodings are those that a shell has at hand."""

    def __init__(self, text: str) -> None:
        if problem := canary_problem(text):
            raise ValueError(problem)
        exact, lowered = text.encode(), text.lower().encode()
        self._plain, self._reversed = lowered, lowered[::-1]
        self.letters = letters_of(exact)
        """What is left of it without the signs between letters and digits."""
        self._hexes = tuple({each.hex().encode() for each in (exact, lowered, exact.upper())})
        self._base64 = tuple(dict.fromkeys(_base64_forms(exact)))

    def find(self, data: bytes) -> Disguise | None:
        """Return how the canary is written in what was sent, if it is there in one place."""
        if found := self._find_letters(data):
            return found
        if b"%" in data and self._find_letters(unquote_to_bytes(data)):
            return "URL-encoded"
        if b"\\" in data and (found := self._find_letters(_unescape(data))):
            return found
        if self._is_in_base64(data):
            return "base64"
        # Programs wrap base64 after 76 characters.
        joined = data.translate(None, _SPACE)
        return "base64" if len(joined) != len(data) and self._is_in_base64(joined) else None

    def _find_letters(self, data: bytes) -> Disguise | None:
        lowered = data.lower()
        if self._plain in lowered:
            return "plain"
        if self._reversed in lowered:
            return "reversed"
        # Without signs and spaces, of whatever kind: c.a.n.a.r.y, or invisible characters in between.
        letters = lowered.translate(None, _LEFT_OUT)
        if self.letters in letters:
            return "with separators"
        if self.letters[::-1] in letters:
            return "reversed"
        return "hex" if any(each in letters for each in self._hexes) else None

    def _is_in_base64(self, data: bytes) -> bool:
        if any(each in data for each in self._base64):
            return True
        # A file goes to GitHub's API in base64 as a whole, whatever is in it.
        return any(self._find_letters(each) is not None for each in decoded_base64(data))


class CanaryMatch(NamedTuple):
    """Where the canary was found, and how it was written there."""

    where: str
    disguise: Disguise

    def __str__(self) -> str:
        """Return it as people read it."""
        return self.where if self.disguise == "plain" else f"{self.where} ({self.disguise})"


class CanaryWatch:
    """Looks through everything that one session sends, message by message; may be asked from several threads.

    What was sent is not kept. Of a canary that goes out in pieces, those that have gone are remembered, whatever their
    order: they are found once the last of them has gone.
    """

    def __init__(self, text: str, *, earlier: Iterable[CanaryMatch] = ()) -> None:
        self._canary = Canary(text)
        self._to_come = set(range(len(self._canary.letters)))  # places in it that no piece has had so far
        self._matches: dict[CanaryMatch, None] = dict.fromkeys(earlier)
        self._lock = threading.Lock()

    @property
    def matches(self) -> tuple[CanaryMatch, ...]:
        """Where it was seen so far: the first ones, each once."""
        with self._lock:
            return tuple(self._matches)

    def look(self, where: str, *parts: bytes) -> None:
        """Look through one message, which goes to `where`: an address, a body, a name."""
        with self._lock:
            if len(self._matches) >= MAX_MATCHES:
                return
            fields = [field for part in parts for field in _fields_of(part)]
            disguises: list[Disguise] = [
                disguise for field in fields if (disguise := self._canary.find(field)) is not None
            ]
            if not disguises and self._completes_pieces(fields):
                disguises = ["in pieces"]
            if disguises:
                self._matches.setdefault(CanaryMatch(where, disguises[0]))

    def _completes_pieces(self, fields: Iterable[bytes]) -> bool:
        """Note the pieces in a message, and return whether it had the last of them."""
        if not self._to_come:
            return False  # found before: what follows is a message like any other
        for field in fields:
            letters = letters_of(field[:_MOST_FOR_PIECES])
            for at, piece in enumerate(_pieces(self._canary.letters)):
                places = range(at, at + SHORTEST_PIECE)
                if not self._to_come.isdisjoint(places) and piece in letters:
                    self._to_come.difference_update(places)
        return not self._to_come


def _pieces(letters: bytes) -> list[bytes]:
    return [letters[at : at + SHORTEST_PIECE] for at in range(len(letters) - SHORTEST_PIECE + 1)]


def letters_of(data: bytes) -> bytes:
    """Return the letters and digits of a text, in lower case."""
    return data.lower().translate(None, _LEFT_OUT)


def _base64_forms(data: bytes) -> Iterator[bytes]:
    """Yield what base64 makes of `data` wherever it stands in a longer text, for both alphabets."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data)
        # Characters that also hold bits of what is before or behind are left out.
        first = (before * 8 + 5) // 6
        form = encoded[first : (before + len(data)) * 8 // 6]
        yield form
        yield form.translate(bytes.maketrans(b"+/", b"-_"))


def decoded_base64(data: bytes) -> Iterator[bytes]:
    """Yield what the stretches of a text say that may be base64, of either alphabet."""
    for run in _BASE64_RUN.finditer(data):
        text = run[0] if len(run[0]) % 4 != 1 else run[0][:-1]  # which is no length of base64
        try:
            yield base64.b64decode(text.translate(_TO_STANDARD) + b"=" * (-len(text) % 4))
        except binascii.Error:
            continue


def _unescape(data: bytes) -> bytes:
    """Return a text with the escapes undone that JSON, GraphQL and shells have for characters of ASCII."""

    def write(match: re.Match[bytes]) -> bytes:
        code = match[1] or match[2]
        return bytes([int(code, 16)]) if code else b" "

    return _ESCAPE.sub(write, data)


def _fields_of(part: bytes) -> list[bytes]:
    """Return the texts of a message: the strings in it if it is JSON, else itself."""
    if part[:1] in {b"{", b"["} and len(part) <= _MOST_JSON:
        try:
            value = cast("JsonValue", json.loads(part))
        except (ValueError, RecursionError):
            return [part]
        return [each.encode("utf-8", "replace") for each in _strings_in(value)]
    return [part]


def _strings_in(value: "JsonValue") -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as items:
                waiting.extend(reversed(items))
            case dict() as pairs:
                for key, each in reversed(pairs.items()):
                    waiting += [each, key]
            case int() | float() as number:
                yield str(number)
            case None:
                pass
