"""Which cases of a test run each time, and which only at night; see `nightly` in the root's conftest.py."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def mostly_nightly(cases: Iterable[Any], *, keep: Collection[Any] | int) -> Sequence[Any]:
    """Return cases for `parametrize`, all marked but those to keep, or the first so many; values are in a tuple."""
    listed = list(cases)
    kept = listed[:keep] if isinstance(keep, int) else keep
    return [each if each in kept else _nightly(each) for each in listed]


def _nightly(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*getattr(case, "values", values), marks=[*getattr(case, "marks", ()), pytest.mark.nightly])
