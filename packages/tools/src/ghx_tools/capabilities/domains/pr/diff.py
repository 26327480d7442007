"""The changes of a pull request: files, patches and the whole diff."""

from typing import Annotated, Any

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import Count, OutputModel, PageInfo, Paging, PullInput, Text, require_value, to_page
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_page

_FILES = """
query PullRequestFiles($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $prNumber) {
      files(first: $first, after: $after) {
        nodes { path additions deletions }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_DIFF = "application/vnd.github.diff"


class FilesInput(Paging, PullInput):
    """Which files."""


class ChangedFile(OutputModel):
    """A file, and how many lines of it change."""

    path: Text
    additions: Count
    deletions: Count


class ChangedFiles(OutputModel):
    """Files, by path."""

    items: tuple[ChangedFile, ...]
    page_info: PageInfo


class FileChange(OutputModel):
    """A file and how it changes; a binary or very large one has no patch."""

    path: Text
    status: Text
    additions: Count
    deletions: Count
    previous_path: Annotated[str | None, OMITTABLE] = None
    patch: Annotated[str | None, OMITTABLE] = None


class FileChanges(OutputModel):
    """Files with their patches, by path."""

    items: tuple[FileChange, ...]
    page_info: PageInfo


class Diff(OutputModel):
    """All changes as one unified diff."""

    diff: str


async def list_diff_files(client: GitHubClient, inputs: FilesInput) -> ChangedFiles:
    """List the files that a pull request changes, by how many lines."""
    answer = await client.graphql(_FILES, inputs.variables())
    return ChangedFiles.model_validate(to_page(require_value(answer, "repository", "pullRequest", "files")))


async def list_files(client: GitHubClient, inputs: FilesInput) -> FileChanges:
    """List the files that a pull request changes, with their patches."""
    path = rest_path("repos", inputs.owner, inputs.name, "pulls", inputs.pr_number, "files")
    files, page_info = await get_page(client, path, inputs)
    return FileChanges.model_validate({"items": [_describe_change(file) for file in files], "pageInfo": page_info})


async def view_diff(client: GitHubClient, inputs: PullInput) -> Diff:
    """Read the whole diff of a pull request."""
    path = rest_path("repos", inputs.owner, inputs.name, "pulls", inputs.pr_number)
    return Diff(diff=(await client.get(path, accept=_DIFF)).text)


def _describe_change(file: dict[str, Any]) -> dict[str, Any]:
    change = {"path": file["filename"], **{name: file[name] for name in ("status", "additions", "deletions")}}
    more = {"previousPath": file.get("previous_filename"), "patch": file.get("patch")}
    return change | {name: value for name, value in more.items() if value is not None}


OPERATIONS = {
    "pr.diff.files": Operation(
        input=FilesInput,
        output=ChangedFiles,
        function=list_diff_files,
        route="graphql",
        example={**EXAMPLE, "first": 30},
    ),
    "pr.files.list": Operation(
        input=FilesInput, output=FileChanges, function=list_files, route="rest", example={**EXAMPLE, "first": 30}
    ),
    "pr.diff.view": Operation(input=PullInput, output=Diff, function=view_diff, route="rest", example=EXAMPLE),
}
