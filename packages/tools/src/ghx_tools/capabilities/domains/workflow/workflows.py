"""The workflows of a repository, and starting one."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.models import (
    Count,
    OutputModel,
    PageInfo,
    Positive,
    RepositoryInput,
    RepositoryPageInput,
    Text,
    get_value,
)
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_results

_NAME = "Id of the workflow, or the name of its file, such as ci.yml."


class WorkflowInput(RepositoryInput):
    """Which workflow."""

    workflow_id: Annotated[Text | Positive, Field(description=_NAME)]


class DispatchInput(RepositoryInput):
    """Which workflow to start, and on what."""

    workflow_id: Annotated[Text, Field(description=_NAME)]
    ref: Annotated[Text, Field(description="Branch or tag to run on; the file there must have the trigger.")]
    inputs: Annotated[
        dict[str, StrictStr | StrictBool | StrictInt | StrictFloat] | None,
        Field(description="Values of the inputs that the file declares, by name."),
    ] = None


class Workflow(OutputModel):
    """One workflow."""

    id: Count
    name: str | None
    path: str | None
    state: str | None


class Workflows(OutputModel):
    """Workflows, oldest first."""

    items: tuple[Workflow, ...]
    page_info: PageInfo


class WorkflowDetails(Workflow):
    """One workflow, and where its file is shown."""

    url: str | None


class Dispatch(OutputModel):
    """A workflow that was started; `runId` and `url` are of the new run, `null` where GitHub does not say."""

    workflow_id: Text
    ref: Text
    dispatched: bool
    run_id: int | None
    url: str | None


async def list_workflows(client: GitHubClient, inputs: RepositoryPageInput) -> Workflows:
    """List the workflows of a repository."""
    path = rest_path("repos", inputs.owner, inputs.name, "actions", "workflows")
    results, page_info = await get_results(client, path, inputs, params={})
    items = [{key: each[key] for key in ("id", "name", "path", "state")} for each in results["workflows"]]
    return Workflows.model_validate({"items": items, "pageInfo": page_info})


async def view_workflow(client: GitHubClient, inputs: WorkflowInput) -> WorkflowDetails:
    """Read one workflow."""
    data = (await client.get(_path(inputs))).data
    fields = {key: get_value(data, key) for key in ("id", "name", "path", "state")}
    return WorkflowDetails.model_validate({**fields, "url": get_value(data, "html_url")})


async def dispatch_workflow(client: GitHubClient, inputs: DispatchInput) -> Dispatch:
    """Start a workflow."""
    # GitHub reads the values as a form has them: as text.
    workflow_inputs = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (inputs.inputs or {}).items()
    }
    body = {"ref": inputs.ref, "return_run_details": True, **({"inputs": workflow_inputs} if workflow_inputs else {})}
    answer = (await client.post(f"{_path(inputs)}/dispatches", body)).data
    return Dispatch(
        workflow_id=inputs.workflow_id,
        ref=inputs.ref,
        dispatched=True,
        run_id=get_value(answer, "workflow_run_id"),
        url=get_value(answer, "html_url"),
    )


def _path(inputs: WorkflowInput | DispatchInput) -> str:
    file = str(inputs.workflow_id).rpartition("/")[2]  # GitHub takes the file's name, others show its path
    return rest_path("repos", inputs.owner, inputs.name, "actions", "workflows", file)


_EXAMPLE = {"owner": "octocat", "name": "hello-world"}

OPERATIONS = {
    "workflow.dispatch": Operation(
        input=DispatchInput,
        output=Dispatch,
        function=dispatch_workflow,
        route="rest",
        example={**_EXAMPLE, "workflowId": "deploy.yml", "ref": "main", "inputs": {"environment": "staging"}},
    ),
    "workflow.list": Operation(
        input=RepositoryPageInput, output=Workflows, function=list_workflows, route="rest", example=_EXAMPLE
    ),
    "workflow.view": Operation(
        input=WorkflowInput,
        output=WorkflowDetails,
        function=view_workflow,
        route="rest",
        example={**_EXAMPLE, "workflowId": "ci.yml"},
    ),
}
