"""Scripted runs go on between requests: to the present, and further for a client that waits for them."""

import re

from ghx_bench.twin.commands.actions import progress
from ghx_bench.twin.server.hosting import Hosted
from ghx_bench.twin.server.request import Request

# What clients ask again and again while they wait for a run.
_LOOK_AT_RUNS = re.compile(r"/actions/|/check-(?:runs|suites)|/status(?:es)?(?:/|$)")
_QUERY_OF_RUNS = re.compile(rb"statusCheckRollup|checkSuite|workflowRun")
_MOST_LOOKS = 1000


async def play_runs(request: Request, hosted: Hosted, body: bytes) -> None:
    """Have runs go on to the present before a request is answered, and further for a client that waits for them."""
    await hosted.wait_for_thread()
    if progress.is_pending(hosted.world):
        is_awaited = _asks_again(request, hosted, body)
        async with hosted.write_lock:
            progress.advance(hosted.world, is_awaited=is_awaited)


def _asks_again(request: Request, hosted: Hosted, body: bytes) -> bool:
    """Return whether a client asks about runs what was asked before, as it does while it waits for one.

    Not at the first time: who looks at a run to cancel it must find it as it was.
    """
    if not _LOOK_AT_RUNS.search(request.path) and not _QUERY_OF_RUNS.search(body):
        return False
    look = f"{request.method} {request.path}?{request.query}".encode() + body
    is_again = look in hosted.looks_at_runs
    if is_again or len(hosted.looks_at_runs) > _MOST_LOOKS:
        hosted.looks_at_runs.clear()
    hosted.looks_at_runs.add(look)
    return is_again
