"""Traces on disk: what is one, and what only looks like one."""

import json
from typing import ClassVar, cast

from pydantic import ValidationError

from ghx_base.errors import InputError
from ghx_profiler.records.trace import SessionTrace

_CONTENTS = ("events", "turns", "summary")
_RESTORE = "restore the file, or take it away"
_IMPORT = "import it with `from_atif`, as docs/interchange.md shows"


class NoTraceError(InputError):
    """A file is not a trace of a session; with the `reason` and the `remedy`."""

    code: ClassVar[str] = "NO_TRACE"

    def __init__(self, reason: str, remedy: str = _RESTORE) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason, self.remedy = reason, remedy

    def __reduce__(self) -> tuple[type["NoTraceError"], tuple[str, str]]:
        return type(self), (self.reason, self.remedy)


def parse_trace(content: bytes) -> SessionTrace:
    """Return the trace that a file holds; raise `NoTraceError` for anything else.

    Files of other kinds name their session too, findings do and trajectories. A file with nothing of a session but its
    id is not a trace: read as one, it would count as a session in which nothing happened.
    """
    try:
        trace = SessionTrace.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"/{part}" for part in first["loc"])
        raise _trace_error(content) or NoTraceError(f"{where or 'all of it'}: {first['msg']}") from error
    if trace.model_fields_set.isdisjoint(_CONTENTS):
        raise _trace_error(content) or NoTraceError(f"it has none of {', '.join(_CONTENTS[:-1])} and {_CONTENTS[-1]}")
    return trace


def _trace_error(content: bytes) -> NoTraceError | None:
    """Return the error with the kind of file, if it is known."""
    try:
        trace: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    version = cast("dict[str, object]", trace).get("schema_version") if isinstance(trace, dict) else None
    is_atif = isinstance(version, str) and version.startswith("ATIF")
    return NoTraceError("it is an ATIF trajectory", _IMPORT) if is_atif else None
