"""Fields of a project, and what its items hold in them."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.project_v2.lookup import PAGE_VARIABLES, ProjectPageInput, find_project
from ghx_tools.capabilities.models import InputModel, OutputModel, PageInfo, Text, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_FIELDS = """
fields(first: $first, after: $after) {
  nodes {
    ... on ProjectV2FieldCommon { id name dataType }
    ... on ProjectV2SingleSelectField { options { id name } }
  }
  pageInfo { hasNextPage endCursor }
}
"""
_UPDATE = """
mutation UpdateProjectV2ItemField($projectId: ID!, $itemId: ID!, $fieldId: ID!, $value: ProjectV2FieldValue!) {
  change: updateProjectV2ItemFieldValue(
    input: {projectId: $projectId, itemId: $itemId, fieldId: $fieldId, value: $value}
  ) { projectV2Item { id } }
}
"""
_CLEAR = """
mutation ClearProjectV2ItemField($projectId: ID!, $itemId: ID!, $fieldId: ID!) {
  change: clearProjectV2ItemFieldValue(
    input: {projectId: $projectId, itemId: $itemId, fieldId: $fieldId}
  ) { projectV2Item { id } }
}
"""


class FieldValueInput(InputModel):
    """Which field of which item, and what it is to hold."""

    project_id: Annotated[Text, Field(description="Node id of the project, as `project_v2.org.view` gives it.")]
    item_id: Annotated[Text, Field(description="Node id of the item, as `project_v2.items.list` gives it.")]
    field_id: Annotated[Text, Field(description="Node id of the field, as `project_v2.fields.list` gives it.")]
    value_text: Annotated[Text | None, Field(description="For a TEXT field.")] = None
    value_number: Annotated[float | None, Field(description="For a NUMBER field.")] = None
    value_date: Annotated[Text | None, Field(description="For a DATE field, as 2026-01-31.")] = None
    value_single_select_option_id: Annotated[
        Text | None, Field(description="For a SINGLE_SELECT field: the id of the option.")
    ] = None
    value_iteration_id: Annotated[Text | None, Field(description="For an ITERATION field: the id of it.")] = None
    clear: Annotated[bool, Field(description="Whether the field is to hold nothing.")] = False

    @property
    def values(self) -> dict[str, Any]:
        """Return the value as GitHub takes it; empty where none is given."""
        values_by_type = {
            "text": self.value_text,
            "number": self.value_number,
            "date": self.value_date,
            "singleSelectOptionId": self.value_single_select_option_id,
            "iterationId": self.value_iteration_id,
        }
        return {name: value for name, value in values_by_type.items() if value is not None}

    @model_validator(mode="after")
    def _has_one_wish(self) -> Self:
        if len(self.values) + self.clear != 1:
            raise ValueError("give one value (valueText, valueNumber, valueDate, ...), or clear: true")
        return self


class Option(OutputModel):
    """One option of a field."""

    id: str
    name: str


class ProjectField(OutputModel):
    """One field of a project; `options` are those of a SINGLE_SELECT."""

    id: str | None
    name: str | None
    data_type: str | None
    options: tuple[Option, ...] | None = None


class ProjectFields(OutputModel):
    """Fields of a project."""

    items: tuple[ProjectField, ...]
    page_info: PageInfo


class ChangedItem(OutputModel):
    """The item that was changed."""

    item_id: str


async def list_fields(client: GitHubClient, inputs: ProjectPageInput) -> ProjectFields:
    """List the fields of a project."""
    project = await find_project(client, inputs, name="FieldsList", fields=_FIELDS, variables=PAGE_VARIABLES)
    return ProjectFields.model_validate(to_page(require_value(project, "fields")))


async def update_field(client: GitHubClient, inputs: FieldValueInput) -> ChangedItem:
    """Set what an item holds in one field, or clear it."""
    place = {"projectId": inputs.project_id, "itemId": inputs.item_id, "fieldId": inputs.field_id}
    if inputs.clear:
        answer = await client.graphql(_CLEAR, place)
    else:
        answer = await client.graphql(_UPDATE, {**place, "value": inputs.values})
    return ChangedItem(item_id=require_value(answer, "change", "projectV2Item", "id"))


OPERATIONS = {
    "project_v2.fields.list": Operation(
        input=ProjectPageInput,
        output=ProjectFields,
        function=list_fields,
        route="graphql",
        example={"owner": "octo-org", "projectNumber": 1},
    ),
    "project_v2.items.field.update": Operation(
        input=FieldValueInput,
        output=ChangedItem,
        function=update_field,
        route="graphql",
        example={
            "projectId": "PVT_kwDOAAAAAc4AAAAB",
            "itemId": "PVTI_kwDOAAAAAc4AAAAB",
            "fieldId": "PVTSSF_kwDOAAAAAc4AAAAB",
            "valueSingleSelectOptionId": "98236657",
        },
    ),
}
