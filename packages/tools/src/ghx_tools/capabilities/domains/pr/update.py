"""Change the title, the body and the draft state of a pull request."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE, OUTLINE, PullOutline
from ghx_tools.capabilities.models import PullInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_UPDATE = f"""
mutation PullRequestUpdate($input: UpdatePullRequestInput!) {{
  change: updatePullRequest(input: $input) {{ pullRequest {{ {OUTLINE} }} }}
}}
"""
_READY = f"""
mutation PullRequestReady($input: MarkPullRequestReadyForReviewInput!) {{
  change: markPullRequestReadyForReview(input: $input) {{ pullRequest {{ {OUTLINE} }} }}
}}
"""
_DRAFT = f"""
mutation PullRequestDraft($input: ConvertPullRequestToDraftInput!) {{
  change: convertPullRequestToDraft(input: $input) {{ pullRequest {{ {OUTLINE} }} }}
}}
"""


class PullUpdateInput(PullInput):
    """What changes; the rest stays."""

    title: Annotated[Text | None, Field(description="The new title.")] = None
    body: Annotated[str | None, Field(description="The new body, in Markdown; empty to say nothing.")] = None
    draft: Annotated[bool | None, Field(description="Turn it into a draft, or take it out of that state.")] = None

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        if self.title is None and self.body is None and self.draft is None:
            raise ValueError("nothing to change; give a title, a body or draft")
        return self


async def update_pull(client: GitHubClient, inputs: PullUpdateInput) -> PullOutline:
    """Change the title, the body or the draft state of a pull request."""
    id_, pull = await _find(client, inputs)
    texts = {name: text for name, text in (("title", inputs.title), ("body", inputs.body)) if text is not None}
    if texts:
        pull = await _change(client, _UPDATE, {"pullRequestId": id_, **texts})
    if inputs.draft is not None and inputs.draft != pull["draft"]:
        pull = await _change(client, _DRAFT if inputs.draft else _READY, {"pullRequestId": id_})
    return PullOutline.model_validate(pull)


async def mark_ready(client: GitHubClient, inputs: PullInput) -> PullOutline:
    """Mark a draft as ready to be reviewed; a pull request that is no draft stays as it is."""
    id_, pull = await _find(client, inputs)
    if pull["draft"]:
        pull = await _change(client, _READY, {"pullRequestId": id_})
    return PullOutline.model_validate(pull)


async def _find(client: GitHubClient, inputs: PullInput) -> tuple[str, dict[str, Any]]:
    pull = await find_pull(client, inputs, f"id {OUTLINE}")
    return pull.pop("id"), pull


async def _change(client: GitHubClient, document: str, change: dict[str, Any]) -> dict[str, Any]:
    return require_value(await client.graphql(document, {"input": change}), "change", "pullRequest")


OPERATIONS = {
    "pr.update": Operation(
        input=PullUpdateInput,
        output=PullOutline,
        function=update_pull,
        route="graphql",
        example={**EXAMPLE, "title": "Do not crash on Mondays"},
    ),
    "pr.ready": Operation(input=PullInput, output=PullOutline, function=mark_ready, route="graphql", example=EXAMPLE),
}
