"""Python's collector of cycles, switched off where it only costs time."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_cycle_collection() -> Generator[None]:
    """Keep Python from looking for cycles in what is made meanwhile.

    For the reading of many records, which have no cycles: looking for them took a quarter of the time for 10,000
    scenarios, and longer than reading for rows.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
