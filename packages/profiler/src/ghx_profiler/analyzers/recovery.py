"""What an agent did about an error."""

from enum import StrEnum
from itertools import dropwhile

from ghx_profiler.analyzers.session_view import Call, SessionView
from ghx_profiler.records.trace import ErrorEvent


class Recovery(StrEnum):
    """The reaction, as soon as the agent could know of the error."""

    RETRY = "retry"
    """After a failed call: the same tool or command again, with the same or other arguments."""
    ALTERNATIVE = "alternative"
    """After a failed call: other tools or commands only."""
    TOOL_FOLLOWUP = "tool_followup"
    """After an error outside of any call: a call."""
    GIVE_UP = "give_up"
    """No further call."""


def recovery_from(error: Call | ErrorEvent, number: int, view: SessionView) -> Recovery:
    """Return what the agent did about an error in the round with this number.

    Calls of the same turn do not count for a failed call: the agent had not seen its answer when it made them.
    """
    if isinstance(error, ErrorEvent):
        in_this_round = dropwhile(lambda each: each is not error, view.rounds[number].events)
        follows = any(isinstance(each, Call) for each in in_this_round) or _next_calls(number, view)
        return Recovery.TOOL_FOLLOWUP if follows else Recovery.GIVE_UP
    reaction = _next_calls(number, view)
    if not reaction:
        return Recovery.GIVE_UP
    is_again = any(not set(error.names).isdisjoint(call.names) for call in reaction)
    return Recovery.RETRY if is_again else Recovery.ALTERNATIVE


def _next_calls(number: int, view: SessionView) -> tuple[Call, ...]:
    """Return the calls of the next round that has any."""
    return next((later.calls for later in view.rounds[number + 1 :] if later.calls), ())
