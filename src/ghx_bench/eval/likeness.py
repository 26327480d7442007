"""When two JSON values are the same: `1` is `1.0`, but `true` is not `1` and `"1"` is not `1`."""

from pydantic import JsonValue

from ghx_bench.eval.paths import MISSING, Found


def is_same(left: Found, right: Found) -> bool:
    """Say whether two values are equal as JSON, all the way down."""
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(is_same, left, right))
        case bool(), _:
            return left is right
        case _, bool():
            return False
        case _:
            return left == right


def is_like(value: Found, wanted: JsonValue) -> bool:
    """Say whether a value is what was wanted; an object may have more keys than those wanted of it."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(is_like(value.get(key, MISSING), each) for key, each in wanted.items())
    return is_same(value, wanted)
