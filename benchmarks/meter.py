"""What the meter adds to a model call: next to a direct call in the same run, in turns.

A provider in a process of its own answers chat completions as streams. Calls come one after the other, with a small
and a large request, and with a pause between them, as agents make them; then in paced streams, one and sixteen at a
time, each piece of which says when it was sent, so that its delay is known. The meter is in a process of its own, too,
as it is a thread of a bench that is mostly waiting.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import uvicorn

from _figures import Budget, Figure, show
from _processes import compiled_environment
from ghx_profiler.agents.metering.loopback_server import read_body, reply
from ghx_profiler.agents.metering.meter import Meter
from ghx_profiler.agents.metering.model_provider import ModelProvider

PER_CALL = Budget(value=1, words="at most 1 ms")
PER_PIECE = Budget(value=2, words="at most 2 ms")
PIECES = 10
PAUSE_S = 0.02
SIZES = {"1 KB": 1_000, "130 KB": 130_000}


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Be a provider: stream pieces that say when they were sent, at the pace that the request asks for."""
    body = await read_body(receive, most_bytes=2**20)
    if body is None or scope["method"] != "POST":
        # Not from here: other programs of the machine ask whatever listens, such as the snoop agent in a test.
        await reply(send, 404, b"{}")
        return
    pause = json.loads(body)["pause_s"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for number in range(PIECES):
        if pause and number:
            await asyncio.sleep(pause)
        chunk = {"sent": time.monotonic(), "model": "m", "choices": [{"index": 0, "delta": {"content": "some words"}}]}
        await send(
            {"type": "http.response.body", "body": b"data: %s\n\n" % json.dumps(chunk).encode(), "more_body": True}
        )
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    last = {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
    end = b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(last).encode()
    await send({"type": "http.response.body", "body": end})


async def serve_provider() -> None:
    config = uvicorn.Config(answer, host="127.0.0.1", port=0, lifespan="off", access_log=False, log_level="warning")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    print(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]} none", flush=True)
    await serving


async def serve_meter(provider: str) -> None:
    upstream = ModelProvider.at("bench", f"{provider}/v1", key_variable=None, environment={})
    async with Meter({"openai-chat": upstream}) as meter:
        with meter.session() as session:
            print(session.base_url, session.key, flush=True)
            await asyncio.Event().wait()


class Client:
    """A connection that is kept, as agents keep theirs, with as little of its own as possible."""

    def __init__(self, base_url: str, key: str, *, size: int, pause_s: float) -> None:
        host, _, prefix = base_url.removeprefix("http://").partition("/")
        body = {"model": "m", "stream": True, "pause_s": pause_s, "messages": [{"role": "user", "content": "x" * size}]}
        content = json.dumps(body).encode()
        path = f"/{prefix}/v1/chat/completions".replace("//", "/")
        head = f"POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\ncontent-length: {len(content)}"
        self._request = head.encode() + b"\r\n\r\n" + content
        self._host, _, self._port = host.partition(":")

    async def connect(self) -> None:
        """Open the connection."""
        self._reader, self._writer = await asyncio.open_connection(self._host, int(self._port))

    async def call(self) -> tuple[float, float, list[float]]:
        """Return the time to the first piece, to the end, and the delay of each piece, in milliseconds."""
        began, first, delays, received = time.monotonic(), 0.0, [], b""
        self._writer.write(self._request)
        while not received.endswith(b"0\r\n\r\n"):
            content = await self._reader.read(65536)
            if not content:
                raise ConnectionError(f"the connection was closed after {received!r}")
            now = time.monotonic()
            if b'"sent": ' in content:
                first = first or now - began
                delays += [(now - float(each.split(b",")[0])) * 1000 for each in content.split(b'"sent": ')[1:]]
            received += content
        return first * 1000, (time.monotonic() - began) * 1000, delays


Places = Sequence[tuple[str, str]]


async def measure_calls(places: Places, size: int, rounds: int) -> list[tuple[float, float]]:
    """Return the median time to the first piece and to the end, by place; one call at a time, places in turns."""
    clients = [Client(*place, size=size, pause_s=0) for place in places]
    taken: list[list[tuple[float, float]]] = [[] for _ in places]
    for client in clients:
        await client.connect()
    for number in range(rounds + 20):
        for client, into in zip(clients, taken, strict=True):
            await asyncio.sleep(PAUSE_S)
            first, whole, _ = await client.call()
            if number >= 20:
                into.append((first, whole))
    return [(statistics.median(a for a, _ in each), statistics.median(b for _, b in each)) for each in taken]


async def measure_pieces(places: Places, streams: int, rounds: int) -> list[float]:
    """Return the median delay of a piece, by place; so many streams at a time, places in turns."""
    delays: list[list[float]] = [[] for _ in places]
    for _ in range(rounds):
        for place, into in zip(places, delays, strict=True):
            clients = [Client(*place, size=1_000, pause_s=PAUSE_S) for _ in range(streams)]
            for client in clients:
                await client.connect()
            for call in await asyncio.gather(*(client.call() for client in clients)):
                into.extend(call[2])
    return [statistics.median(each) for each in delays]


def start(stack: ExitStack, *arguments: str) -> tuple[str, str]:
    """Start a part of the benchmark, and return its address and key."""
    command = [sys.executable, __file__, *arguments]
    process = stack.enter_context(
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=compiled_environment())
    )
    stack.callback(process.kill)
    assert process.stdout is not None
    address, key = process.stdout.readline().split()
    return address, key


async def measure(rounds: int) -> list[Figure]:
    figures: list[Figure] = []
    with ExitStack() as stack:
        provider = start(stack, "--provider")
        places = [provider, start(stack, "--meter", provider[0])]
        for words, size in SIZES.items():
            direct, metered = await measure_calls(places, size, rounds)
            figures += [
                Figure(what=f"direct call, {words}", value=direct[1], unit="ms"),
                Figure(what=f"added to a call, {words}", value=metered[1] - direct[1], unit="ms", budget=PER_CALL),
                Figure(
                    what=f"added to its first piece, {words}", value=metered[0] - direct[0], unit="ms", budget=PER_CALL
                ),
            ]
        for streams in (1, 16):
            plain, through = await measure_pieces(places, streams, max(rounds // 40, 2))
            figures += [
                Figure(what=f"delay of a piece, {streams} direct", value=plain, unit="ms"),
                Figure(what=f"delay of a piece, {streams} metered", value=through, unit="ms", budget=PER_PIECE),
            ]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--provider", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--meter", metavar="URL", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.provider:
        asyncio.run(serve_provider())
    elif flags.meter:
        asyncio.run(serve_meter(flags.meter))
    else:
        figures = asyncio.run(measure(20 if flags.quick else 400))
        show(figures, packages=["ghx-bench", "uvicorn", "httptools"], as_json=flags.json)


if __name__ == "__main__":
    main()
