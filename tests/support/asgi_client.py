"""The server in process, one event loop for many requests: fast enough for thousands of examples."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ghx_twin.server.app import TwinApp
from ghx_twin.server.hosting import Hosting


@dataclass(frozen=True)
class AsgiReply:
    """One answer."""

    status: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class AsgiClient:
    """Calls the application as a server would, without any socket; faults of the application are raised here."""

    def __init__(self, hosting: Hosting) -> None:
        self.app = TwinApp(hosting)
        self._runner = asyncio.Runner()

    def close(self) -> None:
        self._runner.close()

    def ask(
        self,
        method: str,
        target: bytes,
        *,
        token: str | None = None,
        query: bytes = b"",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        host: str = "api.github.com",
    ) -> AsgiReply:
        sent = {"host": host, **(headers or {})}
        if token is not None:
            sent["authorization"] = f"token {token}"
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": target.decode("latin-1"),
            "raw_path": target,
            "query_string": query,
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()],
        }
        return self._runner.run(self._call(scope, body))

    async def _call(self, scope: dict[str, Any], body: bytes) -> AsgiReply:
        started: dict[str, Any] = {}
        content = bytearray()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
            else:
                content.extend(message.get("body", b""))

        await self.app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in started["headers"]}
        return AsgiReply(started["status"], headers, bytes(content))
