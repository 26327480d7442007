"""A server that offers capabilities as tools to one client, on standard input and output.

An agent waits for it before its first thought, so it answers before it has loaded what calls need: the main thread
reads and answers what needs no GitHub, while another thread loads the rest and then makes the calls.
"""

import json
import os
import select
import traceback
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from threading import Lock, Thread

from ghx_base.commandline import BAD_USAGE, run_to_exit_code
from ghx_tools.capabilities.environment import connection_from_environment
from ghx_tools.mcp.json_rpc import Message
from ghx_tools.mcp.stdio_session import Call, Cancellation, Session
from ghx_tools.mcp.toolsets import Selection

_CHUNK = 1 << 16
_LAST_ANSWERS_S = 1.0  # how long a client that is leaving is given to read that its calls were stopped


def serve_stdio(selection: Selection, environ: Mapping[str, str]) -> None:
    """Serve one client on standard input and output, until it closes either."""
    connection_from_environment(environ)  # raises: settings that cannot be used are said before a client relies on them
    incoming, outgoing = _take_standard_streams()
    output = _Output(outgoing)
    calls = _CallThread(selection, environ, output)
    session = Session(selection, calls, output.send)
    try:
        for line in _read_lines(incoming, outgoing):
            session.receive(line)
        calls.stop()
    except ConnectionError:
        pass  # the client is gone: the session is over, however many answers it wanted


def _take_standard_streams() -> tuple[int, int]:
    """Return private copies of standard input and output, and point the originals elsewhere.

    A stray print of a library, or a program that it starts, then can neither write into the protocol nor read from it.
    """
    incoming, outgoing = os.dup(0), os.dup(1)  # the command line has opened those that were closed
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    # A client may have left its end non-blocking, and in some systems both ends share that.
    os.set_blocking(outgoing, True)
    return incoming, outgoing


def _read_lines(incoming: int, outgoing: int) -> Iterator[bytes]:
    """Yield lines until the input ends, or the reader of the output is gone."""
    streams = select.poll()
    streams.register(incoming, select.POLLIN)
    streams.register(outgoing, 0)  # only its end, which poll always reports
    parts: list[bytes] = []
    while True:
        events = dict(streams.poll())
        if events.get(outgoing, 0) & (select.POLLERR | select.POLLHUP):
            return
        chunk = os.read(incoming, _CHUNK)
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for start in others:
            yield b"".join(parts)
            parts = [start]
        if not chunk:
            yield b"".join(parts)  # a last line may lack its end
            return


class _Output:
    """Writes messages, each on a line of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = Lock()

    def send(self, message: Message) -> None:
        """Write a message; waits while the client does not read."""
        # In ASCII: half of a surrogate pair, which any text of GitHub's may hold, has no other form.
        rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        with self._lock:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


class _CallThread:
    """Makes calls in a thread of its own; what they need is loaded there as soon as it is told to prepare."""

    def __init__(self, selection: Selection, environ: Mapping[str, str], output: _Output) -> None:
        self._jobs: SimpleQueue[Call | Cancellation | None] = SimpleQueue()
        self._unanswered: set[Call] = set()

        def make_calls() -> None:
            # Takes several times as long as all else that the server does before it answers.
            from ghx_tools.mcp.call_loop import CallLoop  # noqa: PLC0415 - see above

            CallLoop(selection, environ, output.send, self._unanswered.discard).run(self._jobs)

        def run() -> None:
            # A defect ends the process, as it would in the main thread: a client must not wait for answers in vain.
            try:
                code = run_to_exit_code(make_calls)
            except BaseException:  # noqa: BLE001 - GHX_BENCH_DEBUG lets it through, for its traceback
                traceback.print_exc()
                code = BAD_USAGE
            if code:
                os._exit(code)

        # A daemon: one that is still loading, or waits for a client to read, must not keep the process from ending.
        self._thread = Thread(target=run, daemon=True)

    def prepare(self) -> None:
        """Start the thread, once."""
        if self._thread.ident is None:
            self._thread.start()

    def submit(self, call: Call) -> None:
        """Begin a call."""
        self._unanswered.add(call)
        self._jobs.put(call)

    def cancel(self, id_: object) -> None:
        """Stop the call with this id, if it still goes on."""
        # By the same queue, so that no cancellation overtakes its call.
        self._jobs.put(Cancellation(id=id_))

    def stop(self) -> None:
        """Stop all calls, and answer them so; waits for a moment at most, and not where there is nothing to answer."""
        if self._unanswered:
            self._jobs.put(None)
            self._thread.join(_LAST_ANSWERS_S)
