"""Refusals of a question: those about the state fail the checkpoint, all others leave the cell unscored."""

import json
from typing import Any

import pytest
from eval_stage import checkpoint, scenario, scored

from ghx_bench.scoring.checkpoints import UnreadableStateError
from ghx_bench.stages.handles import StageHandles
from ghx_profiler.evidence import Stage
from ghx_tools.capabilities.client import GitHubClient, RetryPolicy
from ghx_tools.capabilities.transports.exchange import Request, Response

pytestmark = pytest.mark.anyio

UNDEFINED_FIELD = {
    "message": "Field 'labels' doesn't exist on type 'Issue'",
    "path": ["query", "repository", "issue", "labels"],
    "extensions": {"code": "undefinedField", "typeName": "Issue", "fieldName": "labels"},
}


class Answering:
    """Gives the same answer to everything."""

    def __init__(self, status: int, body: object) -> None:
        self._answer = Response(status=status, headers={}, body=json.dumps(body).encode())

    async def send(self, _request: Request, *, patience_s: float) -> Response:
        return self._answer

    async def aclose(self) -> None:
        pass


def issue(status: int, body: object) -> Stage[Any]:
    """Return a stage whose one checkpoint, about an issue, gets this answer."""
    given = {"owner": "acme", "name": "box", "issueNumber": 1}
    looked = scenario(checkpoint("issue.view", given, {"type": "non_empty"}))

    def observer() -> GitHubClient:
        transport = Answering(status, body)
        return GitHubClient("https://api.github.com", "a token", transport=transport, retries=RetryPolicy(attempts=1))

    return Stage(scenario=looked, handles=StageHandles(agent="agent", observer=observer))


def refused(**error: Any) -> Stage[Any]:
    return issue(200, {"data": None, "errors": [{"message": "No.", **error}]})


@pytest.mark.parametrize(
    "stage",
    [
        refused(**UNDEFINED_FIELD),
        refused(extensions={"code": "variableMismatch"}),
        refused(type="BAD_USER_INPUT"),
        refused(type="EXCESSIVE_PAGINATION"),
        issue(400, {"message": "Problems parsing JSON"}),
        issue(403, {"message": "Resource not accessible"}),
    ],
)
async def test_a_question_that_github_does_not_understand_says_nothing_about_the_agent(stage: Stage[Any]) -> None:
    with pytest.raises(UnreadableStateError, match=r"checkpoint check: issue\.view: "):
        await scored(stage)


@pytest.mark.parametrize(
    "stage",
    [
        refused(type="NOT_FOUND"),
        refused(type="UNPROCESSABLE"),
        *(issue(status, {"message": "No."}) for status in (404, 405, 409, 410, 422)),
    ],
)
async def test_what_is_refused_for_the_state_it_is_in_is_a_failed_checkpoint(stage: Stage[Any]) -> None:
    (detail,) = (await scored(stage)).checkpoints

    assert not detail.passed
    assert (detail.error or "").startswith(("NOT_FOUND: ", "VALIDATION: "))
