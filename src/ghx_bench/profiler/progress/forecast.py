"""How long the rest of a run will take, from the cells that are finished."""

from collections.abc import Sequence

_ENOUGH = 2
"""One cell is no average."""

_TRUST = 0.5
"""How much of a change of mind is shown at once."""


def forecast_rest_s(
    *, finished: int, spent_s: float, running_s: Sequence[float], waiting: int, max_concurrency: int
) -> float | None:
    """Return how long the cells that run and wait will take; `None` while too few are finished to tell.

    `spent_s` is what the finished cells took together, `running_s` how long each of the others has been running. With
    many at a time the quick ones finish first, so one that already runs longer than their mean counts into it as it is.
    """
    if finished < _ENOUGH:
        return None
    slow = [so_far for so_far in running_s if so_far * finished > spent_s]
    mean_s = (spent_s + sum(slow)) / (finished + len(slow))
    left_s = waiting * mean_s + sum(max(mean_s - so_far, 0.0) for so_far in running_s)
    at_a_time = min(max_concurrency, waiting + len(running_s))
    return left_s / at_a_time if at_a_time else 0.0


def temper(rest_s: float, before_s: float | None) -> float:
    """Go half the way from the forecast that is on the screen to the new one, so that it does not jump."""
    return rest_s if before_s is None else before_s + _TRUST * (rest_s - before_s)
