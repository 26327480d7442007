"""One client's session with the server: what it may ask for, in the revision of the protocol that it speaks.

There are two eras. Up to 2025-11-25 a client begins with `initialize`, and both sides keep to the revision that it
settles. Since 2026-07-28 there is no such beginning: every request says its revision in `_meta`. The first request of a
session decides its era. The protocol's own library does the same, and the tests compare both.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ghx_tools.mcp.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    InvalidMessageError,
    Message,
    Notification,
    Request,
    RequestError,
    RequestId,
    Response,
    read_message,
    write_error,
    write_result,
)
from ghx_tools.mcp.tool_list import NO_SUCH_CURSOR, describe_tools, instructions, server_info
from ghx_tools.mcp.toolsets import Selection

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISION = "2026-07-28"
UNSUPPORTED_PROTOCOL_VERSION = -32022
_CAPABILITIES = {"tools": {"listChanged": False}}
_META_REVISION = "io.modelcontextprotocol/protocolVersion"
_META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_META_SERVER = "io.modelcontextprotocol/serverInfo"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Call:
    """A requested call of a tool; `complete` makes the result what the client's revision wants."""

    id: RequestId
    name: str
    arguments: Mapping[str, Any]
    progress_token: str | int | None
    complete: Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancellation:
    """The client no longer wants the answer to a call."""

    id: object


class Caller(Protocol):
    """Carries out calls while the session goes on; each call is answered once, in any order and from any thread."""

    def prepare(self) -> None:
        """Get ready for calls, without delay to the caller; asked for again and again, and done once."""
        ...

    def submit(self, call: Call) -> None:
        """Begin a call."""
        ...

    def cancel(self, id_: object) -> None:
        """Stop the call with this id, if it still goes on."""
        ...


class Session:
    """Answers the messages of one client; `send` writes a message, from any thread."""

    def __init__(self, selection: Selection, caller: Caller, send: Callable[[Message], None]) -> None:
        self._selection = selection
        self._caller = caller
        self._send = send
        self._is_stateless: bool | None = None
        self._revision: str | None = None

    def receive(self, line: bytes) -> None:
        """Take one line from the client."""
        if not line.strip():
            return
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._send(write_error(None, RequestError(PARSE_ERROR, f"not JSON: {error}")))
            return
        self._receive_message(value)
        if self._is_stateless or self._revision is not None:
            self._caller.prepare()  # behind the answer, which must not wait for it

    def _receive_message(self, value: object) -> None:
        try:
            message = read_message(value)
        except InvalidMessageError as error:
            self._send(write_error(error.id, error))
            return
        match message:
            case Request():
                self._answer(message)
            case Notification(method="notifications/cancelled"):
                self._caller.cancel(message.params.get("requestId"))
            case Notification() | Response():
                pass

    def _answer(self, request: Request) -> None:
        try:
            if request.method == "tools/call":
                self._begin_call(request)
                return
            answer = write_result(request.id, self._result(request))
        except RequestError as error:
            answer = write_error(request.id, error)
        except Exception as error:  # noqa: BLE001 - a server request: one that meets a defect must not end the session
            answer = write_error(request.id, RequestError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        self._send(answer)

    def _begin_call(self, request: Request) -> None:
        self._check_request(request)
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if not isinstance(name, str):
            raise _invalid_params("`name` must be a string")
        if not isinstance(arguments, dict | None):
            raise _invalid_params("`arguments` must be an object")
        call = Call(
            id=request.id,
            name=name,
            arguments=cast("dict[str, Any]", arguments or {}),
            progress_token=_meta(request).get("progressToken"),
            complete=self._complete,
        )
        self._caller.submit(call)

    def _result(self, request: Request) -> Mapping[str, Any]:
        self._check_request(request)
        match request.method:
            case "initialize":
                return self._initialize(request.params)
            case "ping":
                return {}
            case "server/discover":
                discovery = {"supportedVersions": [STATELESS_REVISION], "capabilities": _CAPABILITIES}
                return self._complete_cacheable({**discovery, "instructions": instructions()})
            case _:  # tools/list: other methods have been refused
                if request.params.get("cursor") is not None:
                    raise RequestError(INVALID_PARAMS, NO_SUCH_CURSOR)
                return self._complete_cacheable({"tools": describe_tools(self._selection)})

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(version, str):
            raise _invalid_params("`protocolVersion` must be a string")
        if not isinstance(params.get("capabilities"), dict):
            raise _invalid_params("`capabilities` must be an object")
        match client:
            case {"name": str(), "version": str()}:
                pass
            case _:
                raise _invalid_params("`clientInfo` must be an object with `name` and `version`")
        self._revision = version if version in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
        return {
            "protocolVersion": self._revision,
            "capabilities": _CAPABILITIES,
            "serverInfo": server_info(),
            "instructions": instructions(),
        }

    def _check_request(self, request: Request) -> None:
        """Raise `RequestError` if a request has no place in the session, or its `_meta` is none."""
        claims_stateless = request.method != "initialize" and _META_REVISION in _meta(request, checked=False)
        if self._is_stateless is None:
            self._is_stateless = claims_stateless
        if self._is_stateless:
            _check_stateless(request)
            return
        if claims_stateless:
            reason = f"this session began in an earlier revision; a request of {STATELESS_REVISION} has no place in it"
            raise RequestError(INVALID_REQUEST, reason)
        if request.method not in {"initialize", "ping", "tools/list", "tools/call"}:
            raise _method_not_found(request)
        _meta(request)
        if self._revision is None and request.method not in {"initialize", "ping"}:
            raise _invalid_params("send `initialize` first")

    def _complete(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a result with what every result has in the revision that is spoken."""
        if not self._is_stateless:
            return result
        return {**result, "resultType": "complete", "_meta": {_META_SERVER: server_info()}}

    def _complete_cacheable(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        # No time to live: another version of the server may be started for the next session.
        return self._complete({**result, "ttlMs": 0, "cacheScope": "private"} if self._is_stateless else result)


def _check_stateless(request: Request) -> None:
    """Raise `RequestError` unless a request is one of 2026-07-28."""
    supported = {"supported": [STATELESS_REVISION]}
    if request.method == "initialize":
        version = request.params.get("protocolVersion")
        data = {**supported, "requested": version} if isinstance(version, str) else supported
        reason = f"this session is one of {STATELESS_REVISION}, which has no `initialize`"
        raise RequestError(UNSUPPORTED_PROTOCOL_VERSION, reason, data=data)
    meta = _meta(request)
    missing = [key for key in (_META_REVISION, _META_CAPABILITIES) if key not in meta]
    if missing:
        raise RequestError(INVALID_PARAMS, f"`_meta` lacks {' and '.join(missing)}")
    revision = meta[_META_REVISION]
    if not isinstance(revision, str):
        raise RequestError(INVALID_PARAMS, f"{_META_REVISION} must be a string")
    if revision != STATELESS_REVISION:
        data = {**supported, "requested": revision}
        raise RequestError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data=data)
    if request.method not in {"server/discover", "tools/list", "tools/call"}:
        raise _method_not_found(request)


def _meta(request: Request, *, checked: bool = True) -> Mapping[str, Any]:
    """Return the `_meta` of a request; one of another shape counts as empty unless it is `checked`."""
    meta = request.params.get("_meta", {})
    if not isinstance(meta, dict):
        if checked:
            raise _invalid_params("`_meta` must be an object")
        return {}
    token = cast("dict[str, Any]", meta).get("progressToken", 0)
    if checked and (isinstance(token, bool) or not isinstance(token, str | int)):
        raise _invalid_params("`progressToken` must be a string or an integer")
    return cast("dict[str, Any]", meta)


def _invalid_params(reason: str) -> RequestError:
    return RequestError(INVALID_PARAMS, f"Invalid request parameters: {reason}")


def _method_not_found(request: Request) -> RequestError:
    return RequestError(METHOD_NOT_FOUND, "Method not found", data=request.method)
