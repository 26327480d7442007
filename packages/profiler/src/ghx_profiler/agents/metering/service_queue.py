"""Waiting for a model service: how many sessions ask it at once, how often, and for how long it is left alone."""

from collections import defaultdict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

import anyio

from ghx_base.clock import Clock, SystemClock
from ghx_profiler.config import ModelService
from ghx_profiler.records.causes import LONGEST_PAUSE_S

if TYPE_CHECKING:  # loaded with the meter, not for a plan
    from ghx_profiler.agents.metering.model_provider import ModelProvider

_MINUTE_S = 60.0

_Account = tuple[str, str | None]
"""A provider's name and key, by which vendors limit calls."""


class ServiceQueue:
    """Holds new sessions back; those that are open go on. One for all agents of a run, since they may share a key."""

    def __init__(self, limits: ModelService | None = None, clock: Clock | None = None) -> None:
        self._limits, self._clock = limits or ModelService(), clock or SystemClock()
        self._hold_until: dict[_Account, float] = {}
        self._called_at: dict[_Account, deque[float]] = defaultdict(
            lambda: deque(maxlen=self._limits.requests_per_minute)
        )
        self._places: dict[_Account, anyio.Semaphore] = {}

    @asynccontextmanager
    async def admit(self, provider: "ModelProvider") -> AsyncGenerator[None]:
        """Wait until one more session may ask a provider, and keep its place; to be entered before it is opened."""
        places: anyio.Semaphore | None = None
        if (limit := self._limits.sessions_at_once) is not None:
            places = self._places.setdefault(_account_of(provider), anyio.Semaphore(limit))
        async with places or nullcontext():
            while (seconds := self.hold_s(provider)) > 0:  # noqa: ASYNC110 - the pause may have been extended meanwhile
                await anyio.sleep(seconds)
            yield

    def hold_s(self, provider: "ModelProvider") -> float:
        """Return for how long a provider is left alone."""
        account = _account_of(provider)
        until, called_at = self._hold_until.get(account, 0.0), self._called_at[account]
        if called_at and len(called_at) == self._limits.requests_per_minute:
            until = max(until, called_at[0] + _MINUTE_S)
        return max(until - self._clock.monotonic(), 0.0)

    def hold(self, provider: "ModelProvider", seconds: float) -> None:
        """Note that a provider wants to be left alone."""
        account, until = _account_of(provider), self._clock.monotonic() + min(seconds, LONGEST_PAUSE_S)
        self._hold_until[account] = max(until, self._hold_until.get(account, 0.0))

    def note_call(self, provider: "ModelProvider") -> None:
        """Note a call to a provider."""
        if self._limits.requests_per_minute is not None:
            self._called_at[_account_of(provider)].append(self._clock.monotonic())


def _account_of(provider: "ModelProvider") -> _Account:
    return provider.name, provider.key
