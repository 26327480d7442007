"""Basic facts about a project."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.project_v2.lookup import ProjectNumber
from ghx_tools.capabilities.models import InputModel, OutputModel, Text, require_value
from ghx_tools.capabilities.registry import Operation

_FACTS = "id title shortDescription public closed url"
_OF_ORGANIZATION = f"""
query ProjectV2OrgView($org: String!, $projectNumber: Int!) {{
  organization(login: $org) {{ projectV2(number: $projectNumber) {{ {_FACTS} }} }}
}}
"""
_OF_USER = f"""
query ProjectV2UserView($user: String!, $projectNumber: Int!) {{
  user(login: $user) {{ projectV2(number: $projectNumber) {{ {_FACTS} }} }}
}}
"""


class OrganizationProjectInput(InputModel):
    """Which project of an organization."""

    org: Annotated[Text, Field(description="Login of the organization.")]
    project_number: ProjectNumber


class UserProjectInput(InputModel):
    """Which project of a user."""

    user: Annotated[Text, Field(description="Login of the user.")]
    project_number: ProjectNumber


class Project(OutputModel):
    """Basic facts about a project."""

    id: str | None
    title: str | None
    short_description: str | None
    public: bool | None
    closed: bool | None
    url: str | None


async def view_of_organization(client: GitHubClient, inputs: OrganizationProjectInput) -> Project:
    """Read basic facts about a project of an organization."""
    answer = await client.graphql(_OF_ORGANIZATION, inputs.variables())
    return Project.model_validate(require_value(answer, "organization", "projectV2"))


async def view_of_user(client: GitHubClient, inputs: UserProjectInput) -> Project:
    """Read basic facts about a project of a user."""
    answer = await client.graphql(_OF_USER, inputs.variables())
    return Project.model_validate(require_value(answer, "user", "projectV2"))


OPERATIONS = {
    "project_v2.org.view": Operation(
        input=OrganizationProjectInput,
        output=Project,
        function=view_of_organization,
        route="graphql",
        example={"org": "octo-org", "projectNumber": 1},
    ),
    "project_v2.user.view": Operation(
        input=UserProjectInput,
        output=Project,
        function=view_of_user,
        route="graphql",
        example={"user": "octocat", "projectNumber": 1},
    ),
}
