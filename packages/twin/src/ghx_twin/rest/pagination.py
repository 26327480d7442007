"""Lists: their order, their pages, and the Link header that leads through them."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from ghx_twin.reply import JsonObject, Reply, json_reply
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Record

DEFAULT_SIZE, LARGEST_SIZE = 30, 100
ItemT = TypeVar("ItemT")
RecordT = TypeVar("RecordT", bound=Record)
Keys = Mapping[str, Callable[[ItemT], Any]]  # what to sort by, by the word in `sort`


def list_reply(request: RestRequest, items: Sequence[ItemT], render: Callable[[ItemT], JsonObject]) -> Reply:
    """Return the requested page of a list; only items on it are rendered."""
    reply, headers = page_of(request, items)
    return json_reply([render(item) for item in reply], headers=headers)


def page_of(request: RestRequest, items: Sequence[ItemT]) -> tuple[Sequence[ItemT], dict[str, str]]:
    """Return the items on the requested page and the headers that lead to the others."""
    size, page = page_size(request), page_number(request)
    last = max(1, -(-len(items) // size))
    start = (page - 1) * size
    return items[start : start + size], _link_headers(request, page, last)


def cursor_page(request: RestRequest, items: Sequence[RecordT]) -> tuple[Sequence[RecordT], dict[str, str]]:
    """Return the page of a list whose pages begin after, or end before, the record that a cursor names."""
    size, ids = page_size(request), [item.id for item in items]
    after, before = (_cursor_id(request.query.get(name)) for name in ("after", "before"))
    start = ids.index(after) + 1 if after in ids else 0
    end = start + size
    if before in ids:
        end = ids.index(before)
        start = max(0, end - size)
    page_items = items[start:end]
    links: list[str] = []
    here = f"{request.base.api}{request.raw_path}"
    parameters = {name: value for name, value in request.query.items() if name not in {"after", "before"}}
    if page_items and end < len(items):
        links.append(f'<{here}?{urlencode({**parameters, "after": _cursor(page_items[-1].id)})}>; rel="next"')
    if page_items and start > 0:
        links.append(f'<{here}?{urlencode({**parameters, "before": _cursor(page_items[0].id)})}>; rel="prev"')
    return page_items, {"Link": ", ".join(links)} if links else {}


def _cursor(identity: int) -> str:
    return base64.urlsafe_b64encode(f"cursor:{identity}".encode()).decode()


def _cursor_id(text: str | None) -> int | None:
    """Return the id that a cursor names; None for what is no cursor, which GitHub ignores."""
    try:
        name, _, identity = base64.urlsafe_b64decode((text or "").encode()).decode().partition(":")
    except ValueError:
        return None
    return int(identity) if name == "cursor" and identity.isascii() and identity.isdigit() else None


def page_size(request: RestRequest) -> int:
    """Return how many items a page holds; GitHub ignores what is no number and cuts what is too large."""
    size = _positive(request.query.get("per_page"))
    return DEFAULT_SIZE if size is None else min(size, LARGEST_SIZE)


def page_number(request: RestRequest) -> int:
    """Return which page was requested, from 1."""
    return _positive(request.query.get("page")) or 1


def _positive(text: str | None) -> int | None:
    digits = (text or "").strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:  # noqa: PLR2004 - no list is that long
        return None
    return int(digits) or None


def _link_headers(request: RestRequest, page: int, last: int) -> dict[str, str]:
    if last == 1:  # GitHub sends no Link header for a list of one page; clients stop when `next` is missing
        return {}
    targets: list[tuple[int, str]] = []
    if page > 1:
        targets.append((min(page - 1, last), "prev"))  # a page past the end leads back to the last one
    if page < last:
        targets += [(page + 1, "next"), (last, "last")]
    if page > 1:
        targets.append((1, "first"))
    here = f"{request.base.api}{request.raw_path}"
    links = [f'<{here}?{urlencode({**request.query, "page": str(number)})}>; rel="{name}"' for number, name in targets]
    return {"Link": ", ".join(links)}


def order_clause(
    request: RestRequest, columns: Mapping[str, str], default: str, direction: str = "desc", *, table: str
) -> str:
    """Return what `sort` and `direction` ask for as SQL; an unknown word means the default."""
    column = columns.get(request.query.get("sort", default), columns[default])
    way = "ASC" if request.query.get("direction", direction) == "asc" else "DESC"
    # Times have whole seconds: of equal ones the newer record is the larger.
    return f"ORDER BY {column} {way}, {table}.id {way}"


def sort_items(
    request: RestRequest,
    items: Sequence[ItemT],
    keys: Keys[ItemT],
    default: str,
    direction: str = "desc",
) -> list[ItemT]:
    """Return the items in the order that `sort` and `direction` ask for; an unknown word means the default."""
    sort_key = request.query.get("sort", default)
    key = keys[sort_key if sort_key in keys else default]
    descending = request.query.get("direction", direction) != "asc"
    # Times have whole seconds. Of equal ones the newer item, later in the list, is the larger: `sorted` alone would
    # keep the older first when it reverses.
    places = {id(item): place for place, item in enumerate(items)}
    return sorted(items, key=lambda item: (key(item), places[id(item)]), reverse=descending)
