"""The files of a release."""

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.release.records import ReleaseInput
from ghx_tools.capabilities.models import Count, OutputModel, PageInfo, Paging, Text, require_value
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_page


class AssetsInput(Paging, ReleaseInput):
    """Which page of the files of a release."""


class Asset(OutputModel):
    """A file; `url` is where it is downloaded from, `digest` the hash of its bytes where GitHub knows it."""

    id: Count
    name: Text
    label: str | None
    content_type: str
    size: Count
    digest: str | None
    url: Text
    created_at: Text


class Assets(OutputModel):
    """Files, oldest first."""

    items: tuple[Asset, ...]
    page_info: PageInfo


async def list_assets(client: GitHubClient, inputs: AssetsInput) -> Assets:
    """List the files of a release."""
    place = rest_path("repos", inputs.owner, inputs.name, "releases", inputs.release_id, "assets")
    result, page_info = await get_page(client, place, inputs)
    items = [
        {
            **{name: require_value(each, name) for name in ("id", "name", "size")},
            "label": each.get("label") or None,
            "contentType": require_value(each, "content_type"),
            "digest": each.get("digest"),
            "url": require_value(each, "browser_download_url"),
            "createdAt": require_value(each, "created_at"),
        }
        for each in result
    ]
    return Assets.model_validate({"items": items, "pageInfo": page_info})


OPERATIONS = {
    "release.assets.list": Operation(
        input=AssetsInput,
        output=Assets,
        function=list_assets,
        route="rest",
        example={"owner": "octocat", "name": "hello-world", "releaseId": 1},
    ),
}
