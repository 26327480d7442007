"""Secrets of a session, taken out of everything that leaves it: traces, rows, errors."""

import base64
import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar
from urllib.parse import quote

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from ghx_bench._base.wire import WireModel

STAND_IN = "***"
"""What stands where a secret was."""

SHORTEST = 8
"""Characters; what is shorter is no secret, and would be found in the middle of ordinary words."""

M = TypeVar("M", bound=WireModel)


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces the secrets of a session, however they are spelled: as they are, in a URL, in JSON, or in base64.

    What else an agent makes of a secret, say by turning it round, is not recognised.
    """

    _secrets: re.Pattern[str] | None = None

    @classmethod
    def of(cls, secrets: Iterable[str]) -> "Redaction":
        """Return what takes these secrets out; those that are too short to be any are left in."""
        told = (each for secret in secrets if len(secret) >= SHORTEST for each in _spellings(secret))
        spellings = {each for each in told if len(each) >= SHORTEST}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        return cls(re.compile("|".join(map(re.escape, longest_first))) if longest_first else None)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return text if self._secrets is None else self._secrets.sub(STAND_IN, text)

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
        if self._secrets.search(content.decode()) is None:
            return record
        fields: dict[str, JsonValue] = from_json(content)
        kept = {name: fields[name] for name in keeping if name in fields}
        clean = {**self._object(fields), **kept}
        try:
            return type(record).model_validate(clean)
        except ValidationError as error:
            # A secret that is a word of ours, such as the name of a cause, stays where it is that word.
            for problem in error.errors(include_url=False, include_context=False, include_input=False):
                _put_back(clean, fields, problem["loc"])
            return type(record).model_validate(clean)

    def _object(self, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        clean: dict[str, JsonValue] = {}
        for key, each in value.items():
            told = self.text(key)
            while told in clean:
                told += STAND_IN
            clean[told] = self.value(each)
        return clean


@dataclass(frozen=True, slots=True)
class StreamRedaction:
    """Replaces one secret in bytes that come piece by piece, in all spellings of `Redaction`.

    As many asterisks as it had bytes stand in its place, so that a length which was announced stays right.
    """

    _spellings: tuple[bytes, ...]
    _secrets: re.Pattern[bytes] | None
    _beginnings: re.Pattern[bytes] | None

    @classmethod
    @lru_cache(maxsize=64)  # one for each key of a run, asked for with every model call
    def of(cls, secret: str) -> "StreamRedaction":
        """Return what takes a secret out; one that is too short to be any is left in."""
        told = set(_spellings(secret)) if len(secret) >= SHORTEST else set[str]()
        spellings = sorted((each.encode(errors="replace") for each in told if len(each) >= SHORTEST), key=len)[::-1]
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
        for found in self._beginnings.finditer(content, max(len(content) - len(self._spellings[0]) + 1, 0)):
            rest = content[found.start() :]
            if any(each.startswith(rest) for each in self._spellings):
                return content[: found.start()], rest
        return content, b""


def _put_back(clean: JsonValue, fields: JsonValue, place: tuple[int | str, ...]) -> None:
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
