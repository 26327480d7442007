"""Cursors for lists of the REST API, which only knows page numbers.

A cursor names the page to read and how long pages are, for a page of another length would start elsewhere.
"""

import re
from typing import Any, cast

from ghx_bench.capabilities.answers import Answer
from ghx_bench.capabilities.client import JSON, GitHubClient
from ghx_bench.capabilities.errors import InvalidInputError, UnexpectedAnswerError
from ghx_bench.capabilities.models import Paging

_CURSOR = re.compile(r"page:([1-9][0-9]{0,6})x([1-9][0-9]{0,2})")


async def get_page(
    client: GitHubClient, path: str, paging: Paging, *, params: dict[str, str] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    """Read the page of a REST list that `paging` asks for; return its items and its `pageInfo`."""
    answer, page_info = await _get(client, path, paging, params or {})
    items: object = answer.data
    if not isinstance(items, list):
        raise UnexpectedAnswerError("GitHub answered with something that is no list")
    return cast("list[Any]", items), page_info


async def get_results(
    client: GitHubClient, path: str, paging: Paging, *, params: dict[str, str], accept: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the page of a search that `paging` asks for; return what was found, counts included, and its `pageInfo`."""
    answer, page_info = await _get(client, path, paging, params, accept=accept)
    results: object = answer.data
    if not isinstance(results, dict):
        raise UnexpectedAnswerError("GitHub answered a search with something that is no object")
    return cast("dict[str, Any]", results), page_info


async def _get(
    client: GitHubClient, path: str, paging: Paging, params: dict[str, str], *, accept: str = JSON
) -> tuple[Answer, dict[str, Any]]:
    number, length = _place(paging)
    answer = await client.get(path, params={**params, "per_page": length, "page": number}, accept=accept)
    more = answer.next_url is not None
    return answer, {"hasNextPage": more, "endCursor": f"page:{number + 1}x{length}" if more else None}


def _place(paging: Paging) -> tuple[int, int]:
    if not paging.after:
        return 1, paging.first
    read = _CURSOR.fullmatch(paging.after)
    if read is None:
        raise InvalidInputError("after: this is no cursor of this list; give the `endCursor` of the page before")
    return int(read[1]), int(read[2])
