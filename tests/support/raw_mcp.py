"""`ghx mcp` on standard input and output, spoken to line by line: what no client library would send can be sent."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

COMMAND = (sys.executable, "-m", "ghx_tools.cli.main", "mcp")
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every request of this revision has in `_meta`."""


def request(method: str, params: object = None, *, id_: object = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else {**message, "params": params}


def initialize(revision: str = "2025-11-25", *, id_: object = 0) -> dict[str, Any]:
    client = {"name": "tests", "version": "1"}
    return request("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}, id_=id_)


def call(name: str, given: object = None, *, id_: object = 1, **meta: object) -> dict[str, Any]:
    params = {"name": name, "arguments": given} if given is not None else {"name": name}
    return request("tools/call", {**params, "_meta": meta} if meta else params, id_=id_)


def cancel(id_: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}


class RawServer:
    """A server that was started, and the lines to and from it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.process, self._stdin, self.stdout, self._stderr = process, process.stdin, process.stdout, process.stderr

    def send(self, *messages: object) -> None:
        """Write messages; bytes go out as they are."""
        for message in messages:
            self._stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    def read(self) -> Any:
        line = self.stdout.readline()
        assert line.endswith(b"\n"), (line, self._stderr.read() if self.process.poll() is not None else "")
        return json.loads(line)

    def ask(self, message: object) -> Any:
        self.send(message)
        return self.read()

    def start(self, revision: str = "2025-11-25") -> Any:
        answer = self.ask(initialize(revision))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def leave(self) -> tuple[list[Any], int, str]:
        """Close the input; return what is still answered, the exit code, and what went to standard error."""
        self._stdin.close()
        rest = [json.loads(line) for line in self.stdout]
        return rest, self.process.wait(), self._stderr.read().decode()


@contextmanager
def raw_server(environment: Mapping[str, str], *flags: str, command: tuple[str, ...] = COMMAND) -> Generator[RawServer]:
    """Start a server; it must have ended, or ends here."""
    with subprocess.Popen(
        [*command, *flags],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield RawServer(process)
        finally:
            process.kill()
