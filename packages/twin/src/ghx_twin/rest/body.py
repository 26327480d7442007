"""Reads what clients write: JSON bodies, with GitHub's wording for what is wrong with them, and times."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn, cast

from ghx_twin.git.objects import Signature
from ghx_twin.refusals import FieldError, InvalidRefusal
from ghx_twin.reply import JsonObject
from ghx_twin.rest.errors import BadRequestRefusal

_LARGEST = 2**63 - 1  # what a column holds
LONGEST_QUOTE = 64 * 1024  # characters


class Body:
    """A JSON object from a client; unknown keys are ignored, as on GitHub."""

    def __init__(self, content: JsonObject, pointer: str = "") -> None:
        self._content, self._pointer = content, pointer

    def __contains__(self, name: str) -> bool:
        return name in self._content

    def names(self) -> list[str]:
        """Return the keys in the order in which they came."""
        return list(self._content)

    def get(self, name: str) -> Any:
        """Return a value as it came."""
        return self._content.get(name)

    def required_text(self, name: str) -> str:
        """Return a text that must be there."""
        self.require(name)
        value = self._content[name]
        return value if isinstance(value, str) else self._wrong(name, value, "a string")

    def text(self, name: str) -> str | None:
        """Return a text, None where it is left out or null."""
        value = self._content.get(name)
        return value if value is None or isinstance(value, str) else self._wrong(name, value, "a string")

    def choice(self, name: str, options: Sequence[str]) -> str | None:
        """Return one of a few words, None where it is left out or null."""
        value = self.text(name)
        if value is None or value in options:
            return value
        raise _invalid(f"For '{self._path(name)}', {_to_ruby(value)} is not a member of {json.dumps(list(options))}.")

    def flag(self, name: str) -> bool | None:
        """Return a boolean, None where it is left out or null."""
        value = self._content.get(name)
        return value if value is None or isinstance(value, bool) else self._wrong(name, value, "a boolean")

    def integer(self, name: str, kind: str = "an integer") -> int | None:
        """Return an integer, None where it is left out or null; a text of digits is none, as on GitHub."""
        value = self._content.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST):
            return value
        return self._wrong(name, value, kind)

    def integer_or_digits(self, name: str) -> int | None:
        """Return an integer that may be spelled as text, where GitHub's description allows both."""
        value = self._content.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            # Twenty digits are enough to be refused as too large; int() raises beyond 4300.
            return Body({name: int(value[:20])}, self._pointer).integer(name)
        return self.integer(name)

    def items(self, name: str) -> list[Any] | None:
        """Return an array, None where it is left out or null."""
        value = self._content.get(name)
        if value is None or isinstance(value, list):
            return cast("list[Any] | None", value)
        return self._wrong(name, value, "an array")

    def texts(self, name: str) -> list[str] | None:
        """Return an array of texts, None where it is left out or null."""
        items = self.items(name)
        for item in items or ():
            if not isinstance(item, str):
                raise _invalid(f"For '{self._path(name)}/items', {_to_ruby(item)} is not a string.")
        return items

    def nested(self, name: str) -> "Body | None":
        """Return an object inside, None where it is left out or null."""
        value = self._content.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._wrong(name, value, "an object")
        return Body(cast("JsonObject", value), f"{self._path(name)}/")

    def objects(self, name: str) -> "list[Body]":
        """Return an array of objects; empty where it is left out or null."""
        bodies: list[Body] = []
        for item in self.items(name) or ():
            if not isinstance(item, dict):
                raise _invalid(f"For '{self._path(name)}/items', {_to_ruby(item)} is not an object.")
            bodies.append(Body(cast("JsonObject", item), f"{self._path(name)}/items/"))
        return bodies

    def require(self, *names: str) -> None:
        """Refuse a body in which any of these is left out."""
        missing = [name for name in names if name not in self._content]
        if missing:
            quoted = ", ".join(f'"{name}"' for name in missing)
            verb = "wasn't" if len(missing) == 1 else "weren't"
            raise _invalid(f"{quoted} {verb} supplied.")

    def _path(self, name: str) -> str:
        return f"{self._pointer}properties/{name}"

    def _wrong(self, name: str, value: object, kind: str) -> NoReturn:
        raise _invalid(f"For '{self._path(name)}', {_to_ruby(value)} is not {kind}.")


def parse_body(content: bytes) -> Any:
    """Return the JSON of a body, an empty object where there is no body."""
    if not content.strip():
        return {}
    try:
        # parse_constant: Python reads NaN and Infinity, which are no JSON.
        value = json.loads(content, parse_constant=_refuse_constant)
        if b"\\u" in content:
            json.dumps(value, ensure_ascii=False).encode()  # raises for half a surrogate pair, which no column can hold
    except (ValueError, RecursionError) as error:
        raise BadRequestRefusal("Problems parsing JSON") from error
    return value


def as_object(value: object) -> Body:
    """Return the body as an object."""
    if not isinstance(value, dict):
        raise BadRequestRefusal("Body should be a JSON object")
    return Body(cast("JsonObject", value))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _to_ruby(value: object) -> str:
    """Return a value as Ruby prints it, which is how GitHub quotes it; of a long one, the beginning."""
    pieces, length = list[str](), 0
    for piece in _ruby_pieces(value):
        pieces.append(piece)
        length += len(piece)
        if length > LONGEST_QUOTE:  # a body may have 64 MiB, and nobody reads them in an error
            return "".join(pieces)[:LONGEST_QUOTE] + "..."
    return "".join(pieces)


def _ruby_pieces(value: object) -> Iterator[str]:
    match value:
        case None:
            yield "nil"
        case dict():
            for place, (key, item) in enumerate(cast("JsonObject", value).items()):
                yield ", " if place else "{"
                yield from _ruby_pieces(key)
                yield " => "
                yield from _ruby_pieces(item)
            yield "}" if value else "{}"
        case list():
            for place, item in enumerate(cast("list[object]", value)):
                yield ", " if place else "["
                yield from _ruby_pieces(item)
            yield "]" if value else "[]"
        case str():
            yield json.dumps(value[: LONGEST_QUOTE + 1], ensure_ascii=False)
        case _:
            yield json.dumps(value)


def _invalid(problem: str) -> InvalidRefusal:
    return InvalidRefusal(f"Invalid request.\n\n{problem}")


def parse_time(text: str | None) -> str | None:
    """Return an ISO 8601 time in GitHub's spelling; None for what is no time, which GitHub ignores."""
    if not text:
        return None
    try:
        # A `+` of an offset that was not percent-encoded arrives as a space.
        moment = datetime.fromisoformat(text.strip().replace(" ", "+"))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        utc = aware.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # no time, or one before the year 1 in UTC
        return None
    return f"{utc.isoformat(timespec='seconds')}Z"


def read_signature(body: Body, role: str, now: str) -> Signature | None:
    """Return the signature of a commit or tag from `{name, email, date}`; None where it is left out."""
    if role not in body:
        return None
    person = body.nested(role)
    if person is None:
        raise _invalid(f"For 'properties/{role}', nil is not an object.")
    name, email, date = person.required_text("name"), person.required_text("email"), person.text("date")
    empty = [field for field, text in (("name", name), ("email", email)) if not text.strip()]
    if empty:
        raise InvalidRefusal(errors=[FieldError(resource=role, field=field, code="missing_field") for field in empty])
    moment = now if date is None else parse_time(date)
    if moment is None:
        raise InvalidRefusal(f"Invalid request.\n\n{date} is not a valid date.")
    return Signature(name=name, email=email, at=moment)
