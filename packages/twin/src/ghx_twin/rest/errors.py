"""Refusals as REST writes them: status, message, `errors` and a pointer to the documentation."""

from ghx_twin.refusals import (
    FieldError,
    ForbiddenRefusal,
    InvalidRefusal,
    NotFoundRefusal,
    PlainNotFoundRefusal,
    Refusal,
)
from ghx_twin.reply import JSON, JsonObject, Reply, json_reply
from ghx_twin.rest.catalogue import DOCUMENTATION

UNKNOWN = "unknown"  # what the journal calls a path that GitHub does not have


class RenamedRefusal(Refusal):
    """The repository has another name now; its address by `repository_id` stays valid."""

    code = "RENAMED"
    status = 301

    def __init__(self, repository_id: int) -> None:
        super().__init__("Moved Permanently")
        self.repository_id = repository_id


class BadRequestRefusal(Refusal):
    """The body is no JSON, or JSON of the wrong kind."""

    code = "BAD_REQUEST"
    status = 400


class UnauthenticatedRefusal(Refusal):
    """GitHub answers this only to somebody, and the request came without a token."""

    code = "UNAUTHENTICATED"
    status = 401

    def __init__(self, message: str, *, errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(message)
        self.errors = errors


def refusal_reply(refusal: Refusal, documentation: str = DOCUMENTATION) -> Reply:
    """Return GitHub's reply for a refusal."""
    body: JsonObject = {"message": _message(refusal)}
    if isinstance(refusal, InvalidRefusal | UnauthenticatedRefusal) and refusal.errors:
        body["errors"] = [_entry(error) for error in refusal.errors]
    body |= {"documentation_url": documentation, "status": str(refusal.status)}
    scopes = refusal.needed_scopes if isinstance(refusal, ForbiddenRefusal) else ()
    headers = {"X-Accepted-OAuth-Scopes": ", ".join(scopes)} if scopes else {}
    return json_reply(body, status=refusal.status, headers=headers)


def no_such_path() -> Reply:
    """Return the 404 of a path that GitHub does not have.

    GitHub writes it over several lines with CRLF, unlike the 404 of an object that is not there.
    """
    text = (
        f'{{\r\n  "message": "Not Found",\r\n  "documentation_url": "{DOCUMENTATION}",\r\n  "status": "404"\r\n}}'
    ).encode()
    return Reply(status=404, content=text, media_type=JSON, operation=UNKNOWN)


def _message(refusal: Refusal) -> str:
    # GitHub's REST says "Not Found" whatever is missing; the sentence that names it is GraphQL's.
    if isinstance(refusal, NotFoundRefusal) and not isinstance(refusal, PlainNotFoundRefusal):
        return "Not Found"
    return refusal.message


def _entry(error: FieldError | str) -> JsonObject | str:
    if isinstance(error, str):
        return error
    entry: JsonObject = {"resource": error.resource, "code": error.code}
    for name in ("field", "message", "value"):
        if (value := getattr(error, name)) is not None:
            entry[name] = value
    return entry
