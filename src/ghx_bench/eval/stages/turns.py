"""Who may work in a shared repository at the same time."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio


class Turns:
    """Lets in those who keep to their own together, and the others one by one.

    One who waits to be alone is let in before those who come later, so that no one waits for ever.
    """

    def __init__(self) -> None:
        self._changed = anyio.Condition()
        self._inside = 0
        self._waiting_to_be_alone = 0
        self._is_closed = False

    @asynccontextmanager
    async def together(self) -> AsyncGenerator[None]:
        """Be there with others who keep to their own."""
        async with self._changed:
            while self._is_closed or self._waiting_to_be_alone:
                await self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            await self._leave()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Be there alone."""
        async with self._changed:
            self._waiting_to_be_alone += 1
            try:
                while self._inside:
                    await self._changed.wait()
                self._inside, self._is_closed = 1, True
            finally:
                self._waiting_to_be_alone -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            await self._leave()

    async def _leave(self) -> None:
        with anyio.CancelScope(shield=True):
            async with self._changed:
                self._inside -= 1
                self._is_closed = False
                self._changed.notify_all()
