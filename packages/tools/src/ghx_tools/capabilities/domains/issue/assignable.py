"""Assign people to issues and pull requests, which are alike in that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import find_ids
from ghx_tools.capabilities.models import InputModel, Text, require_value

_ADD = """
mutation AssigneesAdd($id: ID!, $assigneeIds: [ID!]!) {
  change: addAssigneesToAssignable(input: {assignableId: $id, assigneeIds: $assigneeIds}) {
    assignable { assignees(first: 100) { nodes { login } } }
  }
}
"""
_REMOVE = """
mutation AssigneesRemove($id: ID!, $assigneeIds: [ID!]!) {
  change: removeAssigneesFromAssignable(input: {assignableId: $id, assigneeIds: $assigneeIds}) {
    assignable { assignees(first: 100) { nodes { login } } }
  }
}
"""


class SomePeopleInput(InputModel):
    """Which people, at least one; mixed into inputs, last."""

    assignees: Annotated[tuple[Text, ...], Field(min_length=1, description="Logins of people.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignable:
    """The issue or pull request that people are assigned to."""

    kind: Literal["issueOrPullRequest", "pullRequest"]
    owner: str
    name: str
    number: int


async def add_people(client: GitHubClient, subject: Assignable, people: Sequence[str]) -> tuple[str, ...]:
    """Assign people, and return those of them who are assigned now."""
    found, ids = await find_people(client, subject, people)
    after = await _change(client, _ADD, found["id"], ids)
    logins = {login.casefold() for login in people}
    return tuple(login for login in after if login.casefold() in logins)


async def remove_people(client: GitHubClient, subject: Assignable, people: Sequence[str]) -> tuple[str, ...]:
    """Take people off, and return those who were assigned before."""
    found, ids = await find_people(client, subject, people)
    after = await _change(client, _REMOVE, found["id"], ids)
    return tuple(each["login"] for each in found["assignees"]["nodes"] if each["login"] not in after)


async def find_people(
    client: GitHubClient, subject: Assignable, people: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the subject (`__typename`, `id`, `assignees`) and the ids of people who are or may be assigned."""
    logins = {f"login{index}": login for index, login in enumerate(people)}
    which = {"owner": subject.owner, "name": subject.name, "number": subject.number}
    repository = require_value(await client.graphql(_lookup(subject, list(logins)), {**which, **logins}), "repository")
    candidates = [*require_value(repository, "subject", "assignees", "nodes")]
    for variable in logins:
        candidates += require_value(repository, f"of_{variable}", "nodes")
    what = f"nobody can be assigned in {subject.owner}/{subject.name} as"
    return repository["subject"], find_ids(people, candidates, key="login", what=what)


def _lookup(subject: Assignable, variables: Sequence[str]) -> str:
    """Return the document that looks up the subject and, with one field for each, people."""
    declared = "".join(f", ${name}: String!" for name in variables)
    fields = "\n".join(
        f"of_{name}: assignableUsers(query: ${name}, first: 100) {{ nodes {{ id login }} }}" for name in variables
    )
    return f"""
query AssignableAndPeople($owner: String!, $name: String!, $number: Int!{declared}) {{
  repository(owner: $owner, name: $name) {{
    subject: {subject.kind}(number: $number) {{
      __typename ... on Node {{ id }} ... on Assignable {{ assignees(first: 100) {{ nodes {{ id login }} }} }}
    }}
    {fields}
  }}
}}
"""


async def _change(client: GitHubClient, document: str, id_: str, assignee_ids: list[str]) -> list[str]:
    answer = await client.graphql(document, {"id": id_, "assigneeIds": assignee_ids})
    return [each["login"] for each in require_value(answer, "change", "assignable", "assignees", "nodes")]
