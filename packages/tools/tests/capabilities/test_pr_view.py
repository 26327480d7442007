"""What is told of a pull request, and to whom."""

import json
from functools import partial
from typing import Any

import anyio
import pytest
from capability_calls import OWNER, Ghx

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.envelope import Envelope
from ghx_tools.capabilities.execution import execute_task
from ghx_tools.capabilities.transports.exchange import Request, Response

TOOLS = {"owner": OWNER, "name": "tools"}
PULL = {**TOOLS, "prNumber": 4}
TOLD = {
    "id": "PR_1", "number": 4, "title": "Sneak", "state": "OPEN", "url": "https://github.com/acme/tools/pull/4",
    "body": "", "isDraft": False, "headBranch": "sneak", "baseBranch": "main", "milestone": None,
    "labels": {"nodes": []}, "assignees": {"nodes": []},
}  # fmt: skip


class Scripted:
    """Answers every request with one and the same GraphQL answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer

    async def send(self, request: Request, *, patience_s: float) -> Response:
        assert "requestedReviewer" in request.body.decode()
        return Response(status=200, headers={}, body=json.dumps(self.answer).encode())

    async def aclose(self) -> None:
        """Close nothing."""


def viewed(answer: dict[str, Any]) -> Envelope:
    """Read a pull request of a GitHub that answers what it is told to."""
    client = GitHubClient("https://api.github.com", "ghp_0123456789abcdef", transport=Scripted(answer))
    return anyio.run(partial(execute_task, client, "pr.view", PULL))


def test_a_pull_request_is_read_with_its_branches(ghx: Ghx) -> None:
    pull = ghx.data("pr.view", **PULL)

    assert (pull["headBranch"], pull["baseBranch"], pull["isDraft"]) == ("for-guarded", "guarded", False)
    assert ghx.data("pr.view", **TOOLS, prNumber=2)["isDraft"] is True


def test_a_pull_request_is_read_with_its_people_and_its_milestone(ghx: Ghx) -> None:
    ghx.on_pull("pr.assignees.add", assignees=["hubot"])

    assert ghx.on_pull("pr.view")["assignees"] == ["hubot"]
    assert ghx.on_pull("pr.view")["milestone"] is None


def test_who_is_asked_to_review_is_told_until_the_review_is_there(ghx: Ghx) -> None:
    asked = ghx.data("pr.reviews.request", **PULL, reviewers=["octo", "acme/core-team"])
    before = ghx.data("pr.view", **PULL)["reviewers"]
    ghx.data("pr.reviews.submit", **PULL, event="COMMENT", body="Hm")

    assert asked["reviewers"] == ["octo", "acme/core-team"]
    assert before == ["octo"], "a team is not told"
    assert ghx.data("pr.view", **PULL)["reviewers"] == []


def test_a_team_that_github_keeps_to_itself_does_not_cost_the_rest() -> None:
    requests = {"nodes": [{"requestedReviewer": None}, {"requestedReviewer": {"login": "octo"}}]}
    path = ["repository", "pullRequest", "reviewers", "nodes", 0, "requestedReviewer"]
    refusal = {"type": "FORBIDDEN", "path": path, "message": "Resource not accessible by integration"}

    envelope = viewed({"data": {"repository": {"pullRequest": {**TOLD, "reviewers": requests}}}, "errors": [refusal]})
    without = viewed({"data": {"repository": {"pullRequest": {**TOLD, "reviewers": None}}}, "errors": [refusal]})

    assert isinstance(envelope.data, dict)
    assert isinstance(without.data, dict)
    assert (envelope.data["reviewers"], without.data["reviewers"]) == (["octo"], [])


@pytest.mark.parametrize("path", [["repository", "pullRequest", "assignees"], None])
def test_anything_else_that_github_refuses_fails_the_call(path: list[str] | None) -> None:
    refusal = {"type": "FORBIDDEN", "message": "No", **({"path": path} if path else {})}

    envelope = viewed({"data": {"repository": {"pullRequest": {**TOLD, "reviewers": None}}}, "errors": [refusal]})

    assert envelope.error is not None
    assert envelope.error.code == "AUTH"
