"""Look up issues and pull requests by number: mutations want their node ids.

To GitHub a pull request is an issue with more to it: both share their numbers, and have labels, assignees, a milestone
and comments alike. Where that is all that matters, a number may be that of either, which is the *subject* then.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ghx_base.problems import did_you_mean
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import IssueInput, SubjectInput, require_value

_ID = """
query IssueId($owner: String!, $name: String!, $issueNumber: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $issueNumber) { id } }
}
"""
_SUBJECT_ID = """
query SubjectId($owner: String!, $name: String!, $issueNumber: Int!) {
  repository(owner: $owner, name: $name) {
    subject: issueOrPullRequest(number: $issueNumber) { __typename ... on Node { id } }
  }
}
"""
_UPDATES = MappingProxyType(
    {
        "Issue": """
mutation IssueMarks($input: UpdateIssueInput!) {{
  change: updateIssue(input: $input) {{ subject: issue {{ {fields} }} }}
}}
""",
        "PullRequest": """
mutation PullRequestMarks($input: UpdatePullRequestInput!) {{
  change: updatePullRequest(input: $input) {{ subject: pullRequest {{ {fields} }} }}
}}
""",
    }
)


def issue_variables(inputs: IssueInput) -> dict[str, Any]:
    """Return the variables of a document that name an issue."""
    return {"owner": inputs.owner, "name": inputs.name, "issueNumber": inputs.issue_number}


async def issue_id(client: GitHubClient, inputs: IssueInput) -> str:
    """Return the node id of an issue."""
    answer = await client.graphql(_ID, issue_variables(inputs))
    return require_value(answer, "repository", "issue", "id")


async def find_subject(client: GitHubClient, inputs: SubjectInput) -> dict[str, Any]:
    """Return `id` and `__typename` of an issue or a pull request."""
    return require_value(await client.graphql(_SUBJECT_ID, issue_variables(inputs)), "repository", "subject")


async def update_subject(
    client: GitHubClient, subject: Mapping[str, Any], changes: Mapping[str, Any], *, fields: str
) -> dict[str, Any]:
    """Change marks of a subject, such as labels, and return the fields of it that a GraphQL selection names."""
    kind = subject["__typename"]
    key = "pullRequestId" if kind == "PullRequest" else "id"
    answer = await client.graphql(_UPDATES[kind].format(fields=fields), {"input": {key: subject["id"], **changes}})
    return require_value(answer, "change", "subject")


def find_ids(wanted: Sequence[str], candidates: Iterable[Mapping[str, Any]], *, key: str, what: str) -> list[str]:
    """Return the ids of objects by name, whatever the case; raise with the nearest name for one that is not known."""
    by_name = {each[key].casefold(): each for each in candidates}
    for name in wanted:
        if name.casefold() not in by_name:
            names = [each[key] for each in by_name.values()]
            raise not_found_error(f"{what} {name!r}" + (f"; {did_you_mean(name, names)}" if names else ""))
    return list(dict.fromkeys(by_name[name.casefold()]["id"] for name in wanted))
