"""Releases, read one by one or in a list."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.release.records import Release
from ghx_bench.capabilities.errors import not_found_error
from ghx_bench.capabilities.models import (
    OutputModel,
    PageInfo,
    RepositoryInput,
    RepositoryPageInput,
    Text,
    get_value,
    require_value,
    to_page,
)
from ghx_bench.capabilities.registry import Operation

_FIELDS = "id: databaseId tagName name isDraft isPrerelease url createdAt publishedAt tagCommit { oid }"
_LIST = f"""
query ReleaseList($owner: String!, $name: String!, $first: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    releases(first: $first, after: $after, orderBy: {{field: CREATED_AT, direction: DESC}}) {{
      nodes {{ {_FIELDS} }}
      pageInfo {{ hasNextPage endCursor }}
    }}
  }}
}}
"""
_VIEW = f"""
query ReleaseView($owner: String!, $name: String!, $tagName: String!) {{
  repository(owner: $owner, name: $name) {{
    release(tagName: $tagName) {{ {_FIELDS} isLatest notes: description }}
  }}
}}
"""


class TagInput(RepositoryInput):
    """Which release."""

    tag_name: Annotated[Text, Field(description="Tag of the release, such as `v1.2.0`.")]


class ViewedRelease(Release):
    """A release with its notes; `targetCommitish` is the commit that its tag names."""

    is_latest: bool
    notes: str | None


class Releases(OutputModel):
    """Releases, newest first; `targetCommitish` is the commit that the tag of each names."""

    items: tuple[Release, ...]
    page_info: PageInfo


async def list_releases(client: GitHubClient, inputs: RepositoryPageInput) -> Releases:
    """List releases."""
    listed = to_page(require_value(await client.graphql(_LIST, inputs.variables()), "repository", "releases"))
    return Releases.model_validate({**listed, "items": [_with_target(release) for release in listed["items"]]})


async def view_release(client: GitHubClient, inputs: TagInput) -> ViewedRelease:
    """Read a release by its tag."""
    found = get_value(await client.graphql(_VIEW, inputs.variables()), "repository", "release")
    if found is None:
        raise not_found_error(f"{inputs.owner}/{inputs.name} has no release {inputs.tag_name!r}")
    return ViewedRelease.model_validate(_with_target(found))


def _with_target(release: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in release.items() if name != "tagCommit"}
    return {**known, "targetCommitish": get_value(release, "tagCommit", "oid")}


_EXAMPLE = {"owner": "octocat", "name": "hello-world"}

OPERATIONS = {
    "release.list": Operation(
        input=RepositoryPageInput,
        output=Releases,
        function=list_releases,
        route="graphql",
        example={**_EXAMPLE, "first": 10},
    ),
    "release.view": Operation(
        input=TagInput,
        output=ViewedRelease,
        function=view_release,
        route="graphql",
        example={**_EXAMPLE, "tagName": "v1.0.0"},
    ),
}
