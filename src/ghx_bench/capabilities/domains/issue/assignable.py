"""Whoever is assigned to something: issues and pull requests are alike in that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import ids_of
from ghx_bench.capabilities.models import InputModel, Text, part

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
    """What people are assigned to."""

    kind: Literal["issueOrPullRequest", "pullRequest"]
    owner: str
    name: str
    number: int


async def add_people(client: GitHubClient, subject: Assignable, people: Sequence[str]) -> tuple[str, ...]:
    """Assign people, and return who of them is assigned now."""
    found, ids = await find_people(client, subject, people)
    after = await _change(client, _ADD, found["id"], ids)
    wanted = {login.casefold() for login in people}
    return tuple(login for login in after if login.casefold() in wanted)


async def remove_people(client: GitHubClient, subject: Assignable, people: Sequence[str]) -> tuple[str, ...]:
    """Take people off, and return who was; somebody who was not assigned is not among them."""
    found, ids = await find_people(client, subject, people)
    after = await _change(client, _REMOVE, found["id"], ids)
    return tuple(each["login"] for each in found["assignees"]["nodes"] if each["login"] not in after)


async def find_people(
    client: GitHubClient, subject: Assignable, people: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the subject (`__typename`, `id`, `assignees`) and the ids of people, who are assigned or may be."""
    logins = {f"login{index}": login for index, login in enumerate(people)}
    which = {"owner": subject.owner, "name": subject.name, "number": subject.number}
    repository = part(await client.graphql(_lookup(subject, list(logins)), {**which, **logins}), "repository")
    known = [*part(repository, "subject", "assignees", "nodes")]
    for variable in logins:
        known += part(repository, f"of_{variable}", "nodes")
    what = f"nobody can be assigned in {subject.owner}/{subject.name} as"
    return repository["subject"], ids_of(people, known, key="login", what=what)


def _lookup(subject: Assignable, variables: Sequence[str]) -> str:
    """Write the document that asks for the subject and, as one question for each, for people."""
    declared = "".join(f", ${name}: String!" for name in variables)
    asked = "\n".join(
        f"of_{name}: assignableUsers(query: ${name}, first: 100) {{ nodes {{ id login }} }}" for name in variables
    )
    return f"""
query AssignableAndPeople($owner: String!, $name: String!, $number: Int!{declared}) {{
  repository(owner: $owner, name: $name) {{
    subject: {subject.kind}(number: $number) {{
      __typename ... on Node {{ id }} ... on Assignable {{ assignees(first: 100) {{ nodes {{ id login }} }} }}
    }}
    {asked}
  }}
}}
"""


async def _change(client: GitHubClient, document: str, id_: str, assignee_ids: list[str]) -> list[str]:
    answer = await client.graphql(document, {"id": id_, "assigneeIds": assignee_ids})
    return [each["login"] for each in part(answer, "change", "assignable", "assignees", "nodes")]
