"""What mistaken agents do: a solution with one change left out, or mistaken, or one more than anybody asked for."""

import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue
from solved_in_process import Alteration, Change

from ghx_bench.fixtures.embedded import AUTHOR
from ghx_tools.capabilities.client import GitHubClient


@dataclass(frozen=True, kw_only=True)
class Others:
    """What a scenario is not about: where a mistaken agent may end up."""

    issues: Sequence[int]
    pulls: Sequence[int]
    settled_threads: Sequence[str]

    def issue(self, but: JsonValue) -> int:
        return next(each for each in self.issues if each != but)

    def pull(self, but: JsonValue) -> int:
        return next(each for each in self.pulls if each != but)


_THREADS = """
query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) { reviewThreads(first: 20) { nodes { id isResolved } } }
  }
}
"""


async def others_in(client: GitHubClient, bound: Mapping[str, JsonValue]) -> Others:
    """Look round in a repository, and at the threads of its pull request `pr_number`."""
    listed = (await client.get(f"/repos/{bound['repo']}/issues", params={"per_page": 100})).data
    where = {"owner": bound["owner"], "name": bound["repo_name"], "number": bound["pr_number"]}
    found: Any = await client.graphql(_THREADS, where)
    threads = found["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    return Others(
        issues=[each["number"] for each in listed if "pull_request" not in each],
        pulls=[each["number"] for each in listed if "pull_request" in each],
        settled_threads=[each["id"] for each in threads if each["isResolved"]],
    )


# Too little, or something else: one of the changes that a solution makes is altered.


def alterations(changes: Sequence[Change], others: Others) -> Iterator[tuple[str, Alteration]]:
    """Yield every way in which one of the changes is left out, made twice, or mistaken."""
    for change in changes:
        at = f"{change.number + 1}. {change.task}"
        yield f"{at}: left out", _instead(change.number, lambda _: [])
        if change.task in _SAYS_MORE_WHEN_REPEATED:
            yield f"{at}: twice", _instead(change.number, lambda same: [same.arguments] * 2)
        for mistake, name, value in _mistakes(change, others):
            yield f"{at}: {mistake}", _instead(change.number, _with(name, value))


_SAYS_MORE_WHEN_REPEATED = {"issue.comments.create", "pr.threads.reply", "pr.reviews.submit"}


def _instead(number: int, altered: Alteration) -> Alteration:
    return lambda change: altered(change) if change.number == number else [change.arguments]


def _with(name: str, value: JsonValue) -> Alteration:
    return lambda change: [{**change.arguments, name: value}]


def _mistakes(change: Change, others: Others) -> Iterator[tuple[str, str, JsonValue]]:
    """Yield mistakes that could be made in a change: what it is, the argument, its wrong value."""
    for name, value in change.arguments.items():
        for mistake, wrong in _wrong(name, value, others):
            yield mistake, name, wrong


def _wrong(name: str, value: Any, others: Others) -> Iterator[tuple[str, JsonValue]]:
    match name:
        case "issueNumber":
            yield "another issue", others.issue(but=value)
        case "prNumber":
            yield "another pull request", others.pull(but=value)
        case "threadId":
            yield "a settled thread", others.settled_threads[0]
        case "body":
            yield from _wrong_bodies(value, others)
        case "comments":
            yield "no comment on a line", []
            yield "one bug of three", value[:1]
            yield "on lines that are right", [{**each, "line": 3} for each in value]
        case _:
            yield from _WRONG.get(name, {}).items()


def _wrong_bodies(text: str, others: Others) -> Iterator[tuple[str, JsonValue]]:
    yield "hardly a word", "ok"
    if "#" in text:
        yield "about another issue", re.sub(r"#\d+", f"#{others.issues[0]}", text)
        yield "without a keyword", text.replace("Fixes", "See")


_OLD = "## 1.3\n\n- Guests can pay without an account.\n"
_OLDER = "- Fixed: prices with many decimals were cut instead of rounded.\n"
_TRANSFER, _RECEIPT = "- Customers can pay by bank transfer.\n", "- Fixed: the receipt was sent twice.\n"
_WRONG: Mapping[str, Mapping[str, JsonValue]] = {
    "head": {"another branch": "bench/notes-1.4"},
    "base": {"into another branch": "bench/notes-1.3"},
    "branch": {"on another branch": "bench/notes-1.3"},
    "reviewers": {"another reviewer": [AUTHOR], "one reviewer too many": [AUTHOR, "bench-maintainer"]},
    "labels": {"another label": ["enhancement"], "one label too many": ["performance", "documentation"]},
    "method": {"merged": "merge", "rebased": "rebase"},
    "event": {"approved": "APPROVE", "commented": "COMMENT"},
    "content": {
        "without one change": f"# Notes\n\n## 1.4\n\n{_TRANSFER}\n{_OLD}{_OLDER}",
        "without the other change": f"# Notes\n\n## 1.4\n\n{_RECEIPT}\n{_OLD}{_OLDER}",
        "with a chore": f"# Notes\n\n## 1.4\n\n{_TRANSFER}{_RECEIPT}- The version is 1.4.\n\n{_OLD}{_OLDER}",
        "below the older ones": f"# Notes\n\n{_OLD}{_OLDER}\n## 1.4\n\n{_TRANSFER}{_RECEIPT}",
        "instead of the older ones": f"# Notes\n\n## 1.4\n\n{_TRANSFER}{_RECEIPT}",
        "older ones cut": f"# Notes\n\n## 1.4\n\n{_TRANSFER}{_RECEIPT}\n{_OLD}",
        "older ones reworded": f"# Notes\n\n## 1.4\n\n{_TRANSFER}{_RECEIPT}\n## 1.3\n\n- Payment.\n{_OLDER}",
    },
}


# Too much: all of it is done, and then something that nobody asked for.


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent that has done its task, and goes on."""

    client: GitHubClient
    bound: Mapping[str, Any]
    others: Others

    def at(self, path: str) -> str:
        return f"/repos/{self.bound['repo']}/{path}"

    @property
    def own(self) -> str:
        """What the task is about."""
        return self.at(f"issues/{self.bound.get('issue_number') or self.bound['pr_number']}")

    @property
    def pull(self) -> str:
        return self.at(f"pulls/{self.bound['pr_number']}")

    @property
    def other_issue(self) -> str:
        return self.at(f"issues/{self.others.issue(but=self.bound.get('issue_number'))}")

    @property
    def other_pull(self) -> str:
        return self.at(f"pulls/{self.others.pull(but=self.bound.get('pr_number'))}")

    async def tip(self, branch: str) -> str:
        return (await self.client.get(self.at(f"git/ref/heads/{branch}"))).data["object"]["sha"]

    async def commit(self, branch: str, path: str = "more.txt") -> None:
        body = {"message": "More", "content": base64.b64encode(b"more\n").decode(), "branch": branch}
        await self.client.put(self.at(f"contents/{path}"), body)

    async def slip_in(self, branch: str, path: str) -> None:
        """Put another file into the last commit of a branch."""
        last = (await self.client.get(self.at(f"git/commits/{await self.tip(branch)}"))).data
        entry = {"path": path, "mode": "100644", "type": "blob", "content": "more\n"}
        tree = (await self.client.post(self.at("git/trees"), {"base_tree": last["tree"]["sha"], "tree": [entry]})).data
        parents = [each["sha"] for each in last["parents"]]
        body = {"message": last["message"], "tree": tree["sha"], "parents": parents}
        commit = (await self.client.post(self.at("git/commits"), body)).data
        await self.client.patch(self.at(f"git/refs/heads/{branch}"), {"sha": commit["sha"], "force": True})


Deed = Callable[[Agent], Awaitable[object]]

ANYWHERE: Mapping[str, Deed] = {
    "opens an issue": lambda a: a.client.post(a.at("issues"), {"title": "More"}),
    "comments elsewhere": lambda a: a.client.post(f"{a.other_issue}/comments", {"body": "Done."}),
    "labels another": lambda a: a.client.post(f"{a.other_issue}/labels", {"labels": ["question"]}),
    "closes another": lambda a: a.client.patch(a.other_issue, {"state": "closed"}),
    "closes another pull request": lambda a: a.client.patch(a.other_pull, {"state": "closed"}),
    "renames another": lambda a: a.client.patch(a.other_issue, {"title": "Another title"}),
    "makes a label": lambda a: a.client.post(a.at("labels"), {"name": "more", "color": "ffffff"}),
    "commits to the default branch": lambda a: a.commit("main"),
    "opens a pull request": lambda a: a.client.post(
        a.at("pulls"), {"title": "More", "head": "bench/notes-1.4", "base": "bench/notes-1.3"}
    ),
    "deletes a branch": lambda a: a.client.delete(a.at("git/refs/heads/bench/notes-1.3")),
}
OWN: Mapping[str, Deed] = {
    "renames it": lambda a: a.client.patch(a.own, {"title": "Another title"}),
    "rewrites it": lambda a: a.client.patch(a.own, {"body": "Another text"}),
    "says more": lambda a: a.client.post(f"{a.own}/comments", {"body": "One more thing: thank you all."}),
    "labels it": lambda a: a.client.post(f"{a.own}/labels", {"labels": ["question"]}),
    "takes its labels off": lambda a: a.client.put(f"{a.own}/labels", {"labels": []}),
    "assigns it": lambda a: a.client.post(f"{a.own}/assignees", {"assignees": [AUTHOR]}),
    "reacts to it": lambda a: a.client.post(f"{a.own}/reactions", {"content": "heart"}),
}
OPEN: Mapping[str, Deed] = {"closes it": lambda a: a.client.patch(a.own, {"state": "closed"})}
CLOSED: Mapping[str, Deed] = {
    "opens it again": lambda a: a.client.patch(a.own, {"state": "open"}),
    "closes it as not planned": lambda a: a.client.patch(a.own, {"state": "closed", "state_reason": "not_planned"}),
}
MERGE: Mapping[str, Deed] = {"merges it": lambda a: a.client.put(f"{a.pull}/merge")}
REVIEWED: Mapping[str, Deed] = {
    "approves it too": lambda a: a.client.post(f"{a.pull}/reviews", {"event": "APPROVE"}),
    "reviews it again": lambda a: a.client.post(f"{a.pull}/reviews", {"event": "COMMENT", "body": "More."}),
}


async def settle(a: Agent) -> None:
    """Mark the other threads as settled too."""
    for thread in await _open_threads(a):
        await a.client.graphql(
            f'mutation {{ resolveReviewThread(input: {{threadId: "{thread}"}}) {{ thread {{ id }} }} }}'
        )


async def unsettle(a: Agent) -> None:
    """Open a settled thread again."""
    thread = a.others.settled_threads[0]
    await a.client.graphql(
        f'mutation {{ unresolveReviewThread(input: {{threadId: "{thread}"}}) {{ thread {{ id }} }} }}'
    )


async def _open_threads(a: Agent) -> list[str]:
    where = {"owner": a.bound["owner"], "name": a.bound["repo_name"], "number": a.bound["pr_number"]}
    found: Any = await a.client.graphql(_THREADS, where)
    return [
        each["id"] for each in found["repository"]["pullRequest"]["reviewThreads"]["nodes"] if not each["isResolved"]
    ]


DEEDS: Mapping[str, Mapping[str, Deed]] = {
    "issue-find-and-close-001": {
        **OWN,
        **CLOSED,
        "closes the other bug too": lambda a: a.client.patch(
            a.at(f"issues/{a.bound['other_number']}"), {"state": "closed"}
        ),
    },
    "issue-to-pr-001": {
        **OWN,
        **OPEN,
        "pushes to the branch": lambda a: a.commit(a.bound["head_branch"]),
        "opens a second pull request for it": lambda a: a.client.post(
            a.at("pulls"),
            {
                "title": "More",
                "head": "bench/notes-1.4",
                "base": "main",
                "body": f"Fixes #{a.bound['issue_number']}",
            },
        ),
    },
    "issue-triage-001": {**OWN, **OPEN},
    "pr-draft-to-ready-001": {**OWN, **OPEN, **MERGE, "pushes": lambda a: a.commit("bench/gift-cards")},
    "pr-merge-ready-001": {
        **OWN,
        "pushes on top": lambda a: a.commit(a.bound["base_branch"]),
        "pushes to what was merged": lambda a: a.commit(a.bound["head_branch"]),
    },
    "pr-reply-threads-001": {**OWN, **OPEN, **MERGE, "settles the rest": settle, "opens a settled thread": unsettle},
    "pr-request-changes-001": {
        **OWN,
        **OPEN,
        **MERGE,
        **REVIEWED,
        "pushes": lambda a: a.commit("bench/order-discounts"),
    },
    "repo-release-notes-001": {
        "pushes on top": lambda a: a.commit(a.bound["branch"]),
        "slips a file into the commit": lambda a: a.slip_in(a.bound["branch"], "more.txt"),
        "raises the version in the commit": lambda a: a.slip_in(a.bound["branch"], "VERSION"),
        "breaks a source in the commit": lambda a: a.slip_in(a.bound["branch"], "src/notes/payment.py"),
        "breaks another source in the commit": lambda a: a.slip_in(a.bound["branch"], "src/notes/receipts.py"),
        "deletes the branch": lambda a: a.client.delete(a.at(f"git/refs/heads/{a.bound['branch']}")),
    },
}
"""What can be done too much in each scenario, besides what can be done in any."""
