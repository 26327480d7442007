"""A server that repeats the token, and an address that holds a password, bring neither into an output."""

import json

import pytest

from ghx_base.errors import InputError
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.environment import connection_from_environment
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.capabilities.transports.exchange import Request, Response

TOKEN = "ghp_0123456789abcdef0123456789abcdef0123"


class Parrot:
    """Answers every request with an error that repeats its credentials."""

    async def send(self, request: Request, *, patience_s: float) -> Response:
        said = {"errors": [{"type": "FORBIDDEN", "message": f"no: {request.headers['Authorization']}"}]}
        return Response(status=200, headers={}, body=json.dumps(said).encode())

    async def aclose(self) -> None:
        pass


@pytest.mark.anyio
async def test_a_token_that_the_server_repeats_is_in_no_envelope() -> None:
    async with GitHubClient("http://127.0.0.1:1", TOKEN, transport=Parrot()) as client:
        envelope = await execute_task(client, "issue.view", {"owner": "a", "name": "b", "issueNumber": 1})

    assert envelope.error is not None
    assert envelope.error.message == "no: Bearer <token>"
    assert TOKEN not in json.dumps(envelope.to_wire())


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(InputError) as caught:
        connection_from_environment({"GITHUB_API_URL": "http://user:hunter2@127.0.0.1:1"})

    assert "hunter2" not in str(caught.value)
