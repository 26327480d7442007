"""Pending waits, to show them at a terminal."""

from collections.abc import Generator
from contextlib import contextmanager


class Waiting:
    """What a measurement waits for right now; the one that has been waited for longest is told."""

    def __init__(self) -> None:
        self._things: list[str] = []

    @contextmanager
    def wait_for(self, what: str) -> Generator[None]:
        """Hold that this is waited for while the block runs."""
        self._things.append(what)
        try:
            yield
        finally:
            self._things.remove(what)

    @property
    def longest(self) -> str | None:
        """What has been waited for longest."""
        return self._things[0] if self._things else None
