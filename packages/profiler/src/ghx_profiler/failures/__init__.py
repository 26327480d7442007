"""Whether a tool call failed, why, and what shows it."""

from ghx_profiler.failures.call_outcome import CallOutcome, outcome_of_call
from ghx_profiler.failures.kinds import FailureKind, kind_of

__all__ = ["CallOutcome", "FailureKind", "kind_of", "outcome_of_call"]
