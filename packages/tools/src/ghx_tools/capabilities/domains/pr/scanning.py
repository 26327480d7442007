"""Filter lists that GitHub cannot filter: pages are read until enough items fit."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghx_tools.capabilities.models import Count, OutputModel

MOST_PAGES = 10
"""How many of GitHub's pages one call reads at most."""

Node = dict[str, Any]
ScannedItem = tuple[str, Node]
"""An item of GitHub's list, and the cursor to read on after it."""


class Scan(OutputModel):
    """How much of GitHub's list was read; a truncated scan stopped before it found enough."""

    pages_scanned: Count
    source_items_scanned: Count
    scan_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePage:
    """One page of GitHub's list; `last` if no other follows."""

    entries: Sequence[ScannedItem]
    last: bool


async def scan(pages: AsyncIterator[SourcePage], fits: Callable[[Node], bool], *, first: int) -> dict[str, Any]:
    """Read until `first` items fit, the list ends, or many pages were read; return `items`, `pageInfo` and `scan`.

    The next page begins right after the last item that was read, so no item comes twice and none is left out.
    """
    items: list[Node] = []
    cursor: str | None = None
    read = looked_at = 0
    async for page in pages:
        read += 1
        for index, (place, node) in enumerate(page.entries):
            cursor, looked_at = place, looked_at + 1
            if fits(node):
                items.append(node)
            if len(items) == first:
                # The rest of this page is known: a next page is promised only if one of it fits, or more may follow.
                rest = [later for _, later in page.entries[index + 1 :] if fits(later)]
                return _result(items, more=bool(rest) or not page.last, cursor=cursor, read=read, seen=looked_at)
        if page.last:
            return _result(items, more=False, cursor=cursor, read=read, seen=looked_at)
        if read == MOST_PAGES:
            break
    return _result(items, more=True, cursor=cursor, read=read, seen=looked_at, truncated=True)


def _result(
    items: list[Node], *, more: bool, cursor: str | None, read: int, seen: int, truncated: bool = False
) -> dict[str, Any]:
    return {
        "items": items,
        "pageInfo": {"hasNextPage": more, "endCursor": cursor},
        "scan": {"pagesScanned": read, "sourceItemsScanned": seen, "scanTruncated": truncated},
    }


def source_page(connection: Mapping[str, Any]) -> SourcePage:
    """Return a page of a GraphQL connection with `edges { cursor node }` and `pageInfo { hasNextPage endCursor }`."""
    entries = [(edge["cursor"], edge["node"]) for edge in connection["edges"] if edge and edge["node"]]
    return SourcePage(entries=entries, last=not connection["pageInfo"]["hasNextPage"])
