"""Read GitHub's responses: data where the request was carried out, the error that fits where it was not.

Failures are distinguished by status, headers and the types of errors, never by the words of a message.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from ghx_tools.capabilities.errors import Detail, ErrorCode, GitHubError, UnexpectedResponseError
from ghx_tools.capabilities.transports.exchange import Response

Json = Any
"""A value of JSON that was not checked yet; models do that."""

_FORBIDDEN = 403
_FIRST_SUCCESS = 200
_FIRST_REDIRECT = 300
_FIRST_FAILURE = 400
_FIRST_SERVER_FAILURE = 500
_MOST_DIGITS = 12
_NOT_FOUND = "Not Found"
_TRANSIENT = frozenset({ErrorCode.RATE_LIMIT, ErrorCode.SERVER})

_CODE_BY_STATUS = MappingProxyType(
    {
        400: ErrorCode.VALIDATION,
        401: ErrorCode.AUTH,
        403: ErrorCode.AUTH,
        404: ErrorCode.NOT_FOUND,
        405: ErrorCode.VALIDATION,  # a pull request that cannot be merged
        406: ErrorCode.TOO_LARGE,  # a diff with more lines than GitHub shows
        409: ErrorCode.VALIDATION,  # another client was faster, or a merge conflict
        410: ErrorCode.NOT_FOUND,
        413: ErrorCode.TOO_LARGE,
        422: ErrorCode.VALIDATION,
        429: ErrorCode.RATE_LIMIT,
        451: ErrorCode.NOT_FOUND,
        501: ErrorCode.ADAPTER_UNSUPPORTED,
    }
)

_CODE_BY_TYPE = MappingProxyType(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQLResponse:
    """The response to a GraphQL document: data, errors, or some of both."""

    data: Mapping[str, Json] | None
    errors: Sequence[Mapping[str, Json]] = ()

    @property
    def is_refusal(self) -> bool:
        """Return whether nothing at all was done: no field has a value, and no error is about a single field."""
        has_value = any(value is not None for value in (self.data or {}).values())
        return bool(self.errors) and not has_value and not any(error.get("path") for error in self.errors)


def read_rest(response: Response, *, path: str | None = None) -> Response:
    """Return a response of the REST API, or raise the `GitHubError` that it is; `path` is what was requested."""
    if _FIRST_SUCCESS <= response.status < _FIRST_REDIRECT:
        return response
    try:
        body = response.data
    except UnexpectedResponseError:
        body = None  # a proxy's page of HTML, say: the status alone names the error
    raise rest_error(response.status, response.headers, body, path=path) or redirect_error(
        response.status, response.headers
    )


def read_graphql(response: Response, *, redact: Callable[[bytes], bytes], mutates: bool) -> GraphQLResponse:
    """Return data and errors of a GraphQL response; raise a transient error, such as a rate limit, that stopped it all.

    `redact` takes secrets out of the errors.
    """
    body: object = read_rest(response).data
    fields = cast("Mapping[str, Json]", body if isinstance(body, dict) else {"errors": "no object"})
    data: object = fields.get("data")
    errors: object = fields.get("errors") or ()
    if not isinstance(errors, list | tuple) or not isinstance(data, dict | None):
        raise UnexpectedResponseError("GitHub answered a GraphQL document with something that is no answer to one")
    dumped = _dump_objects(cast("Sequence[object]", errors))
    read = GraphQLResponse(data=cast("Mapping[str, Json] | None", data), errors=json.loads(redact(dumped)))
    error = graphql_error(read.errors, response.headers) if read.errors else None
    if error is not None and error.error_code in _TRANSIENT:
        # Raising lets the client send the document again. A mutation that met a rate limit halfway must not be sent
        # again: what it changed before is returned as data, with the limit as an error next to it.
        is_repeatable = error.error_code == ErrorCode.RATE_LIMIT and not mutates
        if read.is_refusal or is_repeatable:
            raise error
    return read


def _dump_objects(errors: Sequence[object]) -> bytes:
    try:
        return json.dumps([each for each in errors if isinstance(each, dict)]).encode()
    except RecursionError:  # nested as deeply as reading allows, and writing takes a few levels more
        raise UnexpectedResponseError("GitHub answered with errors that are nested too deeply") from None


def rest_error(status: int, headers: Mapping[str, str], body: object, *, path: str | None = None) -> GitHubError | None:
    """Return the error that a REST response is; `None` if it is none. `body` is its JSON, if it has one."""
    if status < _FIRST_FAILURE:
        return None
    fields = cast("Mapping[str, object]", body if isinstance(body, dict) else {})
    message = _message(status, fields)
    if message == _NOT_FOUND and path is not None:  # GitHub does not say what
        message = f"{message}: there is no {path}, or not for this user"
    return GitHubError(
        message,
        error_code=_error_code(status, headers, fields),
        status=status,
        details=_waiting_time(headers),
    )


def redirect_error(status: int, headers: Mapping[str, str]) -> GitHubError:
    """Return the error of a request that was redirected to where the client does not follow."""
    place = headers.get("location", "").partition("?")[0]  # the query may hold a credential, as signed downloads do
    if not place:
        message = f"GitHub answered with status {status}, and not with what was asked for"
        return GitHubError(message, error_code=ErrorCode.UNKNOWN, status=status)
    message = f"GitHub did nothing, for this is now at {place}; use the new name of the repository, or the new address"
    return GitHubError(message, error_code=ErrorCode.NOT_FOUND, status=status, details={"location": place})


def graphql_error(
    errors: Sequence[Mapping[str, object]], headers: Mapping[str, str] = MappingProxyType({})
) -> GitHubError:
    """Return the error that the `errors` of a GraphQL response are: the first one, with its path."""
    first = errors[0]
    kind, path, extensions = first.get("type"), first.get("path"), first.get("extensions")
    error_type = kind if isinstance(kind, str) else None
    code = _CODE_BY_TYPE.get(error_type or "", ErrorCode.UNKNOWN)
    if error_type is None and isinstance(extensions, dict):
        code = ErrorCode.VALIDATION  # only complaints about the document and its variables come in this form
    elif error_type is None and (path or not first.get("locations")):
        code = ErrorCode.SERVER  # GitHub took too long, or broke: it has no type for that
    details = _waiting_time(headers)
    if isinstance(path, list):
        details["path"] = [str(step) for step in cast("list[object]", path)]
    return GitHubError(
        str(first.get("message", "GitHub refused without saying why")),
        error_code=code,
        kind=error_type,
        details=details,
    )


def _error_code(status: int, headers: Mapping[str, str], body: Mapping[str, object]) -> ErrorCode:
    if status == _FORBIDDEN and _is_rate_limit(headers, body):
        return ErrorCode.RATE_LIMIT
    # A blob that is too large for JSON is refused with 403, like a missing permission.
    codes = [cast("Mapping[str, object]", each).get("code") for each in _errors_in(body) if isinstance(each, dict)]
    if "too_large" in codes:
        return ErrorCode.TOO_LARGE
    if status in _CODE_BY_STATUS:
        return _CODE_BY_STATUS[status]
    return ErrorCode.SERVER if status >= _FIRST_SERVER_FAILURE else ErrorCode.UNKNOWN


def _is_rate_limit(headers: Mapping[str, str], body: Mapping[str, object]) -> bool:
    """Return whether a request is forbidden for now only."""
    if headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers:
        return True
    # A secondary limit may come without either header: then only the page that the body links to names it.
    return "rate-limit" in str(body.get("documentation_url", "")).lower()


def _message(status: int, body: Mapping[str, object]) -> str:
    """Return GitHub's message with the reasons it gives."""
    message = str(body.get("message") or f"GitHub answered with status {status}")
    reasons = [reason for each in _errors_in(body) if (reason := _reason(each)) and reason != message]
    return f"{message}: {'; '.join(reasons)}" if reasons else message


def _reason(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    fields = cast("Mapping[str, object]", error)
    if fields.get("message"):
        return str(fields["message"])
    return " ".join(str(fields[name]) for name in ("resource", "field", "code") if fields.get(name))


def _errors_in(body: Mapping[str, object]) -> list[object]:
    errors = body.get("errors")
    if isinstance(errors, list):
        return cast("list[object]", errors)
    return [] if errors is None else [errors]


def _waiting_time(headers: Mapping[str, str]) -> dict[str, Detail]:
    details = {"retryAfterS": headers.get("retry-after")}
    # The time of reset is in every response; it matters only where nothing is left until then.
    if headers.get("x-ratelimit-remaining") == "0":
        details["rateLimitResetsAt"] = headers.get("x-ratelimit-reset")
    # Cut off: a number of thousands of digits cannot be read, and one that long asks for more patience than there is.
    return {
        name: int(value[:_MOST_DIGITS])
        for name, value in details.items()
        if value and value.isascii() and value.isdigit()
    }
