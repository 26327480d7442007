"""The branches and the tags of a repository."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import (
    OutputModel,
    PageInfo,
    RepositoryPageInput,
    Text,
    get_value,
    require_value,
    to_page,
)
from ghx_tools.capabilities.registry import Operation

_BRANCHES = """
query RepositoryBranches($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    defaultBranchRef { name }
    refs(refPrefix: "refs/heads/", first: $first, after: $after) {
      nodes { name target { oid } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
_TAGS = """
query RepositoryTags($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    refs(
      refPrefix: "refs/tags/"
      first: $first
      after: $after
      orderBy: {field: ALPHABETICAL, direction: DESC}
    ) {
      nodes { name target { oid ... on Tag { message target { oid } } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""


class Branch(OutputModel):
    """One branch."""

    name: Text
    sha: Text
    is_default: bool


class Branches(OutputModel):
    """Branches, by name."""

    items: tuple[Branch, ...]
    page_info: PageInfo


class Tag(OutputModel):
    """One tag; the message is that of an annotated one, and `sha` what it tags."""

    name: Text
    sha: Text
    message: str | None


class Tags(OutputModel):
    """Tags, the last name first, which is mostly the newest."""

    items: tuple[Tag, ...]
    page_info: PageInfo


async def list_branches(client: GitHubClient, inputs: RepositoryPageInput) -> Branches:
    """List the branches of a repository."""
    repository = require_value(await client.graphql(_BRANCHES, inputs.variables()), "repository")
    default = get_value(repository, "defaultBranchRef", "name")
    listed = to_page(require_value(repository, "refs"))
    items = [
        {"name": ref["name"], "sha": ref["target"]["oid"], "isDefault": ref["name"] == default}
        for ref in listed["items"]
    ]
    return Branches.model_validate({**listed, "items": items})


async def list_tags(client: GitHubClient, inputs: RepositoryPageInput) -> Tags:
    """List the tags of a repository."""
    listed = to_page(require_value(await client.graphql(_TAGS, inputs.variables()), "repository", "refs"))
    items = [
        {
            "name": ref["name"],
            "sha": get_value(ref, "target", "target", "oid") or ref["target"]["oid"],
            "message": get_value(ref, "target", "message"),
        }
        for ref in listed["items"]
    ]
    return Tags.model_validate({**listed, "items": items})


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "first": 30}

OPERATIONS = {
    "repo.branches.list": Operation(
        input=RepositoryPageInput, output=Branches, function=list_branches, route="graphql", example=_EXAMPLE
    ),
    "repo.tags.list": Operation(
        input=RepositoryPageInput, output=Tags, function=list_tags, route="graphql", example=_EXAMPLE
    ),
}
