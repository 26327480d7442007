"""Which cases of a test run each time, and which only at night; see `nightly` in the root's conftest.py."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def mostly_nightly(cases: Iterable[Any], *, keep: Collection[Any]) -> Sequence[Any]:
    """Return cases for `parametrize`, those beside the kept ones marked; a case of several values is a tuple."""
    return [each if each in keep else _nightly(each) for each in cases]


def _nightly(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*getattr(case, "values", values), marks=[*getattr(case, "marks", ()), pytest.mark.nightly])
