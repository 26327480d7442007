"""Why a cell has no answer, or counts against its agent; and which failures are worth another attempt."""

import socket
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from traceback import FrameSummary
from typing import ClassVar, cast

import anyio

from ghx_base.errors import GhxBenchError
from ghx_base.own_code import own_folders


class Cause(StrEnum):
    """The cause that stopped a cell. Only the agent's own causes count per protocol; intention-to-treat counts all."""

    AGENT_TIMEOUT = "agent_timeout"
    AGENT_BUDGET = "agent_budget"
    AGENT_SPEND = "agent_spend"
    AGENT_LIMIT = "agent_limit"
    AGENT_REFUSAL = "agent_refusal"
    AGENT_CRASH = "agent_crash"
    AGENT_TAMPERED = "agent_tampered"
    MODEL_PROVIDER = "model_provider"
    ENVIRONMENT = "environment"
    RUN_BUDGET = "run_budget"
    REPLAY_DIVERGED = "replay_diverged"
    SCORER = "scorer"
    BENCH = "bench"

    @property
    def is_the_agents_own(self) -> bool:
        """Whether the agent is the cause."""
        return self.value.startswith("agent_")


class MeasurementError(GhxBenchError):
    """Raised by a provider, lifecycle or scorer that knows the cause.

    ```
    MeasurementError
    ├── TransientError        may work next time; retried within the scenario's `allowedRetries`
    ├── AgentError            the agent itself broke down
    │   ├── AgentBlockedError it kept the event loop from running
    │   ├── TamperedToolsError it changed the programs that it was given
    │   └── LimitBrokenError  its programs used more than they may (`session_limits`)
    ├── ModelProviderError    the model service refused or failed for good
    ├── EnvironmentFailure    what the agent works in could not be prepared
    ├── RunBudgetError        the run has spent what it may; its cells are run when it is resumed with more
    ├── ReplayDivergedError   in a replay, the agent sent its model a request that is not in the recording
    └── OverranError          the bench's own work at the cell took too long
    ```
    """

    code: ClassVar[str] = "MEASUREMENT_FAILED"
    cause: Cause = Cause.BENCH


class TransientError(MeasurementError):
    """Something that may work on another attempt: a dropped connection, a 503, a rate limit."""

    code: ClassVar[str] = "TRANSIENT"

    def __init__(
        self, message: str, *, cause: Cause = Cause.MODEL_PROVIDER, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.retry_after_s = retry_after_s


class AgentError(MeasurementError):
    """The agent broke down by itself: it crashed, or spoke a protocol that its adapter does not understand."""

    code: ClassVar[str] = "AGENT_FAILED"
    cause: Cause = Cause.AGENT_CRASH


class AgentBlockedError(AgentError):
    """The agent made a call that kept its event loop from running: nothing could be cancelled meanwhile."""

    code: ClassVar[str] = "AGENT_BLOCKED"


class TamperedToolsError(AgentError):
    """The session changed the programs that it was given."""

    code: ClassVar[str] = "TOOLS_TAMPERED"
    cause: Cause = Cause.AGENT_TAMPERED


class ModelProviderError(MeasurementError):
    """The model service will not answer: bad credentials, an unknown model, an empty account."""

    code: ClassVar[str] = "MODEL_PROVIDER_FAILED"
    cause: Cause = Cause.MODEL_PROVIDER


class EnvironmentFailure(MeasurementError):  # noqa: N818 - EnvironmentError is a builtin
    """What the agent works in could not be prepared."""

    code: ClassVar[str] = "ENVIRONMENT_FAILED"
    cause: Cause = Cause.ENVIRONMENT


class RunBudgetError(MeasurementError):
    """The run has spent what it may spend."""

    code: ClassVar[str] = "RUN_BUDGET_SPENT"
    cause: Cause = Cause.RUN_BUDGET


class ReplayDivergedError(MeasurementError):
    """An agent sent a request that was not sent when its session was recorded; it has no answer."""

    code: ClassVar[str] = "REPLAY_DIVERGED"
    cause: Cause = Cause.REPLAY_DIVERGED


class OverranError(MeasurementError):
    """A part of the bench's own work at a cell took longer than it may."""

    code: ClassVar[str] = "OVERRAN"
    cause: Cause = Cause.ENVIRONMENT

    def __init__(self, doing: str, what: str) -> None:
        super().__init__(f"{doing} {what} took longer than it may and was cancelled")


_ERRORS: Mapping[Cause, type[MeasurementError]] = {
    Cause.AGENT_CRASH: AgentError,
    Cause.MODEL_PROVIDER: ModelProviderError,
    Cause.ENVIRONMENT: EnvironmentFailure,
    Cause.RUN_BUDGET: RunBudgetError,
    Cause.REPLAY_DIVERGED: ReplayDivergedError,
}


def error_with_cause(
    cause: Cause, message: str, *, is_transient: bool = False, retry_after_s: float | None = None
) -> MeasurementError:
    """Return an error with this `cause`."""
    if is_transient:
        return TransientError(message, cause=cause, retry_after_s=retry_after_s)
    error = _ERRORS.get(cause, MeasurementError)(message)
    error.cause = cause
    return error


LONGEST_PAUSE_S = 600.0
"""The longest pause for a service: `Retry-After: 86400` would stall the run for a day."""

_LONGEST_MESSAGE = 2_000
_LONGEST_TRACEBACK = 10_000
_RATE_LIMITED = 429
_SERVER_ERRORS = range(500, 600)


def is_transient(error: BaseException) -> bool:
    """Return whether another attempt may succeed: a connection, 5xx or rate-limit kind of failure.

    Our own errors state it themselves, whatever they were raised from; in a group, all members must.
    """
    members = _members(error)
    if members:
        return all(map(is_transient, members))
    for each in _chain(error):
        if isinstance(each, MeasurementError):
            # It knows better than what it was raised from: an agent's crash stays one though a connection broke.
            return isinstance(each, TransientError)
        if _is_transient_itself(each):
            return True
    return False


def cause_of(error: BaseException, *, otherwise: Cause) -> Cause:
    """Return the cause of `error`; `otherwise` if the error does not state it."""
    for each in _chain(error):
        if isinstance(each, MeasurementError):
            return each.cause
    return otherwise


def requested_pause_s(error: BaseException) -> float:
    """Return the pause that the service requested, within limits; 0 if it requested none."""
    for each in _chain(error):
        pause: object = getattr(each, "retry_after_s", None)
        if isinstance(pause, int | float) and pause > 0:
            return min(float(pause), LONGEST_PAUSE_S)
    return 0.0


def error_code(error: BaseException) -> str:
    """Return the stable code of our own errors, and the class name of other errors."""
    return error.code if isinstance(error, GhxBenchError) else type(error).__name__


def describe_error(error: BaseException) -> str:
    """Return one line for people: the message, or the class without one; a group names its members."""
    members = _members(error)
    if members:
        return "; ".join(describe_error(each) for each in members)
    try:
        words = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - plugin call: a third-party error without a usable text
        words = ""
    if isinstance(error, LookupError) or not words:
        # The key of a failed lookup means little without the name of the error.
        words = f"{type(error).__name__}: {words}".removesuffix(": ")
    return words if len(words) <= _LONGEST_MESSAGE else f"{words[:_LONGEST_MESSAGE]}..."


def describe_raised(error: BaseException) -> str:
    """Return one line for people about what others' code raised: its type, its message, and where that was.

    Our own errors, and those that an agent raised on purpose, need no traceback.
    """
    members = _members(error)
    if members:
        return "; ".join(describe_raised(each) for each in members)
    words = describe_error(error)
    if isinstance(error, GhxBenchError):
        return words
    name, frame = type(error).__name__, find_user_frame(traceback.extract_tb(error.__traceback__))
    words = words if words.startswith(name) else f"{name}: {words}"
    return words if frame is None else f"{words} ({describe_frame(frame)})"


def format_traceback(error: BaseException) -> str | None:
    """Return the traceback of what others' code raised, from where that begins; `None` for an error of ours alone."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, GhxBenchError) and error.__cause__ is None and find_user_frame(frames) is None:
        return None
    try:
        formatted = traceback.TracebackException.from_exception(error)
        while len(formatted.stack) > 1 and is_own_file(formatted.stack[0].filename):
            del formatted.stack[0]
        text = "".join(formatted.format())
    except Exception:  # noqa: BLE001 - plugin call: a third-party error without a usable text
        return None
    # The end matters most: the error and its place.
    return text if len(text) <= _LONGEST_TRACEBACK else f"...{text[-_LONGEST_TRACEBACK:]}"


def _is_transient_itself(error: BaseException) -> bool:
    match error:
        case ConnectionError() | socket.gaierror() | anyio.BrokenResourceError():
            return True
        case _:
            status = _http_status(error)
            return status is not None and (status == _RATE_LIMITED or status in _SERVER_ERRORS)


def _http_status(error: BaseException) -> int | None:
    """Return the status of any HTTP library's error: `error.status_code`, or its response's."""
    for carrier in (error, getattr(error, "response", None)):
        try:
            status = getattr(carrier, "status_code", None)
        except Exception:  # noqa: BLE001, S112 - plugin call: a third-party property, ignored if it fails
            continue
        if isinstance(status, int):
            return status
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, or the only member of a group, and what it was raised from, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    # Each once: an error can be its own cause through other errors.
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        members = _members(current)
        if len(members) == 1:
            current = members[0]
            continue
        yield current
        current = current.__cause__


def _members(error: BaseException) -> tuple[BaseException, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    return cast("BaseExceptionGroup[BaseException]", error).exceptions


_OTHERS = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_OURS = tuple(map(str, own_folders()))


def is_own_file(filename: str) -> bool:
    """Return whether a file of code belongs to this package."""
    return str(Path(filename).resolve()).startswith(_OURS)


def find_user_frame(frames: Iterable[FrameSummary]) -> FrameSummary | None:
    """Return the innermost frame of code that is neither Python's, nor a package's, nor ours, if there is one."""
    user_frame: FrameSummary | None = None
    for frame in frames:
        place = str(Path(frame.filename).resolve())
        if not frame.filename.startswith("<") and not place.startswith((*_OTHERS, *_OURS, sys.prefix)):
            user_frame = frame
    return user_frame


def describe_frame(frame: FrameSummary) -> str:
    """Return where a frame is, for people, with the line itself where its file can be read."""
    line = f": {frame.line}" if frame.line else ""
    return f"{Path(frame.filename).name} line {frame.lineno}, in {frame.name}{line}"
