"""From the number of an issue to the node ids that mutations want."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ghx_bench._base.problems import did_you_mean
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.errors import missing
from ghx_bench.capabilities.models import IssueInput, part

_ID = """
query IssueId($owner: String!, $name: String!, $issueNumber: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $issueNumber) { id } }
}
"""


def which_issue(given: IssueInput) -> dict[str, Any]:
    """Return the variables that say which issue is meant."""
    return {"owner": given.owner, "name": given.name, "issueNumber": given.issue_number}


async def issue_id(client: GitHubClient, given: IssueInput) -> str:
    """Return the node id of an issue."""
    answer = await client.graphql(_ID, which_issue(given))
    return part(answer, "repository", "issue", "id")


def ids_of(wanted: Sequence[str], known: Iterable[Mapping[str, Any]], *, key: str, what: str) -> list[str]:
    """Return the ids of things by name, whatever the case; a name that is not known is refused with the nearest one."""
    by_name = {each[key].casefold(): each for each in known}
    for name in wanted:
        if name.casefold() not in by_name:
            names = [each[key] for each in by_name.values()]
            raise missing(f"{what} {name!r}; {did_you_mean(name, names)}")
    return list(dict.fromkeys(by_name[name.casefold()]["id"] for name in wanted))
