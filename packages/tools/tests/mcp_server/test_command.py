"""`ghx mcp`: what it refuses, and who may reach it."""

import subprocess
import sys
from collections.abc import Callable

import httpx2
import pytest
from nightly import mostly_nightly

from ghx_twin.pytest_plugin import GitHubTwin

COMMAND = (sys.executable, "-m", "ghx_tools.cli.main", "mcp")


def run(github_twin: GitHubTwin, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *flags],
        env=github_twin.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (("--toolsets", "isue"), "'issue'"),
        (("--http", "here"), "--http"),
        (("--toolsets", "action"), "'actions'"),
        (("--http", "70000"), "70000 is no port; name one from 0 to 65535"),
        (("--htpp", "1"), "--help"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    github_twin: GitHubTwin, flags: tuple[str, ...], hint: str
) -> None:
    done = run(github_twin, *flags)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert hint in done.stderr


def test_the_session_ends_with_its_client(github_twin: GitHubTwin) -> None:
    done = run(github_twin)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_taken_port_is_said(github_twin: GitHubTwin, serve: Callable) -> None:
    with serve() as address:
        port = httpx2.URL(address).port
        done = run(github_twin, "--http", str(port))

    assert (done.returncode, done.stdout) == (2, "")
    assert str(port) in done.stderr


def test_pages_of_other_sites_are_kept_out(serve: Callable) -> None:
    question = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream", "Authorization": "Bearer a-token-of-the-server"}
    with serve() as address:
        foreign_host = httpx2.post(address, json=question, headers={**accept, "host": "evil.example.com"})
        foreign_page = httpx2.post(address, json=question, headers={**accept, "origin": "https://evil.example.com"})

    assert (foreign_host.status_code, foreign_page.status_code) == (421, 403)


@pytest.mark.parametrize(
    "credential",
    mostly_nightly([None, "Bearer wrong", "Bearer", "Basic a-token-of-the-server", "Bearer \xe9"], keep=2),
)
def test_who_has_no_token_calls_no_tool(serve: Callable, credential: str | None) -> None:
    question = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"accept": "application/json, text/event-stream"}
    if credential is not None:
        headers["authorization"] = credential
    with serve() as address:
        refused = httpx2.post(
            address, json=question, headers=[(name.encode(), value.encode()) for name, value in headers.items()]
        )

    assert refused.status_code == 401
    assert "GHX_MCP_TOKEN" in refused.text
    assert "a-token-of-the-server" not in refused.text


def test_a_server_without_a_token_makes_one_and_prints_it(github_twin: GitHubTwin) -> None:
    words = [sys.executable, "-m", "ghx_tools.cli.main", "mcp", "--http", "0"]
    with subprocess.Popen(words, env=github_twin.environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        token = process.stderr.readline().strip().rpartition(" ")[2]
        address = process.stderr.readline().strip().rpartition(" ")[2]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = httpx2.post(
            address,
            json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            headers={"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"},
        )
        process.terminate()

    assert len(token) >= 24
    assert answer.status_code == 200
