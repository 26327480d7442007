"""Where in a user's own code something happened."""

import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from traceback import FrameSummary

_OTHERS = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_OURS = str(Path(__file__).resolve().parents[1])


def is_own_file(filename: str) -> bool:
    """Return whether a file of code belongs to this package."""
    return str(Path(filename).resolve()).startswith(_OURS)


def find_user_frame(frames: Iterable[FrameSummary]) -> FrameSummary | None:
    """Return the innermost frame of code that is neither Python's, nor a package's, nor ours, if there is one."""
    found: FrameSummary | None = None
    for frame in frames:
        place = str(Path(frame.filename).resolve())
        if not frame.filename.startswith("<") and not place.startswith((*_OTHERS, _OURS, sys.prefix)):
            found = frame
    return found


def describe_frame(frame: FrameSummary) -> str:
    """Return where a frame is, for people, with the line itself where its file can be read."""
    line = f": {frame.line}" if frame.line else ""
    return f"{Path(frame.filename).name} line {frame.lineno}, in {frame.name}{line}"
