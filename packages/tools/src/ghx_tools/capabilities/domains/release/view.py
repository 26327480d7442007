"""Releases, read one by one or in a list."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.release.records import Release, describe_release
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import (
    OutputModel,
    PageInfo,
    RepositoryInput,
    RepositoryPageInput,
    Text,
    get_value,
    require_value,
)
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_page

_FIND = """
query ReleaseView($owner: String!, $name: String!, $tagName: String!) {
  repository(owner: $owner, name: $name) { release(tagName: $tagName) { databaseId isLatest } }
}
"""


class TagInput(RepositoryInput):
    """Which release."""

    tag_name: Annotated[Text, Field(description="Tag of the release, such as `v1.2.0`.")]


class ViewedRelease(Release):
    """A release with its notes."""

    is_latest: bool
    notes: str | None


class Releases(OutputModel):
    """Releases, newest first."""

    items: tuple[Release, ...]
    page_info: PageInfo


async def list_releases(client: GitHubClient, inputs: RepositoryPageInput) -> Releases:
    """List releases."""
    releases, page_info = await get_page(client, rest_path("repos", inputs.owner, inputs.name, "releases"), inputs)
    return Releases.model_validate({"items": [describe_release(each) for each in releases], "pageInfo": page_info})


async def view_release(client: GitHubClient, inputs: TagInput) -> ViewedRelease:
    """Read a release by its tag."""
    # Only GraphQL finds drafts by their tag and says which release is the latest, only REST says what the tag is for.
    found = get_value(await client.graphql(_FIND, inputs.variables()), "repository", "release")
    if found is None:
        raise not_found_error(f"{inputs.owner}/{inputs.name} has no release {inputs.tag_name!r}")
    id_ = require_value(found, "databaseId")
    release = (await client.get(rest_path("repos", inputs.owner, inputs.name, "releases", id_))).data
    return ViewedRelease.model_validate(
        {**describe_release(release), "isLatest": found.get("isLatest"), "notes": release.get("body")}
    )


_EXAMPLE = {"owner": "octocat", "name": "hello-world"}

OPERATIONS = {
    "release.list": Operation(
        input=RepositoryPageInput,
        output=Releases,
        function=list_releases,
        route="rest",
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
