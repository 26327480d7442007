"""Search the text of files."""

from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.models import Count, OutputModel, PageInfo, Paging, Text, get_value
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_results

_WITH_MATCHES = "application/vnd.github.text-match+json"


class CodeSearchInput(Paging):
    """What to look for."""

    query: Annotated[Text, Field(description="Words and qualifiers, as in the search field of GitHub.")]


class FoundFile(OutputModel):
    """A file that was found, with the pieces of text in it that fit."""

    repository: Text
    path: Text
    sha: Text
    url: Text
    fragments: tuple[str, ...]


class FoundFiles(OutputModel):
    """Files, best first; `incompleteResults` if GitHub ran out of time, so that there may be more."""

    items: tuple[FoundFile, ...]
    total_count: Count
    incomplete_results: bool
    page_info: PageInfo


async def search_code(client: GitHubClient, inputs: CodeSearchInput) -> FoundFiles:
    """Search files on default branches by their text."""
    results, page_info = await get_results(
        client, rest_path("search", "code"), inputs, params={"q": inputs.query}, accept=_WITH_MATCHES
    )
    return FoundFiles.model_validate(
        {
            "items": [_item(each) for each in results["items"]],
            "totalCount": results["total_count"],
            "incompleteResults": results["incomplete_results"],
            "pageInfo": page_info,
        }
    )


def _item(file: dict[str, Any]) -> dict[str, Any]:
    matches: list[Any] = file.get("text_matches") or []
    return {
        "repository": get_value(file, "repository", "full_name"),
        "path": file["path"],
        "sha": file["sha"],
        "url": file["html_url"],
        "fragments": [each["fragment"] for each in matches if each["property"] == "content"],
    }


OPERATIONS = {
    "search.code": Operation(
        input=CodeSearchInput,
        output=FoundFiles,
        function=search_code,
        route="rest",
        example={"query": "parse_date repo:octocat/hello-world"},
    ),
}
