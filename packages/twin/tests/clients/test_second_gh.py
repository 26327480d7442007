"""The second `gh`, with which the tests beside this one try every command again."""

import pytest
from gh_client import MISSING, bundled_gh, system_gh, version_of


def test_there_is_a_gh_beside_our_own() -> None:
    """One skip tells what a hundred would: where there is no second `gh`, the `program` fixture has ours alone."""
    found = system_gh()
    if found is None:
        pytest.skip(MISSING)

    assert found != bundled_gh()
    assert version_of(found)
