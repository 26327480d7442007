"""Scripted runs go on between requests: to the present, and further for a client that waits for them."""

from collections.abc import Awaitable, Callable
from hashlib import blake2b

from ghx_twin.commands.actions import progress
from ghx_twin.server.hosting import Hosted
from ghx_twin.server.request import Request

_PATIENT_LOOKS = 2  # the first may be of one who is about to cancel a run
_MOST_LOOKS = 1000  # that are remembered: a run can wait for an approval for as long as the world stands


async def play_runs(request: Request, hosted: Hosted, body: bytes, is_read_only: Callable[[], Awaitable[bool]]) -> None:
    """Have runs go on to the present before a request is answered, and further for a client that waits for them.

    A client waits that reads the same again and again, whatever it reads: some tools ask for the run, others for the
    pull request that it holds up.
    """
    await hosted.wait_for_thread()
    if not progress.is_pending(hosted.world):
        hosted.looks.clear()
        return
    is_awaited = await is_read_only() and _count_poll(hosted, request, body) > _PATIENT_LOOKS
    async with hosted.write_lock:
        await hosted.run_in_thread(lambda: progress.advance(hosted.world, is_awaited=is_awaited))


async def finish_runs(hosted: Hosted) -> None:
    """Play all runs to their end, while no request writes."""
    async with hosted.write_lock:
        await hosted.run_in_thread(lambda: progress.finish(hosted.world))


def _count_poll(hosted: Hosted, request: Request, body: bytes) -> int:
    key = repr((request.method, request.path, request.query, body)).encode()
    look = blake2b(key, digest_size=16).digest()
    count = hosted.looks.pop(look, 0) + 1
    hosted.looks[look] = count  # at the end, so that the first is what was not asked for longest
    if len(hosted.looks) > _MOST_LOOKS:
        del hosted.looks[next(iter(hosted.looks))]
    return count
