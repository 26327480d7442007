"""When a request is made again, and after how long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, GitHubError, UnreachableError

_PASSING = frozenset({None, 500, 502, 503, 504})  # None: the answer was fine, and said so inside
_UNNAMED_LIMIT_S = 60.0  # what GitHub asks for where it names no time


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a request is made in all, and how long at most all waiting for the next time may take.

    A limit that ends later than that is not waited for: the caller is told when it ends.
    """

    attempts: int = 3
    first_wait_s: float = 0.25
    longest_wait_s: float = 60.0

    def wait_before_retry(
        self, error: CapabilityError, *, waits: Sequence[float], mutates: bool, now_s: float
    ) -> float | None:
        """Return after how many seconds a request that failed, after these waits, is made again; `None` if it is not.

        What changes GitHub is asked again only if nothing was changed for sure: the request was never sent, or it
        was turned away by a rate limit.
        """
        if len(waits) + 1 >= self.attempts or not _would_help(error, mutates=mutates):
            return None
        wait = _asked_to_wait(error.details, now_s)
        if wait is None:
            first = _UNNAMED_LIMIT_S if error.error_code == ErrorCode.RATE_LIMIT else self.first_wait_s
            wait = first * 2 ** len(waits)
        return wait if sum(waits) + wait <= self.longest_wait_s else None


def _would_help(error: CapabilityError, *, mutates: bool) -> bool:
    match error:
        case UnreachableError():
            return error.retryable and not (mutates and error.sent)
        case GitHubError(error_code=ErrorCode.RATE_LIMIT):
            return True
        case GitHubError():
            return not mutates and error.error_code == ErrorCode.SERVER and error.status in _PASSING
        case _:
            return False


def _asked_to_wait(details: Mapping[str, object], now_s: float) -> float | None:
    match details:
        case {"retryAfterS": int(seconds)}:
            return float(seconds)
        case {"rateLimitResetsAt": int(moment)}:
            return max(0.0, moment - now_s)
        case _:
            return None
