"""Checks of what users write: titles, bodies, names and times within GitHub's limits."""

from collections.abc import Mapping
from datetime import UTC, datetime

from ghx_twin.refusals import FieldError, InvalidRefusal

LONGEST_TITLE = 256
LONGEST_BODY = 65536


def check_unicode(text: str, *, resource: str, field: str) -> str:
    """Return a text, or refuse one that is no valid Unicode."""
    # JSON can spell half of a surrogate pair, which neither SQLite nor an answer in UTF-8 can hold.
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise _invalid(resource, field, f"{field} contains characters that are not valid Unicode")
    return text


def check_unicode_all(values: Mapping[str, object], *, resource: str) -> dict[str, object]:
    """Return values, or refuse them where a text, alone or in a tuple, is no valid Unicode."""
    for field, value in values.items():
        for text in value if isinstance(value, tuple) else (value,):  # pyright: ignore[reportUnknownVariableType] - of anything
            if isinstance(text, str):
                check_unicode(text, resource=resource, field=field)
    return dict(values)


def check_title(text: str, *, resource: str = "Issue") -> str:
    """Return a title without the blanks around it, or refuse one that is empty or too long."""
    stripped = check_unicode(text, resource=resource, field="title").strip()
    if not stripped:
        raise missing(resource, "title")
    return check_length(stripped, LONGEST_TITLE, resource=resource, field="title")


def check_body(text: str | None, *, resource: str = "Issue") -> str | None:
    """Return a body, None if it is missing or empty; refuse one that is too long."""
    if not text:
        return None
    return check_length(
        check_unicode(text, resource=resource, field="body"), LONGEST_BODY, resource=resource, field="body"
    )


def check_comment(text: str, *, resource: str = "IssueComment") -> str:
    """Return the text of a comment, or refuse one that is blank or too long."""
    if not check_unicode(text, resource=resource, field="body").strip():
        raise _unprocessable(resource, "Body cannot be blank")
    # What is measured are bytes, four of them for each of the characters that the message speaks of.
    if len(text.encode()) > 4 * LONGEST_BODY:
        raise _unprocessable(resource, f"Body is too long (maximum is {LONGEST_BODY} characters)")
    return text


def check_length(text: str, longest: int, *, resource: str, field: str) -> str:
    """Return a text, or refuse one that is too long."""
    if len(text) > longest:
        raise _invalid(resource, field, f"{field} is too long (maximum is {longest} characters)")
    return text


def check_time(text: str, *, resource: str, field: str) -> str:
    """Return a time in GitHub's spelling, or refuse a text that is none; one without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text)
        utc = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid(resource, field, value=text) from None
    return f"{utc.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def missing(resource: str, field: str) -> InvalidRefusal:
    """Return the refusal of a value that must be there."""
    return InvalidRefusal(errors=(FieldError(resource=resource, field=field, code="missing_field"),))


def invalid(resource: str, field: str, *, value: object = None, message: str | None = None) -> InvalidRefusal:
    """Return the refusal of a value that is not valid."""
    return InvalidRefusal(
        errors=(FieldError(resource=resource, field=field, code="invalid", value=value, message=message),)
    )


def already_exists(resource: str, field: str) -> InvalidRefusal:
    """Return the refusal of a value that must be unique and is taken."""
    return InvalidRefusal(errors=(FieldError(resource=resource, field=field, code="already_exists"),))


def _invalid(resource: str, field: str, message: str) -> InvalidRefusal:
    return InvalidRefusal(errors=(FieldError(resource=resource, field=field, code="custom", message=message),))


def _unprocessable(resource: str, message: str) -> InvalidRefusal:
    error = FieldError(resource=resource, field="data", code="unprocessable", message=message)
    return InvalidRefusal(errors=(error,))
