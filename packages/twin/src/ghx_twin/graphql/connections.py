"""Connections, edges and page info, over any sequence of subjects."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.paging import Page, cursor

ItemsT = TypeVar("ItemsT", bound=Sequence[Any])


class PageInfo:
    """Where a page stands in its connection."""

    typename: ClassVar[str] = "PageInfo"
    __slots__ = ("_connection",)

    def __init__(self, connection: "Connection[Any]") -> None:
        self._connection = connection

    def has_next_page(self) -> bool:
        """Return whether there is more after this page."""
        return self._connection.bounds()[1] < len(self._connection.items)

    def has_previous_page(self) -> bool:
        """Return whether there is more before this page."""
        return self._connection.bounds()[0] > 0

    def start_cursor(self) -> str | None:
        """Return the cursor of the first item."""
        items = self._connection.page_items()
        return cursor(self._connection.bounds()[0], items[0]) if items else None

    def end_cursor(self) -> str | None:
        """Return the cursor of the last item."""
        items = self._connection.page_items()
        return cursor(self._connection.bounds()[1] - 1, items[-1]) if items else None


class Edge:
    """An item of a connection and its cursor."""

    __slots__ = ("context", "position", "subject")

    def __init__(self, context: Context, subject: object, position: int) -> None:
        self.context, self.subject, self.position = context, subject, position

    def cursor(self) -> str:
        """Return the item's cursor."""
        return cursor(self.position, self.subject)

    def node(self) -> object:
        """Return the item."""
        return self.context.view_of(self.subject)


class Connection(Generic[ItemsT]):
    """A page of a sequence of subjects."""

    edge: ClassVar[Callable[[Context, Any, int], Edge]] = Edge
    __slots__ = ("_bounds", "_page_items", "context", "items", "page")

    def __init__(self, context: Context, items: ItemsT, page: Page) -> None:
        self.context, self.items, self.page = context, items, page
        self._bounds: tuple[int, int] | None = None
        self._page_items: Sequence[Any] | None = None

    def bounds(self) -> tuple[int, int]:
        """Return from where to where the page reaches."""
        if self._bounds is None:
            self._bounds = self.page.bounds(self.items)
        return self._bounds

    def page_items(self) -> Sequence[Any]:
        """Return the subjects on this page."""
        if self._page_items is None:
            start, end = self.bounds()
            self._page_items = self.items[start:end]
            self.context.spend(len(self._page_items))  # here and not per field: `nodes` and `edges` share the page
        return self._page_items

    def nodes(self) -> list[object]:
        """Return the items on this page."""
        return [self.context.view_of(subject) for subject in self.page_items()]

    def edges(self) -> list[Edge]:
        """Return the items on this page with their cursors."""
        start, _ = self.bounds()
        make = type(self).edge
        return [make(self.context, subject, start + n) for n, subject in enumerate(self.page_items())]

    def page_info(self) -> PageInfo:
        """Return where this page stands."""
        return PageInfo(self)

    def total_count(self) -> int:
        """Return how many items there are on all pages."""
        return len(self.items)
