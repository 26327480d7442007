"""A run as a log for programs: one JSON object for each event."""

import errno
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast

from pydantic import JsonValue
from pydantic.alias_generators import to_camel, to_snake

from ghx_base.clock import timestamp
from ghx_base.errors import InputError
from ghx_base.wire import JsonObject, WireModel
from ghx_profiler.events import Event

JSON_LOG_VERSION = 1


class JsonLog:
    """Writes every event as one line of ASCII JSON, at once: `{"event": "cell_finished", "version": 1, ...}`.

    The other keys are the event's own, in camelCase; a finished cell carries its whole row.
    """

    def __init__(self, stream: TextIO, *, owns_stream: bool = False) -> None:
        self._stream = stream
        self._owns_stream = owns_stream

    @classmethod
    def open(cls, target: str) -> Self:
        """Write to the end of the file at this path, so that a resumed run goes on in it; `-` is standard error."""
        if target == "-":
            return cls(sys.stderr)
        try:
            # A pipe must not hold up the run: neither before it is read, nor after reading stops.
            flags = os.O_NONBLOCK if Path(target).is_fifo() else 0
            stream = open(target, "a", encoding="ascii", opener=lambda path, mode: os.open(path, mode | flags, 0o644))  # noqa: SIM115 - with an opener
            return cls(stream, owns_stream=True)
        except OSError as error:
            reason = "nothing reads this pipe" if error.errno == errno.ENXIO else error.strerror or type(error).__name__
            raise InputError(
                f"cannot write the log to {target!r}: {reason}; name another file, or - for stderr"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file, if it was opened here."""
        if self._owns_stream:
            self._stream.close()

    def __call__(self, event: Event) -> None:
        """Write the event."""
        self._stream.write(json.dumps(event_record(event), allow_nan=False) + "\n")
        self._stream.flush()


def event_record(event: Event) -> JsonObject:
    """Return an event as it stands in the log."""
    return {"event": to_snake(type(event).__name__), "version": JSON_LOG_VERSION, **_members(event)}


def _members(record: object) -> dict[str, JsonValue]:
    return {to_camel(each.name): _as_json(getattr(record, each.name)) for each in fields(cast("Any", record))}


def _as_json(value: object) -> JsonValue:
    if isinstance(value, WireModel):
        value = value.to_wire()
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            return timestamp(value)
        case Mapping():
            return {str(key): _as_json(item) for key, item in cast("Mapping[object, object]", value).items()}
        case list() | tuple():
            return [_as_json(item) for item in cast("list[object]", value)]
        case _:
            return _members(value) if is_dataclass(value) else str(value)
