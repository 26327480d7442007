"""Files that people write: their value as JSON, and where in the file each part of it stands."""

import os
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from ghx_base.documents.jsontext import json_places, load_json
from ghx_base.documents.model_errors import Complaint
from ghx_base.documents.text import MAX_FLAWS, Flaw, FlawedTextError, Lines, Place, Position
from ghx_base.documents.yamltext import load_yaml, yaml_places
from ghx_base.errors import DocumentError
from ghx_base.problems import (
    Problem,
    listed,
    nearest,
    pointer_of,
    shortened,
    shortened_pointer,
    tokens_of,
)

Format = Literal["json", "yaml"]

DEFAULT_MAX_BYTES = 5_000_000
"""The largest file that is read by default; people do not write larger ones."""

_FORMATS: dict[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True)
class Document:
    """The value of a file, not to be changed, and the text it came from.

    Positions are computed on first use, to show a problem.
    """

    path: Path
    format: Format
    text: str
    value: JsonValue

    def position(self, pointer: str) -> Position | None:
        """Return where the value begins that a JSON pointer leads to, if it leads to one."""
        place = self._places.find(tokens_of(pointer))
        return None if place is None else self._lines.position(place.start)

    def key_position(self, pointer: str) -> Position | None:
        """Return where the key of that value begins; the value itself where it has no key."""
        place = self._places.find(tokens_of(pointer))
        if place is None:
            return None
        return self._lines.position(place.start if place.key_start is None else place.key_start)

    @cached_property
    def _places(self) -> Place:
        return json_places(self.text) if self.format == "json" else yaml_places(self.text)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)


def read_document(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> Document:
    """Read a JSON or YAML file, by the suffix; raise `DocumentError` if it is not one."""
    path = path if isinstance(path, Path) else Path(path)
    try:
        data = _read(path, max_bytes)
    except (OSError, ValueError) as error:
        raise DocumentError([_explain_unreadable(path, error)]) from None
    return parse_document(data, path=path)


def parse_document(data: bytes, *, path: Path) -> Document:
    """Return the document in the content of a file that was read elsewhere."""
    format_ = _format_of(path)
    text = _decode(data, path)
    if not text.strip():
        raise DocumentError([Problem(file=str(path), reason="the file is empty")])
    try:
        value = load_json(text) if format_ == "json" else load_yaml(text)
    except FlawedTextError as error:
        raise DocumentError(_problems_of(error.flaws, text, path)) from None
    return Document(path=path, format=format_, text=text, value=value)


def problem(
    document: Document, pointer: str, reason: str, suggestion: str | None = None, *, at_key: bool = False
) -> Problem:
    """Return a problem with its place; where the pointer leads nowhere, that of the nearest part above it."""
    location = pointer
    while (position := document.key_position(location) if at_key else document.position(location)) is None:
        location = location.rpartition("/")[0]
    return Problem(
        file=str(document.path),
        line=position.line,
        column=position.column,
        pointer=shortened_pointer(pointer),
        value=None if at_key or location != pointer else shortened(_value_at(document.value, pointer)),
        reason=reason,
        suggestion=suggestion,
    )


def problem_of(document: Document, finding: Complaint) -> Problem:
    """Return what was found as a problem with its place in the document."""
    return problem(document, pointer_of(finding.tokens), finding.reason, finding.suggestion, at_key=finding.at_key)


def problems_of(document: Document, findings: Iterable[Complaint]) -> list[Problem]:
    """Return what was found as problems, in the order of the document and at most `MAX_FLAWS` of them.

    A lazy `findings` is read no further than what is shown: finding all of them in a hostile file could take for ever.
    """
    first = findings if isinstance(findings, list) else islice(findings, MAX_FLAWS + 1)
    problems = [problem_of(document, finding) for finding in first]
    problems.sort(key=lambda each: (each.line or 0, each.column or 0))
    return problems if len(problems) == MAX_FLAWS else with_limit(problems, str(document.path))


def _value_at(value: JsonValue, pointer: str) -> JsonValue:
    for token in tokens_of(pointer):
        value = value[int(token)] if isinstance(value, list) else value[token] if isinstance(value, dict) else None
    return value


def _read(path: Path, max_bytes: int) -> bytes:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise DocumentError([Problem(file=str(path), reason="this is a folder", suggestion="name a file in it")])
    if not stat.S_ISREG(status.st_mode):
        # A pipe would block and a device never end.
        raise DocumentError([Problem(file=str(path), reason="this is not a regular file")])
    if status.st_size > max_bytes:
        raise DocumentError([_too_large(path, status.st_size, max_bytes)])
    with path.open("rb") as file:
        data = file.read(status.st_size + 1)
        if len(data) > status.st_size:  # it grew since
            data += file.read(max_bytes + 1 - len(data)) if len(data) <= max_bytes else b""
    if len(data) > max_bytes:
        raise DocumentError([_too_large(path, len(data), max_bytes)])
    return data


def _too_large(path: Path, size: int, max_bytes: int) -> Problem:
    reason = f"the file has {_megabytes(size)}, more than the {_megabytes(max_bytes)} allowed"
    return Problem(file=str(path), reason=reason, suggestion="split it")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"  # noqa: PLR2004 - 0.1 MB


def _explain_unreadable(path: Path, error: Exception) -> Problem:
    match error:
        # A link that leads nowhere raises the same error as a missing file, and has another remedy.
        case FileNotFoundError() if path.is_symlink():
            reason = f"this link leads to {shortened(str(path.readlink()))}, which is not there"
            return Problem(file=str(path), reason=reason, suggestion="remove it, or let it lead to a file")
        case FileNotFoundError():
            return Problem(file=str(path), reason="there is no such file", suggestion=_suggest_file(path))
        case PermissionError():
            return Problem(file=str(path), reason="no permission to read this file")
        case OSError(strerror=str() as message):
            return Problem(file=str(path), reason=f"the file cannot be read: {message}")
        case _:
            return Problem(file=str(path), reason="this cannot be the name of a file")


def _suggest_file(path: Path) -> str | None:
    try:
        siblings = [each.name for each in path.parent.iterdir() if each.suffix.lower() in _FORMATS]
    except OSError:
        return f"there is no folder {str(path.parent)!r} either"
    suggestion = nearest(path.name, sorted(siblings))
    return f"did you mean {str(path.parent / suggestion)!r}?" if suggestion else None


def _format_of(path: Path) -> Format:
    format_ = _FORMATS.get(path.suffix.lower())
    if format_ is None:
        reason = f"a file name must end in one of {listed(_FORMATS)}"
        raise DocumentError([Problem(file=str(path), reason=reason)])
    return format_


def _decode(data: bytes, path: Path) -> str:
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    try:
        return data[len(mark) :].decode()
    except UnicodeDecodeError as error:
        offset = len(mark) + error.start
        read = data[len(mark) : offset].decode()
        line, column = Lines(read).position(len(read))
        guess = "it looks like UTF-16; " if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else ""
        reason = f"this is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}"
        raise DocumentError(
            [Problem(file=str(path), line=line, column=column, reason=reason, suggestion=f"{guess}save it as UTF-8")]
        ) from None


def _problems_of(flaws: Sequence[Flaw], text: str, path: Path) -> list[Problem]:
    lines = Lines(text)
    problems: list[Problem] = []
    for flaw in flaws:
        line, column = lines.position(flaw.offset)
        problems.append(
            Problem(file=str(path), line=line, column=column, reason=flaw.reason, suggestion=flaw.suggestion)
        )
    return with_limit(problems, str(path))


def with_limit(problems: list[Problem], file: str) -> list[Problem]:
    """Return the first `MAX_FLAWS` problems, and one that mentions the rest."""
    if len(problems) < MAX_FLAWS:
        return problems
    rest = Problem(file=file, reason=f"only the first {MAX_FLAWS} problems are shown", suggestion="correct these first")
    return [*problems[:MAX_FLAWS], rest]
