"""Read, write and delete the files of a repository; one commit for each change."""

import base64
import binascii
from typing import Annotated, Any, Literal, cast
from urllib.parse import quote

from pydantic import AfterValidator, Field

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.errors import InvalidInputError, not_found_error
from ghx_tools.capabilities.models import Count, OutputModel, RepositoryInput, Text, get_value, require_value
from ghx_tools.capabilities.registry import Operation

_RAW = "application/vnd.github.raw+json"


def _check_path(path: str) -> str:
    """Return a path without slashes at its ends; refuse one that leads out of the repository."""
    path = path.strip("/")
    if any(step in {"", ".", ".."} for step in path.split("/")) and path:
        raise ValueError("write the path from the top of the repository, without `.`, `..` and empty steps")
    return path


RepositoryPath = Annotated[str, AfterValidator(_check_path)]
Encoding = Literal["utf-8", "base64"]


class ContentsInput(RepositoryInput):
    """Which file or folder."""

    path: Annotated[RepositoryPath, Field(description="File or folder, from the top; the top itself if left out.")] = ""
    ref: Annotated[Text | None, Field(description="Branch, tag or commit; the default branch if left out.")] = None


class FileChangeInput(RepositoryInput):
    """Which file changes, and how the commit is described."""

    path: Annotated[RepositoryPath, Field(min_length=1, description="The file, from the top of the repository.")]
    message: Annotated[Text, Field(description="Message of the commit.")]
    branch: Annotated[Text | None, Field(description="Branch to commit to; the default branch if left out.")] = None
    sha: Annotated[
        Text | None,
        Field(description="Blob id of the file as it was read, to be refused if it has changed since."),
    ] = None


class WriteInput(FileChangeInput):
    """The new content of the file."""

    content: Annotated[str, Field(description="The whole new content of the file.")]
    encoding: Annotated[Encoding, Field(description="`base64` for what is no text.")] = "utf-8"


class FolderEntry(OutputModel):
    """A file or folder in a folder."""

    type: Text
    name: Text
    path: Text
    sha: Text
    size: Count


class Contents(OutputModel):
    """A file with its content, or a folder with its `items`."""

    type: Text
    path: str
    sha: Annotated[str | None, OMITTABLE] = None
    size: Annotated[Count | None, OMITTABLE] = None
    encoding: Annotated[Encoding | None, OMITTABLE] = None
    content: Annotated[str | None, OMITTABLE] = None
    target: Annotated[str | None, OMITTABLE] = None
    items: Annotated[tuple[FolderEntry, ...] | None, OMITTABLE] = None


class WrittenFile(OutputModel):
    """The file as it is now, and the commit that made it so."""

    path: Text
    sha: Text
    created: bool
    commit_sha: Text
    commit_url: Text


class DeletedFile(OutputModel):
    """The commit that deleted the file."""

    path: Text
    deleted: bool
    commit_sha: Text
    commit_url: Text


async def get_contents(client: GitHubClient, inputs: ContentsInput) -> Contents:
    """Read a file or list a folder."""
    params = {} if inputs.ref is None else {"ref": inputs.ref}
    data: object = (await client.get(_place(inputs), params=params)).data
    if isinstance(data, list):
        items = [
            {name: entry[name] for name in ("type", "name", "path", "sha", "size")} for entry in cast("list[Any]", data)
        ]
        return Contents.model_validate({"type": "dir", "path": inputs.path, "items": items})
    fields = {name: require_value(data, name) for name in ("type", "path", "sha", "size")}
    if (target := get_value(data, "target")) is not None:
        fields["target"] = target
    if get_value(data, "encoding") == "none":  # GitHub puts no file above 1 MB into JSON
        fields |= _decode((await client.get(_place(inputs), params=params, accept=_RAW)).body)
    elif (content := get_value(data, "content")) is not None:
        fields |= _decode(base64.b64decode(content))
    return Contents.model_validate(fields)


async def put_contents(client: GitHubClient, inputs: WriteInput) -> WrittenFile:
    """Write a file; one that is there is replaced."""
    # GitHub wants the blob id of the file that is replaced. Given by the caller, it guards against changes since they
    # read the file; looked up here, it only says that replacing is meant.
    sha = inputs.sha or await _present_sha(client, inputs)
    body = {**_commit(inputs, sha), "content": _encode(inputs)}
    answer = await client.put(_place(inputs), body)
    return WrittenFile(
        path=require_value(answer.data, "content", "path"),
        sha=require_value(answer.data, "content", "sha"),
        created=sha is None,
        commit_sha=require_value(answer.data, "commit", "sha"),
        commit_url=require_value(answer.data, "commit", "html_url"),
    )


async def delete_file(client: GitHubClient, inputs: FileChangeInput) -> DeletedFile:
    """Delete a file."""
    sha = inputs.sha or await _present_sha(client, inputs)
    if sha is None:
        raise not_found_error(f"{inputs.owner}/{inputs.name} has no file {inputs.path!r}")
    answer = await client.delete(_place(inputs), _commit(inputs, sha))
    return DeletedFile(
        path=inputs.path,
        deleted=True,
        commit_sha=require_value(answer.data, "commit", "sha"),
        commit_url=require_value(answer.data, "commit", "html_url"),
    )


_PRESENT = """
query RepositoryFile($owner: String!, $name: String!, $expression: String!) {
  repository(owner: $owner, name: $name) { object(expression: $expression) { __typename oid } }
}
"""


async def _present_sha(client: GitHubClient, inputs: FileChangeInput) -> str | None:
    """Return the blob id of the file as it is now; `None` if there is none."""
    expression = f"{inputs.branch or 'HEAD'}:{inputs.path}"
    variables = {"owner": inputs.owner, "name": inputs.name, "expression": expression}
    present = require_value(await client.graphql(_PRESENT, variables), "repository")["object"]
    if present is not None and present["__typename"] != "Blob":
        raise InvalidInputError(f"path: {inputs.path!r} is a folder; name a file")
    return None if present is None else present["oid"]


def _place(inputs: ContentsInput | FileChangeInput) -> str:
    place = rest_path("repos", inputs.owner, inputs.name, "contents")
    return f"{place}/{quote(inputs.path)}" if inputs.path else place


def _commit(inputs: FileChangeInput, sha: str | None) -> dict[str, str]:
    fields = {"message": inputs.message, "branch": inputs.branch, "sha": sha}
    return {name: value for name, value in fields.items() if value is not None}


def _encode(inputs: WriteInput) -> str:
    if inputs.encoding == "utf-8":
        return base64.b64encode(inputs.content.encode()).decode()
    try:
        return base64.b64encode(base64.b64decode(inputs.content, validate=True)).decode()
    except binascii.Error:
        raise InvalidInputError("content: this is not base64; give text and leave out the encoding") from None


def _decode(content: bytes) -> dict[str, str]:
    try:
        return {"encoding": "utf-8", "content": content.decode()}
    except UnicodeDecodeError:
        return {"encoding": "base64", "content": base64.b64encode(content).decode()}


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "path": "docs/guide.md"}

OPERATIONS = {
    "repo.contents.get": Operation(
        input=ContentsInput,
        output=Contents,
        function=get_contents,
        route="rest",
        example={**_EXAMPLE, "ref": "main"},
    ),
    "repo.contents.put": Operation(
        input=WriteInput,
        output=WrittenFile,
        function=put_contents,
        route="rest",
        example={**_EXAMPLE, "content": "# Guide\n", "message": "Start the guide"},
    ),
    "repo.file.delete": Operation(
        input=FileChangeInput,
        output=DeletedFile,
        function=delete_file,
        route="rest",
        example={**_EXAMPLE, "message": "Drop the guide"},
    ),
}
