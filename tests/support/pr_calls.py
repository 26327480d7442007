"""A call of every capability of the pr domain that goes well in the world of the tests."""

from collections.abc import Mapping
from typing import Any

from capability_calls import NAME, OWNER, Call, Ghx

REPOSITORY = {"owner": OWNER, "name": NAME}
PULL = {**REPOSITORY, "prNumber": 7}


def open_thread(ghx: Ghx) -> dict[str, Any]:
    """Name the thread that is not resolved."""
    return {"threadId": ghx.on_pull("pr.threads.list")["items"][0]["id"]}


def settled_thread(ghx: Ghx) -> dict[str, Any]:
    """Name the thread that is resolved."""
    threads = ghx.on_pull("pr.threads.list", unresolvedOnly=False)["items"]
    return {"threadId": next(each["id"] for each in threads if each["isResolved"])}


def a_reply(ghx: Ghx) -> dict[str, Any]:
    """Answer in the thread that is not resolved."""
    return {**open_thread(ghx), "body": "Right."}


def closed_pull(ghx: Ghx) -> dict[str, Any]:
    """Close the pull request."""
    ghx.on_pull("pr.close")
    return PULL


def draft_pull(ghx: Ghx) -> dict[str, Any]:
    """Turn the pull request into a draft."""
    ghx.on_pull("pr.update", draft=True)
    return PULL


def behind_pull(ghx: Ghx) -> dict[str, Any]:
    """Put something on the base branch that the pull request does not have."""
    ghx.on_repo("repo.contents.put", path="NEWS.md", content="News", message="Tell the news")
    return PULL


PR_CALLS: Mapping[str, Call] = {
    "pr.assignees.add": {**PULL, "assignees": ["hubot"]},
    "pr.assignees.remove": {**PULL, "assignees": ["octo"]},
    "pr.branch.update": behind_pull,
    "pr.checks.list": PULL,
    "pr.checks.rerun.all": {**PULL, "runId": 501},
    "pr.checks.rerun.failed": {"owner": OWNER, "name": "tools", "prNumber": 4, "runId": 601},
    "pr.close": PULL,
    "pr.comments.create": {**PULL, "body": "Thanks."},
    "pr.comments.list": PULL,
    "pr.comments.reactions.list": PULL,
    "pr.commits.list": PULL,
    "pr.create": {"owner": OWNER, "name": "tools", "title": "Second", "body": "More", "head": "spare", "base": "main"},
    "pr.diff.files": PULL,
    "pr.diff.view": PULL,
    "pr.files.list": PULL,
    "pr.list": REPOSITORY,
    "pr.merge": PULL,
    "pr.merge.status": PULL,
    "pr.reactions.list": PULL,
    "pr.ready": draft_pull,
    "pr.reopen": closed_pull,
    "pr.reviews.list": PULL,
    "pr.reviews.request": {**PULL, "reviewers": ["octo"]},
    "pr.reviews.submit": {
        **PULL,
        "event": "COMMENT",
        "body": "Hm.",
        "comments": [{"path": "src/b.py", "line": 1, "body": "b?"}],
    },
    "pr.threads.list": PULL,
    "pr.threads.reply": a_reply,
    "pr.threads.resolve": open_thread,
    "pr.threads.unresolve": settled_thread,
    "pr.update": {**PULL, "title": "Another title"},
    "pr.view": PULL,
}
