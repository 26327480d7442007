"""How much a scenario may list: far more than people write, and not so much that its problems could not be told."""

from typing import Annotated, TypeVar, cast

from pydantic import BeforeValidator, Field

from ghx_bench.documents import RefusedError

MOST_ITEMS = 1_000

T = TypeVar("T")


def _refuse_more(value: object) -> object:
    """Refuse what is too long before looking at its items, of which each might be wrong."""
    if isinstance(value, list | tuple | dict):
        size = len(cast("list[object]", value))
        if size > MOST_ITEMS:
            raise RefusedError(f"must have at most {MOST_ITEMS} items, not {size}")
    return cast("object", value)


REFUSE_MORE = BeforeValidator(_refuse_more)

Some = Annotated[T, REFUSE_MORE, Field(json_schema_extra={"maxItems": MOST_ITEMS})]
"""A list that people could have written."""
