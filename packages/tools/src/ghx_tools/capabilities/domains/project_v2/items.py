"""Items of a project: listed, added, taken off."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.project_v2.lookup import (
    PAGE_VARIABLES,
    ProjectInput,
    ProjectPageInput,
    find_project,
    project_id,
)
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import Count, OutputModel, PageInfo, Text, get_value, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_ITEMS = """
items(first: $first, after: $after) {
  nodes {
    id
    type
    content {
      ... on DraftIssue { title }
      ... on Issue { number title }
      ... on PullRequest { number title }
    }
  }
  pageInfo { hasNextPage endCursor }
}
"""
_CONTENT = """
query ProjectV2IssueNodeId($url: URI!) {
  resource(url: $url) { ... on Issue { id } ... on PullRequest { id } }
}
"""
_ADD = """
mutation AddProjectV2Item($projectId: ID!, $contentId: ID!) {
  addProjectV2ItemById(input: {projectId: $projectId, contentId: $contentId}) { item { id type } }
}
"""
_REMOVE = """
mutation RemoveProjectV2Item($projectId: ID!, $itemId: ID!) {
  deleteProjectV2Item(input: {projectId: $projectId, itemId: $itemId}) { deletedItemId }
}
"""


class AddedIssueInput(ProjectInput):
    """Which project, and what is put on it."""

    issue_url: Annotated[Text, Field(description="Address of the issue or pull request.")]


class RemovedItemInput(ProjectInput):
    """Which project, and what is taken off."""

    item_id: Annotated[Text, Field(description="Node id of the item, as `project_v2.items.list` gives it.")]


class ProjectItem(OutputModel):
    """One item of a project: ISSUE, PULL_REQUEST, DRAFT_ISSUE, or REDACTED where the caller may not see it."""

    id: str | None
    content_type: str | None
    content_number: Count | None
    content_title: str | None


class ProjectItems(OutputModel):
    """Items of a project, from top to bottom."""

    items: tuple[ProjectItem, ...]
    page_info: PageInfo


class AddedItem(OutputModel):
    """The item of an issue on a project."""

    item_id: str
    item_type: str | None


class RemovedItem(OutputModel):
    """The item that was taken off."""

    deleted_item_id: Text


async def list_items(client: GitHubClient, inputs: ProjectPageInput) -> ProjectItems:
    """List the items of a project."""
    project = await find_project(client, inputs, name="ItemsList", fields=_ITEMS, variables=PAGE_VARIABLES)
    page = to_page(require_value(project, "items"))
    page["items"] = [
        {
            "id": node["id"],
            "contentType": node["type"],
            "contentNumber": get_value(node, "content", "number"),
            "contentTitle": get_value(node, "content", "title"),
        }
        for node in page["items"]
    ]
    return ProjectItems.model_validate(page)


async def add_issue(client: GitHubClient, inputs: AddedIssueInput) -> AddedItem:
    """Put an issue or pull request on a project; one that is there already stays where it is."""
    project = await project_id(client, inputs)
    content = get_value(await client.graphql(_CONTENT, {"url": inputs.issue_url}), "resource", "id")
    if content is None:
        raise not_found_error(f"no issue or pull request is at {inputs.issue_url}")
    answer = await client.graphql(_ADD, {"projectId": project, "contentId": content})
    item = require_value(answer, "addProjectV2ItemById", "item")
    return AddedItem(item_id=item["id"], item_type=item["type"])


async def remove_item(client: GitHubClient, inputs: RemovedItemInput) -> RemovedItem:
    """Take an item off a project."""
    project = await project_id(client, inputs)
    answer = await client.graphql(_REMOVE, {"projectId": project, "itemId": inputs.item_id})
    return RemovedItem(deleted_item_id=require_value(answer, "deleteProjectV2Item", "deletedItemId"))


_PROJECT = {"owner": "octo-org", "projectNumber": 1}

OPERATIONS = {
    "project_v2.items.issue.add": Operation(
        input=AddedIssueInput,
        output=AddedItem,
        function=add_issue,
        route="graphql",
        example={**_PROJECT, "issueUrl": "https://github.com/octo-org/hello-world/issues/1"},
    ),
    "project_v2.items.issue.remove": Operation(
        input=RemovedItemInput,
        output=RemovedItem,
        function=remove_item,
        route="graphql",
        example={**_PROJECT, "itemId": "PVTI_kwDOAAAAAc4AAAAB"},
    ),
    "project_v2.items.list": Operation(
        input=ProjectPageInput, output=ProjectItems, function=list_items, route="graphql", example=_PROJECT
    ),
}
