"""What kind of failure a message speaks of."""

import re
from enum import StrEnum


class FailureKind(StrEnum):
    """Why a tool call, or a session, got no answer."""

    AUTH = "auth"
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    PARSE_ERROR = "parse_error"
    VALIDATION = "validation"
    RATE_LIMIT = "rate_limit"
    UNKNOWN = "unknown"


_BY_STATUS = {
    400: FailureKind.VALIDATION,
    401: FailureKind.AUTH,
    403: FailureKind.AUTH,
    404: FailureKind.NOT_FOUND,
    405: FailureKind.VALIDATION,
    407: FailureKind.AUTH,
    408: FailureKind.TIMEOUT,
    410: FailureKind.NOT_FOUND,
    413: FailureKind.VALIDATION,
    415: FailureKind.VALIDATION,
    422: FailureKind.VALIDATION,
    429: FailureKind.RATE_LIMIT,
    504: FailureKind.TIMEOUT,
}

_BY_EXIT_CODE = {124: FailureKind.TIMEOUT, 127: FailureKind.NOT_FOUND}

_STATUS = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status(?: ?code)?|error(?: code)?)\W{0,3}([45]\d\d)\b"
    r"|:\s([45]\d\d) [A-Z][a-z]+"
    r"|^\W*([45]\d\d)\b",
    re.IGNORECASE,
)

_BY_WORDS = (
    (FailureKind.RATE_LIMIT, r"rate.?limit|too many requests|abuse detection|quota exceeded|throttl"),
    (FailureKind.TIMEOUT, r"time[d-]? ?out|deadline (?:was )?exceeded|ETIMEDOUT|exceeding timeout"),
    (
        FailureKind.PARSE_ERROR,
        r"pars(?:e|ing) error|\bparse\b.{0,40}\bfail|(?:failed|unable|could not|cannot) to? ?parse|JSONDecodeError"
        r"|SyntaxError|syntax error|unexpected (?:token|end of|EOF|character)|invalid (?:JSON|YAML|character)"
        r"|unterminated|malformed|not valid JSON|cannot unmarshal|expecting value",
    ),
    (
        FailureKind.AUTH,
        r"\bunauthori[sz]ed\b|\bforbidden\b|\bauthenticat|\bunauthenticated\b|\bauthoriz?s?ation\b|bad credentials"
        r"|permission denied|access denied|not logged in|auth login|\bEACCES\b|\bEPERM\b|not accessible by|^auth\b"
        r"|must have .{0,40}\b(?:rights|access)|insufficient.{0,20}(?:scope|permission|privilege)"
        r"|invalid (?:token|api key|credentials)"
        r"|could not read (?:Username|Password)|protected branch",
    ),
    (
        FailureKind.NOT_FOUND,
        r"not.?found|no such|does(?:n't| not) exist|could not resolve to|\bENOENT\b|unknown revision|unknown tool"
        r"|no .{1,40} found|did not match any|not a git repository|no default remote|cannot find|couldn't find"
        r"|could not find|can't open file|ModuleNotFoundError|no (?:open )?pull requests?",
    ),
    (
        FailureKind.VALIDATION,
        r"validation|invalid|\brequired?\b|\bmissing\b|unknown (?:flag|option|command|argument|shorthand|\w* ?field)"
        r"|unrecogni[sz]ed|unprocessable|bad request|accepts \d+ arg|unexpected (?:argument|keyword)|usage:"
        r"|must (?:be|not|provide|specify|have|first)|already exists|is not (?:a|an|one of)\b|illegal|conflict"
        r"|expected \w+|unsupported|ValueError|TypeError",
    ),
)
_WORDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _BY_WORDS)
_RATE_LIMIT = _WORDS[0][1]
_LONGEST = 2_000


def kind_of(message: str, *, exit_code: int | None = None) -> FailureKind:
    """Return what kind of failure a message speaks of, given that it is the message of a failure.

    An HTTP status decides where there is one, except that 403 is also what clients get that ask too often. Then
    the words decide, the most specific first, and finally the exit code, if it has a meaning of its own.
    """
    message = message[:_LONGEST].replace("_", " ")
    match = _STATUS.search(message)
    status = next((int(digits) for digits in match.groups() if digits), None) if match else None
    if status is not None and _RATE_LIMIT.search(message):
        return FailureKind.RATE_LIMIT
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    for kind, pattern in _WORDS:
        if pattern.search(message):
            return kind
    return _BY_EXIT_CODE.get(exit_code or 0, FailureKind.UNKNOWN)
