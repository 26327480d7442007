"""Messages of JSON-RPC 2.0, as far as a server needs them: read from JSON, and written as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000

RequestId = str | int
Message = dict[str, Any]
"""A message as JSON."""


class RequestError(Exception):
    """A request cannot be carried out; becomes the error that answers it."""

    def __init__(self, code: int, message: str, *, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class InvalidMessageError(RequestError):
    """Something arrived that is no message; `id` is that of the request it may have been meant for."""

    def __init__(self, reason: str, *, id_: RequestId | None = None) -> None:
        super().__init__(INVALID_REQUEST, reason)
        self.id = id_


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message that wants an answer."""

    id: RequestId
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message that wants no answer."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer to a request of ours; a server that asks nothing has no use for one."""


def read_message(value: object) -> Request | Notification | Response:
    """Read one message, or raise `InvalidMessageError`."""
    if not isinstance(value, dict):
        raise InvalidMessageError("a message is an object")
    message = cast("dict[str, Any]", value)
    given_id = message.get("id")
    # A boolean is an integer to Python, and none to the protocol, which has no use for fractions and null either.
    id_ = given_id if isinstance(given_id, str | int) and not isinstance(given_id, bool) else None
    if message.get("jsonrpc") != "2.0":
        raise InvalidMessageError('`jsonrpc` must be "2.0"', id_=id_)
    if "method" not in message and ("result" in message or "error" in message):
        return Response()
    # Some clients write what they leave out as null.
    method: object = message.get("method")
    params: object = {} if message.get("params") is None else message["params"]
    if not isinstance(method, str):
        raise InvalidMessageError("`method` must be a string", id_=id_)
    if not isinstance(params, dict):
        raise InvalidMessageError("`params` must be an object", id_=id_)
    params = cast("dict[str, Any]", params)
    if "id" not in message:
        return Notification(method=method, params=params)
    if id_ is None:
        raise InvalidMessageError("`id` must be a string or an integer")
    return Request(id=id_, method=method, params=params)


def write_result(id_: RequestId, result: Mapping[str, Any]) -> Message:
    """Return the answer to a request."""
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def write_error(id_: RequestId | None, error: RequestError) -> Message:
    """Return the answer to a request that failed; `id_` is `None` if it is not known which."""
    fields: dict[str, Any] = {"code": error.code, "message": str(error)}
    return {"jsonrpc": "2.0", "id": id_, "error": fields if error.data is None else {**fields, "data": error.data}}


def write_notification(method: str, params: Mapping[str, Any]) -> Message:
    """Return a message that wants no answer."""
    return {"jsonrpc": "2.0", "method": method, "params": params}
