"""`ghx doctor`: check that GitHub can be reached, and as which user."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from ghx_base.commandline import FAILED
from ghx_base.problems import plural
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.environment import Connection, client_from_environment, connection_from_environment
from ghx_tools.capabilities.errors import CapabilityError
from ghx_tools.cli.argument_parser import Parser
from ghx_tools.cli.output import write_json
from ghx_tools.cli.remote import default_repository
from ghx_tools.cli.usage import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorLine:
    """The result of one check; where it is not fine, `remedy` says what to do."""

    what: str
    ok: bool
    found: str
    remedy: str | None = None

    def __str__(self) -> str:
        mark = "ok     " if self.ok else "MISSING"
        return f"{mark}  {self.what}: {self.found}" + (f"; {self.remedy}" if self.remedy else "")


def main(arguments: Sequence[str]) -> int:
    """Check everything that a call needs; exit with 1 where something is missing."""
    parser = Parser("ghx doctor", "Say whether GitHub can be reached, as whom, and which repository is meant here.")
    parser.add_switch("--json", "as JSON")
    options = parser.read(arguments)
    lines = anyio.run(_check)
    if options.json:
        write_json([asdict(line) for line in lines])
    else:
        print("\n".join(map(str, lines)))
    return 0 if all(line.ok for line in lines) else FAILED


async def _check() -> list[DoctorLine]:
    connection = connection_from_environment(os.environ)
    by = "" if connection.socket_path is None else f" through {connection.socket_path}"
    address = f"{connection.api_url}{by}, GraphQL at {connection.graphql_url}"
    async with client_from_environment(os.environ) as client:
        return [
            DoctorLine(what="GitHub", ok=True, found=address),
            _check_token(connection),
            await _check_account(client, connection),
            _check_repository(),
        ]


def _check_token(connection: Connection) -> DoctorLine:
    if connection.token_source is None:
        remedy = "set GITHUB_TOKEN, or run `gh auth login --insecure-storage`"
        return DoctorLine(what="token", ok=False, found="none", remedy=remedy)
    return DoctorLine(what="token", ok=True, found=f"from {connection.token_source}")


async def _check_account(client: GitHubClient, connection: Connection) -> DoctorLine:
    try:
        # Without a token /user is refused; /rate_limit answers anybody, and costs none of the limit.
        path = "/installation/repositories" if connection.app else "/user" if connection.token else "/rate_limit"
        response = await client.get(path)
    except CapabilityError as error:
        remedy = "check the token" if error.error_code == "AUTH" else "check the address and the network"
        return DoctorLine(what="answer", ok=False, found=f"{error.error_code}: {error}", remedy=remedy)
    if connection.app:
        account = f"for an installation with {plural(response.data['total_count'], 'repository')}"
        return DoctorLine(what="answer", ok=True, found=account)
    if not connection.token:
        return DoctorLine(what="answer", ok=True, found="reached, as nobody")
    scopes = response.headers.get("x-oauth-scopes")
    return DoctorLine(
        what="answer", ok=True, found=f"as {response.data['login']}" + (f", may {scopes}" if scopes else "")
    )


def _check_repository() -> DoctorLine:
    try:
        repository = default_repository(os.environ, Path.cwd())
    except UsageError as error:
        return DoctorLine(what="repository", ok=True, found=f"none here: {error}")
    if repository is None:
        return DoctorLine(what="repository", ok=True, found="none here; give -R owner/name with every call")
    return DoctorLine(what="repository", ok=True, found="/".join(repository))
