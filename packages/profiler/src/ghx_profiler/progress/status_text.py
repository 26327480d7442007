"""Texts of displays: untrusted text made harmless, durations and verdicts in words."""

import unicodedata

from ghx_base.problems import plural
from ghx_profiler.records.row import ProfileRow

_LONGEST_REASON = 300


def one_line(text: str, limit: int = _LONGEST_REASON) -> str:
    """Make untrusted text safe for a terminal: one line, bounded, without control and direction characters.

    Modes, scenarios, models and errors come from users, agents and services; an escape sequence among them could
    rewrite the screen, a line break could fake a result.
    """
    line = "".join(map(_harmless, " ".join(text[:limit].split())))
    return line if len(text) <= limit else line[: limit - 1] + "…"


def _harmless(character: str) -> str:
    # C is control, format (among it the marks of direction), surrogates, and what no font has.
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character).startswith("C") else character


def clock_time(seconds: float) -> str:
    """Write a duration as a clock shows it: `0:07`, `12:30`, `3:05:00`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def rough_time(seconds: float) -> str:
    """Write a forecast no finer than it is: `20 s`, `7 min`, `2 h 10 min`."""
    if seconds < 55:  # noqa: PLR2004 - what rounds to a minute
        return f"{max(_to_nearest(seconds, 5), 5)} s"
    minutes = _to_nearest(seconds / 60, 1)
    if minutes < 60:  # noqa: PLR2004 - minutes in an hour
        return f"{minutes} min"
    hours, minutes = divmod(_to_nearest(minutes, 10), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def rate(per_second: float) -> str:
    """Write how fast cells are finished, in the unit that gives a number one can read."""
    per_minute = per_second * 60
    return f"{per_minute:.1f} cells/min" if per_minute >= 1 else f"{per_minute * 60:.1f} cells/h"


def verdict(success: bool | None) -> str:
    """Name what was found out about a cell, in five letters at most."""
    match success:
        case True:
            return "ok"
        case False:
            return "wrong"
        case None:
            return "error"


def reason_of(row: ProfileRow) -> str:
    """Return why a cell was not solved; empty for one that was."""
    if row.error is not None:
        return one_line(row.error)
    unmet = ", ".join(each.id for each in row.checkpoint_details or () if not each.passed)
    return one_line(f"not met: {unmet}") if unmet else ""


def spend(row: ProfileRow) -> tuple[str, ...]:
    """Return how long a cell's agent took and how many tokens it used, as far as that is known."""
    parts: list[str] = []
    if row.timing.wall_ms is not None:
        parts.append(f"{row.timing.wall_ms / 1000:.1f} s")
    tokens = row.tokens.total if row.tokens.active is None else row.tokens.active
    if tokens is not None:
        parts.append(plural(tokens, "token"))
    return tuple(parts)


def _to_nearest(value: float, step: int) -> int:
    return round(value / step) * step
