"""Values in shell text: written so that the shell reads them as they are, wherever they stand."""

import re
import shlex
from enum import Enum, auto

_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_ACTIVE = re.compile(r'([\\"$`])')


class _Place(Enum):
    """How the shell reads a part of a text."""

    WORDS = auto()
    SINGLE = auto()
    DOUBLE = auto()
    DATA = auto()


class Quoting:
    """Knows of every place in a shell text whether it is inside quotes, or the body of a here-document."""

    def __init__(self, text: str) -> None:
        self._places = _places(text)

    def quoted(self, value: str, position: int) -> str:
        """Write a value for the place at this position; one of plain characters is the same everywhere."""
        place = self._places[position]
        if place is _Place.DATA or _PLAIN.fullmatch(value):
            return value
        match place:
            case _Place.SINGLE:
                return value.replace("'", "'\\''")
            case _Place.DOUBLE:
                return _ACTIVE.sub(r"\\\1", value)
            case _:
                return shlex.quote(value)


def _places(text: str) -> list[_Place]:
    places = [_Place.WORDS] * (len(text) + 1)
    bodies = _bodies(text)
    place, at = _Place.WORDS, 0
    while at < len(text):
        if end := bodies.get(at):
            places[at:end] = [_Place.DATA] * (end - at)
            place, at = _Place.WORDS, end
            continue
        places[at] = place
        if text[at] == "\\" and place is not _Place.SINGLE:
            places[at : at + 2] = [place] * len(places[at : at + 2])
            at += 2
            continue
        place = _after(text[at], place)
        at += 1
    return places


def _after(character: str, place: _Place) -> _Place:
    match character, place:
        case "'", _Place.WORDS:
            return _Place.SINGLE
        case '"', _Place.WORDS:
            return _Place.DOUBLE
        case ("'", _Place.SINGLE) | ('"', _Place.DOUBLE):
            return _Place.WORDS
        case _:
            return place


def _bodies(text: str) -> dict[int, int]:
    """Return where the bodies of here-documents begin and end."""
    bodies: dict[int, int] = {}
    for opened in _HEREDOC.finditer(text):
        begin = text.find("\n", opened.end()) + 1
        closed = re.compile(rf"^\t*{re.escape(opened[2])}$", re.MULTILINE).search(text, begin) if begin else None
        if closed:
            bodies[begin] = closed.start()
    return bodies
