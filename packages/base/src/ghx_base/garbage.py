"""Python's collector of cycles, kept from where it only costs time."""

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


@contextmanager
def without_collecting_loaded() -> Generator[None]:
    """Keep Python from looking for cycles in what is there already: modules, and what a command has prepared.

    For time that is measured: looking through everything that a run has loaded stops it for 30 to 50 ms, with Ray, at
    moments that have nothing to do with what is measured.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
