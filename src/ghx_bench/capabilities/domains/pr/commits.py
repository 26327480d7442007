"""The commits of a pull request."""

from typing import Any

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.pr.records import EXAMPLE
from ghx_bench.capabilities.models import OutputModel, PageInfo, Paging, PullInput, Text, found, page, part
from ghx_bench.capabilities.operation import Operation

_LIST = """
query PullRequestCommits($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $prNumber) {
      commits(first: $first, after: $after) {
        nodes { commit { sha: oid message url committedAt: committedDate author { name user { login } } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""


class PullCommitsInput(Paging, PullInput):
    """Which commits."""


class PullCommit(OutputModel):
    """One commit; the login is that of the account its author has, if any."""

    sha: Text
    message: str
    author_name: str | None
    author_login: str | None
    committed_at: Text
    url: Text


class PullCommits(OutputModel):
    """Commits, oldest first."""

    items: tuple[PullCommit, ...]
    page_info: PageInfo


async def list_commits(client: GitHubClient, given: PullCommitsInput) -> PullCommits:
    """List the commits that a pull request would merge."""
    answer = await client.graphql(_LIST, given.variables())
    listed = page(part(answer, "repository", "pullRequest", "commits"))
    return PullCommits.model_validate({**listed, "items": [_item(node["commit"]) for node in listed["items"]]})


def _item(commit: dict[str, Any]) -> dict[str, Any]:
    author = commit.pop("author")
    return {**commit, "authorName": found(author, "name"), "authorLogin": found(author, "user", "login")}


OPERATIONS = {
    "pr.commits.list": Operation(
        input=PullCommitsInput,
        output=PullCommits,
        function=list_commits,
        route="graphql",
        example={**EXAMPLE, "first": 30},
    ),
}
