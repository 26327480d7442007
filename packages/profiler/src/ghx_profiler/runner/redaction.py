"""Secrets of a session, taken out of everything that leaves it: traces, rows, errors."""

import base64
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5
from itertools import accumulate
from typing import TypeVar
from urllib.parse import quote

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from ghx_base.wire import WireModel
from ghx_profiler.records.trace import ReasoningEvent, SessionTrace, TextOutputEvent, TraceEvent

STAND_IN = "***"
"""What stands where a secret was."""

SHORTEST = 8
"""Characters; shorter texts are not secrets, and would match inside ordinary words."""

_LONGEST_WORD = 19
"""Characters; a longer key of a model API is a secret also without a digit."""

_TOKEN = re.compile(r"[\w-]+")
"""What keys and tokens look like; other secrets, such as an address, may begin as other texts do."""

_SHORTEST_PART, _LONGEST_PART = 12, 24
"""How many characters of a token are hidden where the rest is cut off: half of them, within these bounds."""

_SHORTEST_WORDLIKE_PART = 16
"""Characters; a part without a digit that is shorter may be a word, and is not looked for."""

_ENTITIES = {name: char for name, char in html5.items() if name[-1] == ";" and len(char) == 1 and "!" <= char <= "~"}
"""The names that HTML has for characters of keys."""

_ESCAPE = re.compile(
    # No run of backslashes is read twice: a text may consist of millions of them.
    r"(?<!\\)\\++(?:u(?P<utf16>(?!00[01])[0-9a-fA-F]{4})|u\{0{0,4}(?P<code>[2-7][0-9a-fA-F])\}"
    r"|x(?P<byte>[2-7][0-9a-fA-F])|(?P<octal>0{0,2}[4-7][0-7]|0?1[0-7]{2})|(?P<slash>/))"
    r"|%(?:25)*(?P<percent>[2-7][0-9a-fA-F])"
    r"|&(?:amp;)*+(?:#[xX]0{0,5}(?P<hexadecimal>[2-7][0-9a-fA-F]);?|#0{0,5}(?P<decimal>1[0-2]\d|[3-9]\d);?"
    rf"|(?P<entity>{'|'.join(map(re.escape, sorted(_ENTITIES.keys() - {'amp;'})))})|(?P<ampersand>(?<=amp;)))"
)
"""One character as JSON, Python, a shell, a URL or HTML can write it.

More backslashes, `%25` or `&amp;` are there if that was written so once more.
"""

_MOST_DECODINGS = 3
"""How often a text is decoded: what one notation has escaped can be escaped in another, as HTML is in JSON."""

M = TypeVar("M", bound=WireModel)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces the secrets of a session in texts, however they are spelled.

    A character can be an escape of JSON, a shell, a URL or HTML, the whole can be in base64, and of a token that was
    cut off one half is enough. What else a program makes of a secret, such as reversing it, is not recognised.
    """

    _secrets: re.Pattern[str] | None = None

    @classmethod
    def of(cls, secrets: Iterable[str], *, keys: Iterable[str] = ()) -> "Redaction":
        """Return what takes these secrets out; those that are too short to be any are left in.

        `keys` are those of model APIs, of which one half is enough whatever characters they have.
        """
        keys = {each for each in keys if is_secret_key(each)}
        whole = {each for each in (*secrets, *keys) if len(each) >= SHORTEST}
        spellings = {each for secret in whole for each in _spellings(secret) if len(each) >= SHORTEST}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        parts = {part for secret in whole if _TOKEN.fullmatch(secret) for part in _match_parts(secret, r"[\w-]*")}
        # What follows a half can be all that a bearer token is made of (RFC 6750).
        parts |= {part for key in keys for part in _match_parts(key, r"[\w.~+/=-]*")}
        patterns = [*map(re.escape, longest_first), *sorted(parts)]
        return cls(re.compile("|".join(patterns)) if patterns else None)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        if self._secrets is None:
            return text
        if not _ESCAPE.search(text):
            return self._secrets.sub(STAND_IN, text)
        pieces, done = list[str](), 0
        for start, end in sorted(_find_spans(text, self._secrets)):
            if start >= done:
                pieces += (text[done:start], STAND_IN)
            done = max(done, end)
        return "".join((*pieces, text[done:]))

    def value(self, value: JsonValue) -> JsonValue:
        """Return a JSON value without the secrets, in keys as in values."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(each) for each in value]
            case dict():
                return self._object(value)
            case _:
                return value

    def record(self, record: M, *, keeping: Collection[str] = ()) -> M:
        """Return a record without the secrets; `keeping` are the keys, on the wire, that stay whatever they hold."""
        if self._secrets is None:
            return record
        content = record.to_bytes()
        text = content.decode()
        if self.text(text) == text:
            return record
        fields: dict[str, JsonValue] = from_json(content)
        unredacted = {name: fields[name] for name in keeping if name in fields}
        clean = {**self._object(fields), **unredacted}
        try:
            return type(record).model_validate(clean)
        except ValidationError as error:
            # A secret that is a word of ours, such as the name of a cause, stays where it is that word.
            for problem in error.errors(include_url=False, include_context=False, include_input=False):
                _restore(clean, fields, problem["loc"])
            return type(record).model_validate(clean)

    def trace(self, trace: SessionTrace) -> SessionTrace:
        """Return a trace without the secrets, also where each of several texts holds a part of one."""
        clean = self.record(trace, keeping=("sessionId",))
        parts: set[tuple[str, str]] = set()
        for kind in (TextOutputEvent, ReasoningEvent):
            texts = [event.content for event in clean.events if isinstance(event, kind)]
            parts |= {(kind.__name__, texts[position]) for position in self._find_parts(texts)}

        def hide(event: TraceEvent) -> TraceEvent:
            is_text = isinstance(event, TextOutputEvent | ReasoningEvent)
            is_part = is_text and (type(event).__name__, event.content) in parts
            return event.model_copy(update={"content": STAND_IN}) if is_part else event

        if not parts:
            return clean
        turns = [each.model_copy(update={"events": tuple(map(hide, each.events))}) for each in clean.turns]
        return clean.model_copy(update={"events": tuple(map(hide, clean.events)), "turns": tuple(turns)})

    def _find_parts(self, texts: Sequence[str]) -> set[int]:
        """Return the positions of texts that have no secret, but one together with those that follow."""
        joined = "".join(texts)
        if self._secrets is None or self.text(joined) == joined:
            return set()
        ends = list(accumulate(map(len, texts)))
        # Where only escapes spell it, it is not worth finding out which texts these are.
        spans = [secret.span() for secret in self._secrets.finditer(joined)] or [(0, len(joined))]
        return {each for start, end in spans for each in range(bisect_right(ends, start), bisect_left(ends, end) + 1)}

    def _object(self, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        clean: dict[str, JsonValue] = {}
        numbers: dict[str, int] = {}
        for key, each in value.items():
            name = hidden = self.text(key)
            while name in clean:
                # Counted on from the last one: thousands of keys can become the same.
                numbers[hidden] = numbers.get(hidden, 1) + 1
                name = f"{hidden} ({numbers[hidden]})"
            clean[name] = self.value(each)
        return clean


@dataclass(frozen=True, slots=True)
class StreamRedaction:
    """Replaces one secret in bytes that come piece by piece, in the spellings of `Redaction` that are not decoded.

    As many asterisks as it had bytes stand in its place, so that a length which was announced stays right.
    """

    _spellings: tuple[bytes, ...]
    _secrets: re.Pattern[bytes] | None
    _beginnings: re.Pattern[bytes] | None

    @classmethod
    @lru_cache(maxsize=64)  # one for each key of a run, needed for every model call
    def of(cls, secret: str) -> "StreamRedaction":
        """Return what takes a secret out; one that is too short to be any is left in."""
        variants = set(_spellings(secret)) if len(secret) >= SHORTEST else set[str]()
        spellings = sorted((each.encode(errors="replace") for each in variants if len(each) >= SHORTEST), key=len)[::-1]
        if not spellings:
            return cls((), None, None)
        firsts = {re.escape(each[:1]) for each in spellings}
        return cls(tuple(spellings), re.compile(b"|".join(map(re.escape, spellings))), re.compile(b"|".join(firsts)))

    def hide(self, content: bytes) -> bytes:
        """Return the bytes without the secret."""
        # Looked for first, which takes a tenth of the time: almost no piece of an answer holds it.
        if self._secrets is None or not any(each in content for each in self._spellings):
            return content
        return self._secrets.sub(lambda found: b"*" * len(found[0]), content)

    def split(self, content: bytes) -> tuple[bytes, bytes]:
        """Return what can be passed on, without the secret, and the end that may be the beginning of one."""
        content = self.hide(content)
        if self._beginnings is None:
            return content, b""
        for match in self._beginnings.finditer(content, max(len(content) - len(self._spellings[0]) + 1, 0)):
            rest = content[match.start() :]
            if any(each.startswith(rest) for each in self._spellings):
                return content[: match.start()], rest
        return content, b""


def _restore(clean: JsonValue, fields: JsonValue, place: tuple[int | str, ...]) -> None:
    """Put what was at a place back, or take away what was not there; a union's own steps in a place are passed over."""
    for index, step in enumerate(place):
        match clean, fields:
            case dict(), dict() if step in fields:
                if index == len(place) - 1 or step not in clean or not isinstance(clean[step], dict | list):
                    clean[str(step)] = fields[str(step)]
                    return
                clean, fields = clean[str(step)], fields[str(step)]
            case list(), list() if isinstance(step, int) and step < len(fields):
                if index == len(place) - 1 or not isinstance(clean[step], dict | list):
                    clean[step] = fields[step]
                    return
                clean, fields = clean[step], fields[step]
            case dict(), _ if index == len(place) - 1:
                clean.pop(str(step), None)
                return
            case _:
                continue


def is_secret_key(key: str) -> bool:
    """Return whether the key of a model API is a secret: local services take words such as `lm-studio` for one.

    Such a word would be replaced in the texts of agents.
    """
    return len(key) > _LONGEST_WORD or any(each.isdecimal() for each in key)


def _find_spans(text: str, secrets: re.Pattern[str], decodings: int = _MOST_DECODINGS) -> list[tuple[int, int]]:
    """Return where secrets begin and end in a text, also those of which some characters are escapes."""
    spans = [secret.span() for secret in secrets.finditer(text)]
    if not decodings or not _ESCAPE.search(text):
        return spans
    pieces: list[str] = []
    # Where each escape begins and ends: in the decoded text, and in the text itself.
    decoded_places, places, length, done = [0], [0], 0, 0
    for escape in _ESCAPE.finditer(text):
        pieces += (text[done : escape.start()], _decode(escape))
        length += escape.start() - done + 1
        decoded_places += (length - 1, length)
        places += escape.span()
        done = escape.end()

    def find_place(decoded_place: int) -> int:
        nearest = bisect_right(decoded_places, decoded_place) - 1
        return places[nearest] + decoded_place - decoded_places[nearest]

    decoded = "".join((*pieces, text[done:]))
    inner_spans = _find_spans(decoded, secrets, decodings - 1)
    return spans + [(find_place(start), find_place(end)) for start, end in inner_spans]


def _decode(escape: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    match escape.lastgroup:
        case "slash":
            return "/"
        case "ampersand":
            return "&"
        case "entity":
            return _ENTITIES[escape["entity"]]
        case "octal":
            return chr(int(escape["octal"], 8))
        case "decimal":
            return chr(int(escape["decimal"]))
        case _:
            return chr(int(escape[escape.lastindex or 0], 16))


def _match_parts(token: str, rest: str) -> Iterator[str]:
    """Yield patterns of what is left of a token that was cut off: its beginning and the rest, or its end."""
    length = max(_SHORTEST_PART, min(len(token) // 2, _LONGEST_PART))
    beginning, end = token[:length], token[-length:]
    if _is_sensitive(beginning):
        yield re.escape(beginning) + rest
    if _is_sensitive(end):
        yield re.escape(end)


def _is_sensitive(part: str) -> bool:
    """Return whether a part of a token is not an ordinary word, which unrelated texts may contain."""
    shortest = _SHORTEST_PART if any(each.isdecimal() for each in part) else _SHORTEST_WORDLIKE_PART
    return len(part) >= shortest


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield from _base64_cores(secret.encode(errors="replace"))


def _base64_cores(secret: bytes) -> Iterator[str]:
    """Yield what base64 makes of a secret, whatever stands before and after it, as in `user:password`."""
    for before, start in enumerate((0, 2, 3)):
        # Characters that also hold bits of what stands around the secret are not the same everywhere.
        end = (before + len(secret)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + secret).decode()[start:end]
