"""What is kept from Python's collector, and for how long."""

import gc
import weakref

import pytest

from ghx_base.garbage import without_collecting_loaded


class Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.mark.slow
def test_what_is_loaded_is_not_looked_through_and_what_comes_later_is() -> None:
    gc.collect()
    loaded = weakref.ref(Cycle())

    with without_collecting_loaded():
        later = weakref.ref(Cycle())
        gc.collect()
        assert loaded() is not None
        assert later() is None
    gc.collect()

    assert loaded() is None


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="an error"), without_collecting_loaded():
        raise ValueError("an error")

    assert gc.get_freeze_count() == 0
