"""The labels of an issue."""

from typing import Annotated, Any

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import ids_of, which_issue
from ghx_bench.capabilities.models import IssueInput, Names, OutputModel, PageInfo, Paging, Positive, Text, page, part
from ghx_bench.capabilities.operation import Operation

_LOOKUP = """
query IssueAndLabels($owner: String!, $name: String!, $issueNumber: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) { id labels(first: 100) { nodes { id name } } }
    labels(first: 100, after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } }
  }
}
"""
_ADD = """
mutation IssueLabelsAdd($id: ID!, $labelIds: [ID!]!) {
  change: addLabelsToLabelable(input: {labelableId: $id, labelIds: $labelIds}) {
    issue: labelable { ... on Issue { id labels(first: 100) { nodes { name } } } }
  }
}
"""
_REMOVE = """
mutation IssueLabelsRemove($id: ID!, $labelIds: [ID!]!) {
  change: removeLabelsFromLabelable(input: {labelableId: $id, labelIds: $labelIds}) {
    issue: labelable { ... on Issue { id labels(first: 100) { nodes { name } } } }
  }
}
"""
_SET = """
mutation IssueLabelsSet($id: ID!, $labelIds: [ID!]!) {
  change: updateIssue(input: {id: $id, labelIds: $labelIds}) { issue { id labels(first: 100) { nodes { name } } } }
}
"""
_LIST = """
query IssueLabels($owner: String!, $name: String!, $issueNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) {
      labels(first: $first, after: $after) {
        nodes { id name description color }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""


class SomeLabelsInput(IssueInput):
    """Which labels; at least one."""

    labels: Annotated[tuple[Text, ...], Field(min_length=1, description="Names of labels of the repository.")]


class AllLabelsInput(IssueInput):
    """Which labels; possibly none."""

    labels: Annotated[tuple[Text, ...], Field(description="Names of labels of the repository.")]


class IssueLabelsInput(Paging, IssueInput):
    """Which page of the labels."""


class LabelsOfIssue(OutputModel):
    """All labels that an issue has now."""

    id: Text
    labels: Names


class RemovedLabels(OutputModel):
    """The labels that were taken off; one that the issue did not have is not among them."""

    issue_number: Positive
    removed: tuple[str, ...]


class Label(OutputModel):
    """One label."""

    id: Text
    name: str
    description: str | None
    color: str


class LabelList(OutputModel):
    """Labels of an issue."""

    items: tuple[Label, ...]
    page_info: PageInfo


async def add_labels(client: GitHubClient, given: SomeLabelsInput) -> LabelsOfIssue:
    """Put labels on an issue."""
    issue, label_ids = await _find(client, given)
    return LabelsOfIssue.model_validate(await _change(client, _ADD, issue["id"], label_ids))


async def set_labels(client: GitHubClient, given: AllLabelsInput) -> LabelsOfIssue:
    """Replace the labels of an issue."""
    issue, label_ids = await _find(client, given)
    return LabelsOfIssue.model_validate(await _change(client, _SET, issue["id"], label_ids))


async def remove_labels(client: GitHubClient, given: SomeLabelsInput) -> RemovedLabels:
    """Take labels off an issue."""
    issue, label_ids = await _find(client, given)
    after = LabelsOfIssue.model_validate(await _change(client, _REMOVE, issue["id"], label_ids)).labels
    removed = tuple(label["name"] for label in issue["labels"]["nodes"] if label["name"] not in after)
    return RemovedLabels(issue_number=given.issue_number, removed=removed)


async def list_labels(client: GitHubClient, given: IssueLabelsInput) -> LabelList:
    """List the labels of an issue."""
    answer = await client.graphql(_LIST, given.variables())
    return LabelList.model_validate(page(part(answer, "repository", "issue", "labels")))


async def _find(client: GitHubClient, given: SomeLabelsInput | AllLabelsInput) -> tuple[dict[str, Any], list[str]]:
    """Return the issue and the ids of the labels that are meant; pages of labels are read until all are found."""
    known: list[dict[str, Any]] = []
    wanted = {name.casefold() for name in given.labels}
    after: str | None = None
    while True:
        answer = await client.graphql(_LOOKUP, {**which_issue(given), "after": after})
        found = page(part(answer, "repository", "labels"))
        known += found["items"]
        after = found["pageInfo"]["endCursor"]
        if wanted <= {label["name"].casefold() for label in known} or not found["pageInfo"]["hasNextPage"]:
            what = f"{given.owner}/{given.name} has no label"
            return part(answer, "repository", "issue"), ids_of(given.labels, known, key="name", what=what)


async def _change(client: GitHubClient, document: str, id_: str, label_ids: list[str]) -> dict[str, Any]:
    answer = await client.graphql(document, {"id": id_, "labelIds": label_ids})
    return part(answer, "change", "issue")


_ISSUE = {"owner": "octocat", "name": "hello-world", "issueNumber": 1}
_EXAMPLE = {**_ISSUE, "labels": ["bug"]}

OPERATIONS = {
    "issue.labels.add": Operation(
        input=SomeLabelsInput, output=LabelsOfIssue, function=add_labels, route="graphql", example=_EXAMPLE
    ),
    "issue.labels.list": Operation(
        input=IssueLabelsInput, output=LabelList, function=list_labels, route="graphql", example=_ISSUE
    ),
    "issue.labels.remove": Operation(
        input=SomeLabelsInput, output=RemovedLabels, function=remove_labels, route="graphql", example=_EXAMPLE
    ),
    "issue.labels.set": Operation(
        input=AllLabelsInput, output=LabelsOfIssue, function=set_labels, route="graphql", example=_EXAMPLE
    ),
}
