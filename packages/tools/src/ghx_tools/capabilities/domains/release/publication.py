"""Releases made, changed, published and deleted."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.release.records import Release, ReleaseInput, describe_release
from ghx_tools.capabilities.errors import InvalidInputError
from ghx_tools.capabilities.models import Count, InputModel, OutputModel, RepositoryInput, Text, require_value
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.responses import Json

Title = Annotated[Text | None, Field(description="Title of the release.")]
Notes = Annotated[Text | None, Field(description="Notes of the release, in Markdown.")]
Target = Annotated[
    Text | None, Field(description="Branch or commit that the tag is made at; the default branch if left out.")
]
Prerelease = Annotated[bool | None, Field(description="Whether it comes before a release.")]

_WIRE_NAMES = {
    "tag_name": "tag_name",
    "title": "name",
    "notes": "body",
    "target_commitish": "target_commitish",
    "prerelease": "prerelease",
    "draft": "draft",
}


class NewReleaseInput(RepositoryInput):
    """What to release."""

    tag_name: Annotated[Text, Field(description="Tag of the release; made when it is published, if it is not there.")]
    title: Title = None
    notes: Notes = None
    target_commitish: Target = None
    prerelease: Prerelease = None


class ReleaseChangeInput(ReleaseInput):
    """What to change of a release; what is left out stays."""

    tag_name: Annotated[Text | None, Field(description="Tag of the release.")] = None
    title: Title = None
    notes: Notes = None
    target_commitish: Target = None
    prerelease: Prerelease = None
    draft: Annotated[bool | None, Field(description="Whether it is a draft; false publishes it.")] = None


class PublishInput(ReleaseInput):
    """Which draft to publish, and what to change of it."""

    title: Title = None
    notes: Notes = None
    prerelease: Prerelease = None


class PublishedRelease(Release):
    """The release as it is published."""

    was_draft: bool


class DeletedRelease(OutputModel):
    """The release that was deleted."""

    id: Count
    deleted: bool


async def create_release(client: GitHubClient, inputs: NewReleaseInput) -> Release:
    """Create a draft."""
    answer = await client.post(
        rest_path("repos", inputs.owner, inputs.name, "releases"), {**_body(inputs), "draft": True}
    )
    return Release.model_validate(describe_release(answer.data))


async def update_release(client: GitHubClient, inputs: ReleaseChangeInput) -> Release:
    """Change a release."""
    answer = await client.patch(_place(inputs), _body(inputs))
    return Release.model_validate(describe_release(answer.data))


async def publish_release(client: GitHubClient, inputs: PublishInput) -> PublishedRelease:
    """Publish a draft."""
    was_draft = require_value((await client.get(_place(inputs))).data, "draft")
    if not was_draft:
        raise InvalidInputError(f"releaseId: release {inputs.release_id} is published already; use release.update")
    answer = await client.patch(_place(inputs), {**_body(inputs), "draft": False})
    return PublishedRelease.model_validate({**describe_release(answer.data), "wasDraft": was_draft})


async def delete_release(client: GitHubClient, inputs: ReleaseInput) -> DeletedRelease:
    """Delete a release."""
    await client.delete(_place(inputs))
    return DeletedRelease(id=inputs.release_id, deleted=True)


def _place(inputs: ReleaseInput) -> str:
    return rest_path("repos", inputs.owner, inputs.name, "releases", inputs.release_id)


def _body(inputs: InputModel) -> dict[str, Json]:
    fields = {wire: getattr(inputs, name, None) for name, wire in _WIRE_NAMES.items()}
    return {name: value for name, value in fields.items() if value is not None}


_EXAMPLE = {"owner": "octocat", "name": "hello-world"}

OPERATIONS = {
    "release.create": Operation(
        input=NewReleaseInput,
        output=Release,
        function=create_release,
        route="rest",
        example={**_EXAMPLE, "tagName": "v1.1.0", "title": "1.1", "notes": "Faster.", "targetCommitish": "main"},
    ),
    "release.delete": Operation(
        input=ReleaseInput,
        output=DeletedRelease,
        function=delete_release,
        route="rest",
        example={**_EXAMPLE, "releaseId": 1},
    ),
    "release.publish": Operation(
        input=PublishInput,
        output=PublishedRelease,
        function=publish_release,
        route="rest",
        example={**_EXAMPLE, "releaseId": 1},
    ),
    "release.update": Operation(
        input=ReleaseChangeInput,
        output=Release,
        function=update_release,
        route="rest",
        example={**_EXAMPLE, "releaseId": 1, "notes": "Faster, and smaller."},
    ),
}
