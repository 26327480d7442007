"""The records of a seed for releases and their files."""

from typing import Literal

from pydantic import Field, StrictBool

from ghx_twin.seed.format import Login, Moment, SeedModel


class SeedAsset(SeedModel):
    """A file of a release."""

    name: str
    content: str
    encoding: Literal["utf-8", "base64"] = Field(
        default="utf-8", description="How content is written; base64 for bytes."
    )
    content_type: str = Field(default="application/octet-stream", description="Its media type.")
    label: str | None = Field(default=None, description="What is shown instead of its name.")
    uploader: Login | None = Field(default=None, description="Who uploaded it; the author of the release if left out.")
    at: Moment | None = Field(default=None, description="When it was uploaded.")
    updated_at: Moment | None = None


class SeedRelease(SeedModel):
    """A release."""

    tag_name: str = Field(description="Its tag; made at the target where there is none, unless it is a draft.")
    target_commitish: str | None = Field(
        default=None, description="The branch or commit that the tag is made at; the default branch if left out."
    )
    name: str | None = Field(default=None, description="Its title.")
    body: str | None = Field(default=None, description="Its notes.")
    draft: StrictBool = False
    prerelease: StrictBool = False
    make_latest: StrictBool = Field(
        default=True, description="Whether it becomes the latest release; a draft or a prerelease never does."
    )
    author: Login | None = Field(default=None, description="Who made it; the owner if left out.")
    assets: tuple[SeedAsset, ...] = Field(default=(), description="Its files.")
    created_at: Moment | None = Field(default=None, description="The date of its commit; found there if left out.")
    published_at: Moment | None = Field(default=None, description="When it was published.")
    updated_at: Moment | None = None
