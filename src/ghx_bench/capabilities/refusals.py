"""Which kind of failure an answer is: by its status, its headers and the type of its errors, never by words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from ghx_bench.capabilities.errors import Detail, ErrorCode, GitHubError

_FORBIDDEN = 403
_FIRST_FAILURE = 400
_FIRST_SERVER_FAILURE = 500

_BY_STATUS = MappingProxyType(
    {
        400: ErrorCode.VALIDATION,
        401: ErrorCode.AUTH,
        403: ErrorCode.AUTH,
        404: ErrorCode.NOT_FOUND,
        405: ErrorCode.VALIDATION,  # a pull request that cannot be merged
        406: ErrorCode.TOO_LARGE,  # a diff with more lines than GitHub shows
        409: ErrorCode.VALIDATION,  # somebody was faster, or a merge conflict
        410: ErrorCode.NOT_FOUND,
        413: ErrorCode.TOO_LARGE,
        422: ErrorCode.VALIDATION,
        429: ErrorCode.RATE_LIMIT,
        451: ErrorCode.NOT_FOUND,
        501: ErrorCode.ADAPTER_UNSUPPORTED,
    }
)

_BY_TYPE = MappingProxyType(
    {
        "NOT_FOUND": ErrorCode.NOT_FOUND,
        "FORBIDDEN": ErrorCode.AUTH,
        "INSUFFICIENT_SCOPES": ErrorCode.AUTH,
        "UNAUTHORIZED": ErrorCode.AUTH,
        "UNAUTHENTICATED": ErrorCode.AUTH,
        "SAML_FAILURE": ErrorCode.AUTH,
        "RATE_LIMITED": ErrorCode.RATE_LIMIT,
        "RATE_LIMIT": ErrorCode.RATE_LIMIT,
        "UNPROCESSABLE": ErrorCode.VALIDATION,
        "BAD_USER_INPUT": ErrorCode.VALIDATION,
        "EXCESSIVE_PAGINATION": ErrorCode.VALIDATION,
        "INVALID_CURSOR_ARGUMENTS": ErrorCode.VALIDATION,
        "MAX_NODE_LIMIT_EXCEEDED": ErrorCode.TOO_LARGE,
        "RESOURCE_LIMITS_EXCEEDED": ErrorCode.TOO_LARGE,
        "SERVICE_UNAVAILABLE": ErrorCode.SERVER,
        "INTERNAL": ErrorCode.SERVER,
        "INTERNAL_SERVER_ERROR": ErrorCode.SERVER,
        "NOT_IMPLEMENTED": ErrorCode.ADAPTER_UNSUPPORTED,
    }
)


def refusal_of(status: int, headers: Mapping[str, str], body: object) -> GitHubError | None:
    """Return the error that an HTTP answer is; `None` if it is none. `body` is its JSON, if it has one."""
    if status < _FIRST_FAILURE:
        return None
    said = cast("Mapping[str, object]", body if isinstance(body, dict) else {})
    return GitHubError(
        _message_of(status, said),
        error_code=_code_of(status, headers, said),
        status=status,
        details=_waiting_time(headers),
    )


def redirection(status: int, headers: Mapping[str, str]) -> GitHubError:
    """Return the error of a request that was sent on to where it cannot follow."""
    place = headers.get("location", "").partition("?")[0]  # what is behind it may be a credential
    if not place:
        message = f"GitHub answered with status {status}, and not with what was asked for"
        return GitHubError(message, error_code=ErrorCode.UNKNOWN, status=status)
    message = f"GitHub did nothing, for this is now at {place}; use the new name of the repository, or the new address"
    return GitHubError(message, error_code=ErrorCode.NOT_FOUND, status=status, details={"location": place})


def graphql_refusal(
    errors: Sequence[Mapping[str, object]], headers: Mapping[str, str] = MappingProxyType({})
) -> GitHubError:
    """Return the error that the `errors` of a GraphQL answer are: the first one, with its path."""
    first = errors[0]
    kind, path, extensions = first.get("type"), first.get("path"), first.get("extensions")
    named = kind if isinstance(kind, str) else None
    code = _BY_TYPE.get(named or "", ErrorCode.UNKNOWN)
    if named is None and isinstance(extensions, dict):
        code = ErrorCode.VALIDATION  # only complaints about the document and its variables come in this form
    elif named is None and (path or not first.get("locations")):
        code = ErrorCode.SERVER  # GitHub took too long, or broke: it has no type for that
    details = _waiting_time(headers)
    if isinstance(path, list):
        details["path"] = [str(step) for step in cast("list[object]", path)]
    return GitHubError(
        str(first.get("message", "GitHub refused without saying why")),
        error_code=code,
        kind=named,
        details=details,
    )


def _code_of(status: int, headers: Mapping[str, str], body: Mapping[str, object]) -> ErrorCode:
    if status == _FORBIDDEN and _is_limit(headers, body):
        return ErrorCode.RATE_LIMIT
    if "too_large" in _codes_in(body):
        return ErrorCode.TOO_LARGE
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ErrorCode.SERVER if status >= _FIRST_SERVER_FAILURE else ErrorCode.UNKNOWN


def _is_limit(headers: Mapping[str, str], body: Mapping[str, object]) -> bool:
    """Tell whether something is forbidden for now only; a secondary limit may show in nothing but the page it names."""
    if headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers:
        return True
    return "rate-limit" in str(body.get("documentation_url", "")).lower()


def _message_of(status: int, body: Mapping[str, object]) -> str:
    """Return what GitHub says, with the reasons it gives."""
    message = str(body.get("message") or f"GitHub answered with status {status}")
    reasons = [reason for each in _errors_in(body) if (reason := _reason_of(each)) and reason != message]
    return f"{message}: {'; '.join(reasons)}" if reasons else message


def _reason_of(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    said = cast("Mapping[str, object]", error)
    if said.get("message"):
        return str(said["message"])
    return " ".join(str(said[name]) for name in ("resource", "field", "code") if said.get(name))


def _errors_in(body: Mapping[str, object]) -> list[object]:
    errors = body.get("errors")
    if isinstance(errors, list):
        return cast("list[object]", errors)
    return [] if errors is None else [errors]


def _codes_in(body: Mapping[str, object]) -> list[object]:
    return [cast("Mapping[str, object]", each).get("code") for each in _errors_in(body) if isinstance(each, dict)]


def _waiting_time(headers: Mapping[str, str]) -> dict[str, Detail]:
    known = {"retryAfterS": headers.get("retry-after")}
    if headers.get("x-ratelimit-remaining") == "0":
        known["rateLimitResetsAt"] = headers.get("x-ratelimit-reset")
    return {name: int(value) for name, value in known.items() if value and value.isascii() and value.isdigit()}
