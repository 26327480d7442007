"""Cases of a test that are left to the nights."""

import pytest
from nightly import mostly_nightly


@pytest.mark.parametrize(("number", "word"), mostly_nightly([(1, "a"), (2, "b")], keep=[(1, "a")]))
def test_a_case_that_is_kept_has_no_mark(number: int, word: str, request: pytest.FixtureRequest) -> None:
    assert (request.node.get_closest_marker("nightly") is None) == ((number, word) == (1, "a"))
