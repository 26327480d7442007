"""The labels of an issue or a pull request."""

from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import find_ids, issue_variables, update_subject
from ghx_tools.capabilities.models import (
    Names,
    OutputModel,
    PageInfo,
    Paging,
    Positive,
    SubjectInput,
    Text,
    require_value,
    to_page,
)
from ghx_tools.capabilities.registry import Operation

_LOOKUP = """
query IssueAndLabels($owner: String!, $name: String!, $issueNumber: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    subject: issueOrPullRequest(number: $issueNumber) {
      __typename
      ... on Node { id }
      ... on Labelable { labels(first: 100) { nodes { id name } } }
    }
    labels(first: 100, after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } }
  }
}
"""
_ADD = """
mutation LabelsAdd($id: ID!, $labelIds: [ID!]!) {
  change: addLabelsToLabelable(input: {labelableId: $id, labelIds: $labelIds}) {
    subject: labelable { ... on Node { id } labels(first: 100) { nodes { name } } }
  }
}
"""
_REMOVE = """
mutation LabelsRemove($id: ID!, $labelIds: [ID!]!) {
  change: removeLabelsFromLabelable(input: {labelableId: $id, labelIds: $labelIds}) {
    subject: labelable { ... on Node { id } labels(first: 100) { nodes { name } } }
  }
}
"""
_LIST = """
query IssueLabels($owner: String!, $name: String!, $issueNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    subject: issueOrPullRequest(number: $issueNumber) {
      ... on Labelable {
        labels(first: $first, after: $after) {
          nodes { id name description color }
          pageInfo { hasNextPage endCursor }
        }
      }
    }
  }
}
"""


class SomeLabelsInput(SubjectInput):
    """Which labels; at least one."""

    labels: Annotated[tuple[Text, ...], Field(min_length=1, description="Names of labels of the repository.")]


class AllLabelsInput(SubjectInput):
    """Which labels; possibly none."""

    labels: Annotated[tuple[Text, ...], Field(description="Names of labels of the repository.")]


class IssueLabelsInput(Paging, SubjectInput):
    """Which page of the labels."""


class LabelsOfIssue(OutputModel):
    """All labels that it has now."""

    id: Text
    labels: Names


class RemovedLabels(OutputModel):
    """The labels that were taken off; one that was not on it is not among them."""

    issue_number: Positive
    removed: tuple[str, ...]


class Label(OutputModel):
    """One label."""

    id: Text
    name: str
    description: str | None
    color: str


class LabelList(OutputModel):
    """Labels of an issue or a pull request."""

    items: tuple[Label, ...]
    page_info: PageInfo


async def add_labels(client: GitHubClient, inputs: SomeLabelsInput) -> LabelsOfIssue:
    """Put labels on an issue or a pull request."""
    subject, label_ids = await _find(client, inputs)
    return LabelsOfIssue.model_validate(await _change(client, _ADD, subject["id"], label_ids))


async def set_labels(client: GitHubClient, inputs: AllLabelsInput) -> LabelsOfIssue:
    """Replace the labels of an issue or a pull request."""
    subject, label_ids = await _find(client, inputs)
    fields = "id labels(first: 100) { nodes { name } }"
    return LabelsOfIssue.model_validate(await update_subject(client, subject, {"labelIds": label_ids}, fields=fields))


async def remove_labels(client: GitHubClient, inputs: SomeLabelsInput) -> RemovedLabels:
    """Take labels off an issue or a pull request."""
    subject, label_ids = await _find(client, inputs)
    after = LabelsOfIssue.model_validate(await _change(client, _REMOVE, subject["id"], label_ids)).labels
    removed = tuple(label["name"] for label in subject["labels"]["nodes"] if label["name"] not in after)
    return RemovedLabels(issue_number=inputs.issue_number, removed=removed)


async def list_labels(client: GitHubClient, inputs: IssueLabelsInput) -> LabelList:
    """List the labels of an issue or a pull request."""
    answer = await client.graphql(_LIST, inputs.variables())
    return LabelList.model_validate(to_page(require_value(answer, "repository", "subject", "labels")))


async def _find(client: GitHubClient, inputs: SomeLabelsInput | AllLabelsInput) -> tuple[dict[str, Any], list[str]]:
    """Return the subject and the ids of the labels that are meant; pages of labels are read until all are found."""
    ids: list[dict[str, Any]] = []
    names = {name.casefold() for name in inputs.labels}
    after: str | None = None
    while True:
        answer = await client.graphql(_LOOKUP, {**issue_variables(inputs), "after": after})
        result = to_page(require_value(answer, "repository", "labels"))
        ids += result["items"]
        after = result["pageInfo"]["endCursor"]
        if names <= {label["name"].casefold() for label in ids} or not result["pageInfo"]["hasNextPage"]:
            what = f"{inputs.owner}/{inputs.name} has no label"
            return require_value(answer, "repository", "subject"), find_ids(inputs.labels, ids, key="name", what=what)


async def _change(client: GitHubClient, document: str, id_: str, label_ids: list[str]) -> dict[str, Any]:
    answer = await client.graphql(document, {"id": id_, "labelIds": label_ids})
    return require_value(answer, "change", "subject")


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
