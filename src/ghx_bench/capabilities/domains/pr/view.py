"""Reading one pull request."""

from typing import Annotated, Literal

from pydantic import Field

from ghx_bench._base.wire import OMITTABLE
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.pr.lookup import find_pull
from ghx_bench.capabilities.domains.pr.records import EXAMPLE
from ghx_bench.capabilities.models import Names, OutputModel, Positive, PullInput, Text
from ghx_bench.capabilities.operation import Operation

_FIELDS = "id number title state url labels(first: 100) { nodes { name } }"


class PullViewInput(PullInput):
    """Which pull request, and what not to tell of it."""

    exclude: Annotated[
        tuple[Literal["body"], ...], Field(description="Fields to leave out, to keep the answer short.")
    ] = ()


class PullView(OutputModel):
    """One pull request."""

    id: Text
    number: Positive
    title: str
    state: str
    url: Text
    body: Annotated[str, OMITTABLE] = ""
    labels: Names


async def view_pull(client: GitHubClient, given: PullViewInput) -> PullView:
    """Read a pull request with the names of its labels."""
    fields = _FIELDS if "body" in given.exclude else f"{_FIELDS} body"
    return PullView.model_validate(await find_pull(client, given, fields))


OPERATIONS = {
    "pr.view": Operation(
        input=PullViewInput,
        output=PullView,
        function=view_pull,
        route="graphql",
        example={**EXAMPLE, "exclude": ["body"]},
    ),
}
