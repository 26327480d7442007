"""Errors of capabilities, distinguished by what a caller can do about them.

```
CapabilityError              error_code, retryable, details; a message that never holds a token
├── InvalidInputError        the input of a capability is wrong                                   (VALIDATION)
├── UnreachableError         no response came: refused, reset, too slow                           (NETWORK)
├── GitHubError              GitHub refused: by HTTP status or GraphQL error type
└── UnexpectedResponseError  GitHub's response is not what it documents                           (SERVER)
```
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from ghx_base.errors import OperationError
from ghx_base.problems import one_line


class ErrorCode(StrEnum):
    """The kinds of failure that callers tell apart."""

    RATE_LIMIT = "RATE_LIMIT"
    NOT_FOUND = "NOT_FOUND"
    SERVER = "SERVER"
    NOT_READY = "NOT_READY"
    TOO_LARGE = "TOO_LARGE"
    NETWORK = "NETWORK"
    ADAPTER_UNSUPPORTED = "ADAPTER_UNSUPPORTED"
    AUTH = "AUTH"
    VALIDATION = "VALIDATION"
    UNKNOWN = "UNKNOWN"


RETRYABLE = frozenset({ErrorCode.RATE_LIMIT, ErrorCode.SERVER, ErrorCode.NOT_READY, ErrorCode.NETWORK})
"""Failures that may be gone when the same call is made again."""

Detail = str | int | float | bool | None | list[str]
"""One more fact about a failure, for programs."""


class CapabilityError(OperationError):
    """A capability could not be carried out."""

    code: ClassVar[str] = "CAPABILITY_FAILED"

    def __init__(
        self,
        message: str,
        *,
        error_code: ErrorCode,
        retryable: bool | None = None,
        details: Mapping[str, Detail] | None = None,
    ) -> None:
        super().__init__(one_line(message))
        self.error_code = error_code
        self.retryable = error_code in RETRYABLE if retryable is None else retryable
        self.details = dict(details or {})


class InvalidInputError(CapabilityError):
    """The input does not fit the capability; the message says what to write instead."""

    code: ClassVar[str] = "INVALID_CAPABILITY_INPUT"

    def __init__(self, message: str, *, details: Mapping[str, Detail] | None = None) -> None:
        super().__init__(message, error_code=ErrorCode.VALIDATION, details=details)


class UnreachableError(CapabilityError):
    """No response came; `sent` is whether GitHub may have seen the request."""

    code: ClassVar[str] = "GITHUB_UNREACHABLE"

    def __init__(self, message: str, *, sent: bool, retryable: bool = True) -> None:
        super().__init__(message, error_code=ErrorCode.NETWORK, retryable=retryable)
        self.sent = sent


class UnexpectedResponseError(CapabilityError):
    """GitHub's response is not in the shape that it documents."""

    code: ClassVar[str] = "UNEXPECTED_ANSWER"

    def __init__(self, message: str) -> None:
        # Not retryable, unlike other failures of the server: the same request would get the same shape again.
        super().__init__(message, error_code=ErrorCode.SERVER, retryable=False)


class GitHubError(CapabilityError):
    """GitHub refused a request: `status` is HTTP's, `kind` is the type of a GraphQL error."""

    code: ClassVar[str] = "GITHUB_REFUSED"

    def __init__(
        self,
        message: str,
        *,
        error_code: ErrorCode,
        status: int | None = None,
        kind: str | None = None,
        details: Mapping[str, Detail] | None = None,
    ) -> None:
        context = {"status": status, "type": kind, **(details or {})}
        super().__init__(
            message,
            error_code=error_code,
            details={name: value for name, value in context.items() if value is not None},
        )
        self.status, self.kind = status, kind


def not_found_error(message: str) -> CapabilityError:
    """Return the error for something that was named and is not there, such as a label."""
    return CapabilityError(message, error_code=ErrorCode.NOT_FOUND)
