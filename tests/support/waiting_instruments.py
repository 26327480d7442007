"""Instruments for workers in other processes, whose agent waits until a file is there."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
from profiler_fakes import FakeProvider, FakeSession, SaysThree, answers_three

from ghx_profiler.evidence import Answer
from ghx_profiler.runner.instruments import Backoff, Instruments


async def wait_and_answer(gate: str, session: FakeSession, text: str) -> Answer:
    while not Path(gate).exists():  # noqa: ASYNC110 - made by another process
        await anyio.sleep(0.02)
    return await answers_three(session, text)


def build_waiting(gate: str) -> Instruments[Any]:
    return Instruments(
        provider=FakeProvider(partial(wait_and_answer, gate)), scorer=SaysThree(), backoff=Backoff(first_s=0)
    )
