"""Find projects by their owner and number, which is how people name them."""

from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import InputModel, Paging, Positive, Text, get_value, require_value

ProjectNumber = Annotated[Positive, Field(description="Number of the project, as its address shows it.")]

_FIND = """
query ProjectV2{name}($owner: String!, $projectNumber: Int!{variables}) {{
  repositoryOwner(login: $owner) {{
    ... on ProjectV2Owner {{ projectV2(number: $projectNumber) {{ {fields} }} }}
  }}
}}
"""
PAGE_VARIABLES = ", $first: Int!, $after: String"


class ProjectInput(InputModel):
    """Which project."""

    owner: Annotated[Text, Field(description="Owner of the project: a user or an organization.")]
    project_number: ProjectNumber


class ProjectPageInput(Paging, ProjectInput):
    """Which page of a list that a project has."""


async def find_project(
    client: GitHubClient, inputs: ProjectInput, *, name: str, fields: str, variables: str = ""
) -> dict[str, Any]:
    """Return the fields of a project that a GraphQL selection names; `name` ends the name of the document."""
    values = inputs.variables() if variables else {"owner": inputs.owner, "projectNumber": inputs.project_number}
    answer = await client.graphql(_FIND.format(name=name, fields=fields, variables=variables), values)
    if get_value(answer, "repositoryOwner") is None:  # GitHub leaves this one without an error
        raise not_found_error(f"no user or organization has the login {inputs.owner!r}")
    return require_value(answer, "repositoryOwner", "projectV2")


async def project_id(client: GitHubClient, inputs: ProjectInput) -> str:
    """Return the node id of a project."""
    return require_value(await find_project(client, inputs, name="Id", fields="id"), "id")
