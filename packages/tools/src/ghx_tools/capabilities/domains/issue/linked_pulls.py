"""The pull requests that mention an issue or are to close it."""

from typing import Any

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import issue_variables
from ghx_tools.capabilities.models import IssueInput, OutputModel, Positive, Text, require_value
from ghx_tools.capabilities.registry import Operation

_LIST = """
query IssueLinkedPulls($owner: String!, $name: String!, $issueNumber: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) {
      closedByPullRequestsReferences(first: 100, includeClosedPrs: true) { nodes { ...Pull } }
      timelineItems(first: 100, after: $after, itemTypes: [CONNECTED_EVENT, CROSS_REFERENCED_EVENT]) {
        nodes {
          ... on ConnectedEvent { pull: subject { ...Pull } }
          ... on CrossReferencedEvent { pull: source { ...Pull } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
fragment Pull on PullRequest { id number title state url }
"""


class LinkedPull(OutputModel):
    """A pull request that mentions the issue or is to close it."""

    id: Text
    number: Positive
    title: str
    state: str
    url: str


class LinkedPulls(OutputModel):
    """Pull requests, by number."""

    items: tuple[LinkedPull, ...]


async def list_linked_pulls(client: GitHubClient, inputs: IssueInput) -> LinkedPulls:
    """List the pull requests that an issue is linked to, each once."""
    pulls: dict[str, dict[str, Any]] = {}
    after: str | None = None
    while True:
        answer = await client.graphql(_LIST, {**issue_variables(inputs), "after": after})
        issue = require_value(answer, "repository", "issue")
        found = [item.get("pull") for item in issue["timelineItems"]["nodes"] if item]
        for pull in (*issue["closedByPullRequestsReferences"]["nodes"], *found):
            if pull:  # an issue that mentions this one has none of a pull request's fields
                pulls[pull["id"]] = pull
        after = issue["timelineItems"]["pageInfo"]["endCursor"]
        if not issue["timelineItems"]["pageInfo"]["hasNextPage"]:
            items = sorted(pulls.values(), key=lambda pull: (pull["number"], pull["id"]))
            return LinkedPulls.model_validate({"items": items})


OPERATIONS = {
    "issue.relations.prs.list": Operation(
        input=IssueInput,
        output=LinkedPulls,
        function=list_linked_pulls,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "issueNumber": 1},
    ),
}
