"""`ghx doctor`: whether GitHub can be reached, and as whom."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from ghx_bench._base.commandline import FAILED
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.environment import Connection, client_from_environment, connection_from_environment
from ghx_bench.capabilities.errors import CapabilityError
from ghx_bench.cli.argument_parser import Parser
from ghx_bench.cli.output import write_json
from ghx_bench.cli.remote import default_repository
from ghx_bench.cli.usage import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at; where it is not fine, `remedy` says what to do."""

    what: str
    ok: bool
    found: str
    remedy: str | None = None

    def __str__(self) -> str:
        mark = "ok     " if self.ok else "MISSING"
        return f"{mark}  {self.what}: {self.found}" + (f"; {self.remedy}" if self.remedy else "")


def main(arguments: Sequence[str]) -> int:
    """Look at everything a call needs; exit with 1 where something is missing."""
    parser = Parser("ghx doctor", "Say whether GitHub can be reached, as whom, and which repository is meant here.")
    parser.add_switch("--json", "as JSON")
    options = parser.read(arguments)
    findings = anyio.run(examine)
    if options.json:
        write_json([asdict(finding) for finding in findings])
    else:
        print("\n".join(map(str, findings)))  # noqa: T201 - the command line
    return 0 if all(finding.ok for finding in findings) else FAILED


async def examine() -> list[Finding]:
    """Look at everything that a call needs."""
    connection = connection_from_environment(os.environ)
    async with client_from_environment(os.environ) as client:
        return [_address(connection), _token(connection), await _account(client, connection), _repository()]


def _address(connection: Connection) -> Finding:
    by = "" if connection.socket_path is None else f" through {connection.socket_path}"
    return Finding(what="GitHub", ok=True, found=f"{connection.api_url}{by}, GraphQL at {connection.graphql_url}")


def _token(connection: Connection) -> Finding:
    if connection.token_source is None:
        remedy = "set GITHUB_TOKEN, or run `gh auth login --insecure-storage`"
        return Finding(what="token", ok=False, found="none", remedy=remedy)
    return Finding(what="token", ok=True, found=f"from {connection.token_source}")


async def _account(client: GitHubClient, connection: Connection) -> Finding:
    try:
        answer = await client.get("/user" if connection.token else "/rate_limit")
    except CapabilityError as error:
        remedy = "check the token" if error.error_code == "AUTH" else "check the address and the network"
        return Finding(what="answer", ok=False, found=f"{error.error_code}: {error}", remedy=remedy)
    if not connection.token:
        return Finding(what="answer", ok=True, found="reached, as nobody")
    scopes = answer.headers.get("x-oauth-scopes")
    return Finding(what="answer", ok=True, found=f"as {answer.data['login']}" + (f", may {scopes}" if scopes else ""))


def _repository() -> Finding:
    try:
        found = default_repository(os.environ, Path.cwd())
    except UsageError as error:
        return Finding(what="repository", ok=True, found=f"none here: {error}")
    if found is None:
        return Finding(what="repository", ok=True, found="none here; give -R owner/name with every call")
    return Finding(what="repository", ok=True, found="/".join(found))
