"""Pages of lists, and the Link header that leads through them."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from ghx_bench.twin.rest.answer import Answer, JsonObject
from ghx_bench.twin.rest.request import RestRequest

DEFAULT_SIZE, LARGEST_SIZE = 30, 100
ItemT = TypeVar("ItemT")


def listed(request: RestRequest, items: Sequence[ItemT], render: Callable[[ItemT], JsonObject]) -> Answer:
    """Answer with the page of a list that was asked for; only what is on it gets rendered."""
    shown, headers = page_of(request, items)
    return Answer(body=[render(item) for item in shown], headers=headers)


def page_of(request: RestRequest, items: Sequence[ItemT]) -> tuple[Sequence[ItemT], dict[str, str]]:
    """Return the items on the page that was asked for and the headers that lead to the others."""
    size, page = page_size(request), page_number(request)
    last = max(1, -(-len(items) // size))
    start = (page - 1) * size
    return items[start : start + size], _headers(request, page, last)


def page_size(request: RestRequest) -> int:
    """Return how many items a page holds; junk means GitHub's default."""
    asked = _positive(request.query.get("per_page"))
    return DEFAULT_SIZE if asked is None else min(asked, LARGEST_SIZE)


def page_number(request: RestRequest) -> int:
    """Return which page was asked for, from 1."""
    return _positive(request.query.get("page")) or 1


def _positive(text: str | None) -> int | None:
    digits = (text or "").strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:  # noqa: PLR2004 - no list is that long
        return None
    return int(digits) or None


def _headers(request: RestRequest, page: int, last: int) -> dict[str, str]:
    if last == 1:
        return {}
    targets: list[tuple[int, str]] = []
    if page > 1:
        targets.append((min(page - 1, last), "prev"))
    if page < last:
        targets += [(page + 1, "next"), (last, "last")]
    if page > 1:
        targets.append((1, "first"))
    return {"Link": ", ".join(f'<{_address(request, number)}>; rel="{relation}"' for number, relation in targets)}


def _address(request: RestRequest, page: int) -> str:
    query = {**request.query, "page": str(page)}
    return f"{request.base.api}{request.raw_path}?{urlencode(query)}"
