"""Scripted runs go on between requests: to the present, and further for a client that waits for them."""

import re

from ghx_bench.twin.commands.actions import progress
from ghx_bench.twin.server.hosting import Hosted
from ghx_bench.twin.server.request import Request

# What clients ask again and again while they wait for a run. The first looks may be of one that is about to cancel it.
_PATIENT_LOOKS = 2
_LOOK_AT_RUNS = re.compile(r"/actions/|/check-(?:runs|suites)|/status(?:es)?(?:/|$)")
_QUERY_OF_RUNS = re.compile(rb"statusCheckRollup|checkSuite|workflowRun")


async def play_runs(request: Request, hosted: Hosted, body: bytes) -> None:
    """Have runs go on to the present before a request is answered, and further for a client that waits for them."""
    await hosted.wait_for_thread()
    if not progress.is_pending(hosted.world):
        hosted.looks.clear()
        return
    if _LOOK_AT_RUNS.search(request.path) or _QUERY_OF_RUNS.search(body):
        hosted.looks[request.path, request.query, body] += 1
        is_awaited = hosted.looks[request.path, request.query, body] > _PATIENT_LOOKS
    else:
        is_awaited = False
    async with hosted.write_lock:
        progress.advance(hosted.world, is_awaited=is_awaited)
