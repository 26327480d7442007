"""Pages of connections: GitHub's bounds, its refusals, and opaque cursors."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ghx_twin.refusals import Refusal

MAX_PAGE = 100
_CURSOR = "cursor:v2:"


class PaginationRefusal(Refusal):
    """A page was requested in a way that GitHub does not serve; `graphql_type` says which."""

    code: ClassVar[str] = "PAGINATION"

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.graphql_type = kind  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue] - one class for all kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of a connection is wanted."""

    connection: str  # the field's name, for messages
    first: int | None = None
    last: int | None = None
    after: str | None = None
    before: str | None = None

    def check(self) -> None:
        """Refuse sizes that GitHub refuses."""
        for name, size in (("first", self.first), ("last", self.last)):
            if size is not None and size > MAX_PAGE:
                raise PaginationRefusal(
                    f"Requesting {size} records on the `{self.connection}` connection exceeds the `{name}` limit of "
                    f"{MAX_PAGE} records.",
                    kind="EXCESSIVE_PAGINATION",
                )
            if size is not None and size < 0:
                raise PaginationRefusal(
                    f"`{name}` on the `{self.connection}` connection cannot be less than zero.",
                    kind="INVALID_PAGINATION_BOUNDARIES",
                )

    def check_items_wanted(self) -> None:
        """Refuse a connection whose items are selected without a size."""
        if self.first is None and self.last is None:
            raise PaginationRefusal(
                f"You must provide a `first` or `last` value to properly paginate the `{self.connection}` connection.",
                kind="MISSING_PAGINATION_BOUNDARIES",
            )
        if self.first is not None and self.last is not None:
            raise PaginationRefusal(
                f"Passing both `first` and `last` to paginate the `{self.connection}` connection is not supported.",
                kind="INVALID_PAGINATION_BOUNDARIES",
            )

    def bounds(self, items: Sequence[Any]) -> tuple[int, int]:
        """Return from where to where in `items` the page reaches."""
        start = 0 if self.after is None else self._position(self.after, items) + 1
        end = len(items) if self.before is None else self._position(self.before, items)
        end = max(start, min(end, len(items)))
        if self.first is not None:
            end = min(end, start + self.first)
        elif self.last is not None:
            start = max(start, end - self.last)
        return start, end

    def _position(self, cursor: str, items: Sequence[Any]) -> int:
        """Return where the item of a cursor stands now; if it is gone, the place before the one where it was."""
        position, key = parse_cursor(cursor)
        if key == "" or (position < len(items) and _key_of(items[position]) == key):
            return position
        # Items were added or removed between two pages: a cursor by position alone would skip or repeat some.
        return next((n for n, item in enumerate(items) if _key_of(item) == key), position - 1)


def cursor(position: int, item: object) -> str:
    """Return the cursor of an item: its position, and its key in case that changes."""
    return base64.b64encode(f"{_CURSOR}{position}:{_key_of(item)}".encode()).decode()


def parse_cursor(text: str) -> tuple[int, str]:
    """Return position and key of a cursor; refuse a text that is none."""
    try:
        content = base64.b64decode(text.encode("ascii"), validate=True).decode()
        position, _, key = content.removeprefix(_CURSOR).partition(":")
        if content.startswith(_CURSOR) and position.isascii() and position.isdigit() and len(position) <= 9:  # noqa: PLR2004 - more digits than any list has items
            return int(position), key
    except (UnicodeError, binascii.Error):
        pass
    raise PaginationRefusal(f"`{text}` does not appear to be a valid cursor.", kind="INVALID_CURSOR_ARGUMENTS")


def _key_of(item: object) -> str:
    identity = getattr(item, "id", None)
    return str(identity) if isinstance(identity, int) else ""
