"""Which files an export wrote: what only looks like one is somebody else's, and is not overwritten."""

import json
from typing import Any

from ghx_bench.profiler.interchange.trajectory import OURS

SCOPE = "ghx_bench"


def is_trajectory(line: bytes) -> bool:
    """Say whether a file that begins with this line is a trajectory of ours; ours have one line."""
    return _leads_to(line, "schema_version") and _leads_to(line, "extra", OURS, "version")


def is_spans(line: bytes) -> bool:
    """Say whether a file that begins with this line has spans of ours."""
    return _leads_to(line, "resourceSpans", 0, "scopeSpans", 0, "scope", "name", ends_in=SCOPE)


def _leads_to(line: bytes, *path: str | int, ends_in: str | None = None) -> bool:
    """Say whether there is something at a path, or just this."""
    try:
        found: Any = json.loads(line)
        for part in path:
            found = found[part]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return found is not None if ends_in is None else found == ends_in
