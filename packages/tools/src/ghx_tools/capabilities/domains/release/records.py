"""What every release has, and how GitHub's REST API says it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.models import Count, OutputModel, Positive, RepositoryInput, require_value


class ReleaseInput(RepositoryInput):
    """Which release."""

    release_id: Annotated[Positive, Field(description="Id of the release, as `release.view` gives it.")]


class Release(OutputModel):
    """A release; `targetCommitish` is the branch or commit that its tag was, or will be, made at."""

    id: Count
    tag_name: str
    name: str | None
    is_draft: bool
    is_prerelease: bool
    url: str | None
    target_commitish: str | None
    created_at: str | None
    published_at: str | None


def describe_release(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Release`, from an answer of the REST API."""
    return {
        "id": require_value(answer, "id"),
        "tagName": require_value(answer, "tag_name"),
        "name": answer.get("name"),
        "isDraft": require_value(answer, "draft"),
        "isPrerelease": require_value(answer, "prerelease"),
        "url": answer.get("html_url"),
        "targetCommitish": answer.get("target_commitish"),
        "createdAt": answer.get("created_at"),
        "publishedAt": answer.get("published_at"),
    }
