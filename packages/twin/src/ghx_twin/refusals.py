"""Refusals, with all that REST and GraphQL need to answer as GitHub does.

Messages are GitHub's own, word for word, wherever these are known: agents decide by them what to do next.

```
Refusal                 a message, an HTTP status and a GraphQL error type
├── NotFoundRefusal     404, NOT_FOUND: no such thing, or none that this viewer may see
│   └── PlainNotFoundRefusal  whose message REST spells out too ("Branch not found")
├── ForbiddenRefusal    403, FORBIDDEN: the role, the token's scopes or the state of things do not allow it
│   ├── RoleRefusal     the viewer's role is too small; GraphQL names the mutation instead
│   └── ScopeRefusal    403, INSUFFICIENT_SCOPES: the token's scopes are too small for a field of GraphQL's
├── InvalidRefusal      422, UNPROCESSABLE: a value or the state of things stands against it; may carry `errors`
├── ConflictRefusal     409, UNPROCESSABLE: the caller's picture of the state is out of date
├── NotAllowedRefusal   405, UNPROCESSABLE: cannot be done to this thing now (a merge)
├── MovedRefusal        301, NOT_FOUND: the issue lives in another repository now; carries its id
├── GoneRefusal         410, NOT_FOUND: it was there, or the feature is switched off
└── NotImplementedRefusal  501: GitHub can do this, the emulator cannot yet
```
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ghx_base.errors import GhxBenchError


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One entry of `errors` in a 422 answer."""

    resource: str
    field: str | None = None
    code: str  # missing | missing_field | invalid | already_exists | unprocessable | custom
    message: str | None = None
    value: object = None

    @property
    def sentence(self) -> str | None:
        """Return the error as a sentence of GraphQL, which begins with the field; None if it does not exist."""
        if self.field is None:
            return self.message
        sentence = self.message or (f"{self.field} {_SENTENCES[self.code]}" if self.code in _SENTENCES else None)
        if sentence is None or not sentence.startswith(f"{self.field} "):
            return sentence
        return self.field.replace("_", " ").capitalize() + sentence.removeprefix(self.field)


_SENTENCES = {"missing_field": "can't be blank", "invalid": "is invalid", "already_exists": "has already been taken"}


class Refusal(GhxBenchError):  # noqa: N818 - an answer GitHub gives, not a failure of ours
    """A request that GitHub would refuse too; nothing has changed."""

    code: ClassVar[str] = "REFUSED"
    status: ClassVar[int] = 400
    graphql_type: ClassVar[str] = "UNPROCESSABLE"

    def __init__(self, message: str, *, documentation_url: str = "https://docs.github.com/rest") -> None:
        super().__init__(message)
        self.message, self.documentation_url = message, documentation_url

    @property
    def graphql_message(self) -> str:
        """Return GraphQL's message, which is often the reason where REST names only the kind of refusal."""
        return self.message


class NotFoundRefusal(Refusal):
    """There is no such thing, or none that this viewer may see.

    REST says only "Not Found"; GraphQL says what it could not resolve, which is `message`.
    """

    code: ClassVar[str] = "NOT_FOUND"
    status: ClassVar[int] = 404
    graphql_type: ClassVar[str] = "NOT_FOUND"


class PlainNotFoundRefusal(NotFoundRefusal):
    """A 404 whose message GitHub spells out in REST too ("Branch not found")."""


class ForbiddenRefusal(Refusal):
    """Something about the viewer or the thing does not allow it; `needed_scopes` when it is the token."""

    code: ClassVar[str] = "FORBIDDEN"
    status: ClassVar[int] = 403
    graphql_type: ClassVar[str] = "FORBIDDEN"

    def __init__(self, message: str, *, needed_scopes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.needed_scopes = tuple(needed_scopes)


class RoleRefusal(ForbiddenRefusal):
    """The viewer's role is too small; the message is REST's, for GraphQL says which mutation was not allowed."""


class ScopeRefusal(ForbiddenRefusal):
    """The token lacks the scope that a field of GraphQL's asks for, whatever its user may see."""

    graphql_type: ClassVar[str] = "INSUFFICIENT_SCOPES"


class InvalidRefusal(Refusal):
    """A value, or the state of things, stands against it."""

    code: ClassVar[str] = "INVALID"
    status: ClassVar[int] = 422

    def __init__(
        self, message: str = "Validation Failed", *, errors: Sequence[FieldError | str] = (), graphql: str | None = None
    ) -> None:
        super().__init__(message)
        self.errors, self._graphql = tuple(errors), graphql

    @property
    def graphql_message(self) -> str:
        """Return the reasons in one line, as GraphQL gives them."""
        sentences = [error if isinstance(error, str) else error.sentence for error in self.errors]
        return self._graphql or ", ".join(reason for reason in sentences if reason) or self.message


class ConflictRefusal(Refusal):
    """The caller's picture of the state is out of date."""

    code: ClassVar[str] = "CONFLICT"
    status: ClassVar[int] = 409


class NotAllowedRefusal(Refusal):
    """It cannot be done to this thing now."""

    code: ClassVar[str] = "NOT_ALLOWED"
    status: ClassVar[int] = 405


class MovedRefusal(Refusal):
    """An issue was transferred; `issue_id` says which record it is now."""

    code: ClassVar[str] = "MOVED"
    status: ClassVar[int] = 301
    graphql_type: ClassVar[str] = "NOT_FOUND"

    def __init__(self, message: str, *, issue_id: int) -> None:
        super().__init__(message)
        self.issue_id = issue_id


class GoneRefusal(Refusal):
    """It was there once, or the feature is switched off."""

    code: ClassVar[str] = "GONE"
    status: ClassVar[int] = 410
    graphql_type: ClassVar[str] = "NOT_FOUND"


class NotImplementedRefusal(Refusal):
    """GitHub can do this and the emulator cannot yet; never answered with something plausible instead."""

    code: ClassVar[str] = "NOT_IMPLEMENTED"
    status: ClassVar[int] = 501
    graphql_type: ClassVar[str] = "NOT_IMPLEMENTED"
