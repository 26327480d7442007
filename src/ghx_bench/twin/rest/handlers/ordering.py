"""Sorting lists as `sort` and `direction` ask."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ghx_bench.twin.rest.request import RestRequest

ItemT = TypeVar("ItemT")
Keys = Mapping[str, Callable[[ItemT], Any]]  # what to sort by, by the word in `sort`


def ordered(
    request: RestRequest,
    items: Sequence[ItemT],
    keys: Keys[ItemT],
    default: str,
    direction: str = "desc",
) -> list[ItemT]:
    """Sort by one of the keys; an unknown word means the default, and of equal items the newer is the larger."""
    asked = request.query.get("sort", default)
    key = keys[asked if asked in keys else default]
    turned = request.query.get("direction", direction) != "asc"
    places = {id(item): place for place, item in enumerate(items)}
    return sorted(items, key=lambda item: (key(item), places[id(item)]), reverse=turned)
