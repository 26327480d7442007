"""The history of a repository."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.errors import missing
from ghx_bench.capabilities.models import (
    EMPTY_PAGE,
    OutputModel,
    PageInfo,
    RepositoryPageInput,
    Text,
    found,
    page,
    part,
)
from ghx_bench.capabilities.registry import Operation

COMMIT = "sha: oid message url committedAt: committedDate author { name user { login } }"
"""What to ask GitHub for, to tell a `Commit`."""

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


async def list_commits(client: GitHubClient, given: CommitsInput) -> Commits:
    """List commits; an empty repository has none."""
    start = await _start(client, given)
    if start is None:
        return Commits.model_validate(EMPTY_PAGE)
    history = page(part(start, "history"))
    return Commits.model_validate({**history, "items": [told_of(commit) for commit in history["items"]]})


async def _start(client: GitHubClient, given: CommitsInput) -> dict[str, Any] | None:
    """Return the commit to go back from, with its history; `None` in an empty repository."""
    variables = given.variables()
    if given.ref is None:
        del variables["ref"]
        repository = part(await client.graphql(_OF_DEFAULT_BRANCH, variables), "repository")
        return found(repository, "defaultBranchRef", "target")
    named = found(await client.graphql(_OF_REF, variables), "repository", "object")
    start = found(named, "target") or named
    if found(start, "history") is None:
        raise missing(f"{given.owner}/{given.name} has no branch, tag or commit {given.ref!r}")
    return start


def told_of(commit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a `Commit` tells, from GitHub's answer to `COMMIT`."""
    known = {name: value for name, value in commit.items() if name != "author"}
    author = {"authorName": found(commit, "author", "name"), "authorLogin": found(commit, "author", "user", "login")}
    return {**known, **author}


OPERATIONS = {
    "repo.commits.list": Operation(
        input=CommitsInput,
        output=Commits,
        function=list_commits,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "ref": "main", "path": "README.md"},
    ),
}
