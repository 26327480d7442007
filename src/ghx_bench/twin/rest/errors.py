"""How a refusal is spelled in REST: status, message, `errors` and a pointer to the documentation."""

from ghx_bench.twin.refusals import (
    FieldError,
    ForbiddenRefusal,
    InvalidRefusal,
    NotFoundRefusal,
    PlainNotFoundRefusal,
    Refusal,
)
from ghx_bench.twin.rest.answer import Answer, JsonObject

DOCUMENTATION = "https://docs.github.com/rest"
UNKNOWN = "unknown"  # what the journal calls a path that GitHub does not have


class RenamedRefusal(Refusal):
    """The repository has another name now; `repository_id` says where it is found under any name."""

    code = "RENAMED"
    status = 301

    def __init__(self, repository_id: int) -> None:
        super().__init__("Moved Permanently")
        self.repository_id = repository_id


class BadRequestRefusal(Refusal):
    """The body is no JSON, or no JSON of the right kind."""

    code = "BAD_REQUEST"
    status = 400


def refused(refusal: Refusal, documentation: str = DOCUMENTATION) -> Answer:
    """Return GitHub's answer for a refusal."""
    body: JsonObject = {"message": _message(refusal)}
    if isinstance(refusal, InvalidRefusal) and refusal.errors:
        body["errors"] = [_entry(error) for error in refusal.errors]
    body |= {"documentation_url": documentation, "status": str(refusal.status)}
    scopes = refusal.needed_scopes if isinstance(refusal, ForbiddenRefusal) else ()
    headers = {"X-Accepted-OAuth-Scopes": ", ".join(scopes)} if scopes else {}
    return Answer(status=refusal.status, body=body, headers=headers)


def no_such_path() -> Answer:
    """Return the 404 of a path that GitHub does not have; it is set apart by its line ends."""
    text = (
        f'{{\r\n  "message": "Not Found",\r\n  "documentation_url": "{DOCUMENTATION}",\r\n  "status": "404"\r\n}}'
    ).encode()
    return Answer(status=404, body=text, operation=UNKNOWN)


def _message(refusal: Refusal) -> str:
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
