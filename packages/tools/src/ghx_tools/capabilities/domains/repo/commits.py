"""The history of a repository."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import (
    EMPTY_PAGE,
    OutputModel,
    PageInfo,
    RepositoryPageInput,
    Text,
    get_value,
    require_value,
    to_page,
)
from ghx_tools.capabilities.registry import Operation

COMMIT = "sha: oid message url committedAt: committedDate author { name user { login } }"
"""Selection of the fields that `describe_commit` needs."""

_HISTORY = f"""
fragment History on Commit {{
  history(first: $first, after: $after, path: $path) {{
    nodes {{ {COMMIT} }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}
"""
_OF_DEFAULT_BRANCH = f"""
query RepositoryCommits($owner: String!, $name: String!, $path: String, $first: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{ defaultBranchRef {{ target {{ ...History }} }} }}
}}
{_HISTORY}
"""
_OF_REF = f"""
query RepositoryCommitsOf(
  $owner: String!, $name: String!, $ref: String!, $path: String, $first: Int!, $after: String
) {{
  repository(owner: $owner, name: $name) {{
    object(expression: $ref) {{ ...History ... on Tag {{ target {{ ...History }} }} }}
  }}
}}
{_HISTORY}
"""


class CommitsInput(RepositoryPageInput):
    """Which commits."""

    ref: Annotated[
        Text | None, Field(description="Branch, tag or commit to go back from; the default branch if left out.")
    ] = None
    path: Annotated[Text | None, Field(description="Only commits that changed this file or folder.")] = None


class Commit(OutputModel):
    """One commit; the login is that of the account its author has, if any."""

    sha: Text
    message: str
    author_name: str | None
    author_login: str | None
    committed_at: Text
    url: Text


class Commits(OutputModel):
    """Commits, newest first."""

    items: tuple[Commit, ...]
    page_info: PageInfo


async def list_commits(client: GitHubClient, inputs: CommitsInput) -> Commits:
    """List commits; an empty repository has none."""
    start = await _start(client, inputs)
    if start is None:
        return Commits.model_validate(EMPTY_PAGE)
    history = to_page(require_value(start, "history"))
    return Commits.model_validate({**history, "items": [describe_commit(commit) for commit in history["items"]]})


async def _start(client: GitHubClient, inputs: CommitsInput) -> dict[str, Any] | None:
    """Return the commit to go back from, with its history; `None` in an empty repository."""
    variables = inputs.variables()
    if inputs.ref is None:
        del variables["ref"]
        repository = require_value(await client.graphql(_OF_DEFAULT_BRANCH, variables), "repository")
        return get_value(repository, "defaultBranchRef", "target")
    target = get_value(await client.graphql(_OF_REF, variables), "repository", "object")
    start = get_value(target, "target") or target
    if get_value(start, "history") is None:
        raise not_found_error(f"{inputs.owner}/{inputs.name} has no branch, tag or commit {inputs.ref!r}")
    return start


def describe_commit(commit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Commit`, from GitHub's response to `COMMIT`."""
    fields = {name: value for name, value in commit.items() if name != "author"}
    login = get_value(commit, "author", "user", "login")
    return {**fields, "authorName": get_value(commit, "author", "name"), "authorLogin": login}


OPERATIONS = {
    "repo.commits.list": Operation(
        input=CommitsInput,
        output=Commits,
        function=list_commits,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "ref": "main", "path": "README.md"},
    ),
}
