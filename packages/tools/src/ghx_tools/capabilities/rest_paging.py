"""Cursors for lists of the REST API, which only knows page numbers.

A cursor names the page to read and the length of pages: with another length, the same number would start elsewhere.
"""

import re
from typing import Any, cast

from ghx_tools.capabilities.client import JSON, GitHubClient
from ghx_tools.capabilities.errors import InvalidInputError, UnexpectedResponseError
from ghx_tools.capabilities.models import Paging
from ghx_tools.capabilities.transports.exchange import Response

_CURSOR = re.compile(r"page:([1-9][0-9]{0,6})x([1-9][0-9]{0,2})")


async def get_page(
    client: GitHubClient, path: str, paging: Paging, *, params: dict[str, str] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the items of one page of a REST list, and its `pageInfo`."""
    response, page_info = await _get(client, path, paging, params or {})
    items: object = response.data
    if not isinstance(items, list):
        raise UnexpectedResponseError("GitHub answered with something that is no list")
    return cast("list[Any]", items), page_info


async def get_results(
    client: GitHubClient, path: str, paging: Paging, *, params: dict[str, str], accept: str = JSON
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one page of a list that comes in an object, such as a search with its counts, and its `pageInfo`."""
    response, page_info = await _get(client, path, paging, params, accept=accept)
    results: object = response.data
    if not isinstance(results, dict):
        raise UnexpectedResponseError("GitHub answered with something that is no object")
    return cast("dict[str, Any]", results), page_info


async def _get(
    client: GitHubClient, path: str, paging: Paging, params: dict[str, str], *, accept: str = JSON
) -> tuple[Response, dict[str, Any]]:
    number, length = _place(paging)
    response = await client.get(path, params={**params, "per_page": length, "page": number}, accept=accept)
    more = response.next_url is not None
    return response, {"hasNextPage": more, "endCursor": f"page:{number + 1}x{length}" if more else None}


def _place(paging: Paging) -> tuple[int, int]:
    if not paging.after:
        return 1, paging.first
    read = _CURSOR.fullmatch(paging.after)
    if read is None:
        raise InvalidInputError("after: this is no cursor of this list; give the `endCursor` of the page before")
    return int(read[1]), int(read[2])
