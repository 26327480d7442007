"""The artifacts of a workflow run."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.workflow.runs import EXAMPLE, RunInput, run_path
from ghx_tools.capabilities.models import Count, OutputModel, PageInfo, Paging
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_results


class ArtifactsInput(Paging, RunInput):
    """Which artifacts."""


class Artifact(OutputModel):
    """Files that a run has stored, as one zip."""

    id: Count
    name: str | None
    size_in_bytes: int | None
    archive_download_url: str | None


class Artifacts(OutputModel):
    """Artifacts of a run."""

    items: tuple[Artifact, ...]
    page_info: PageInfo


async def list_artifacts(client: GitHubClient, inputs: ArtifactsInput) -> Artifacts:
    """List the artifacts of a workflow run."""
    results, page_info = await get_results(client, f"{run_path(inputs)}/artifacts", inputs, params={})
    names = ("id", "name", "size_in_bytes", "archive_download_url")
    items = [{name: each.get(name) for name in names} for each in results["artifacts"]]
    return Artifacts.model_validate({"items": items, "pageInfo": page_info})


OPERATIONS = {
    "workflow.run.artifacts.list": Operation(
        input=ArtifactsInput, output=Artifacts, function=list_artifacts, route="rest", example=EXAMPLE
    ),
}
