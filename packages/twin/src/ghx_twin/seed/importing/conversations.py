"""Imports issues and pull requests with their comments, reviews and threads."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ghx_twin.seed.conversations import SeedComment, SeedIssue, SeedPull, SeedReview, SeedThread
from ghx_twin.seed.format import Emoji
from ghx_twin.seed.importing.accounts import People
from ghx_twin.seed.importing.github import GitHubReader, Json

_EMOJIS = frozenset(get_args(Emoji))
_REASONS = {"open": {"reopened"}, "closed": {"completed", "not_planned", "duplicate"}}
_LOCKS = frozenset({"off-topic", "too heated", "resolved", "spam"})
_MINIMIZED = "... on Minimizable { isMinimized minimizedReason }"
_NAMED = "{ number repository { nameWithOwner } }"
_RELATIONS = (
    "parent { number repository { nameWithOwner } subIssues(first: 100) { nodes { number } } }"
    " linkedBranches(first: 100) { nodes { ref { name repository { nameWithOwner } } } }"
)
_ISSUE_DETAILS = (  # the first that a server understands: older ones lack the newest fields
    f"... on Issue {{ isPinned {_RELATIONS} blockedBy(first: 100) {{ nodes {_NAMED} }} duplicateOf {_NAMED} }}",
    f"... on Issue {{ isPinned {_RELATIONS} }}",
    "... on Issue { isPinned }",
)
_THREADS = (
    "reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor }"
    " nodes { resolvedBy { login } comments(first: 1) { nodes { databaseId } } } }"
)
_PULL_DETAILS = (
    "... on PullRequest { autoMergeRequest { enabledAt } "
    + _THREADS.replace(", after: $after", "")
    + " reviews(first: 100) { nodes { databaseId reactions(first: 20) { nodes { content user { login } } } } } }"
)
_MORE_THREADS = f"query($id: ID!, $after: String) {{ node(id: $id) {{ ... on PullRequest {{ {_THREADS} }} }} }}"
_CONTENTS = {"THUMBS_UP": "+1", "THUMBS_DOWN": "-1"}
Comments = dict[int, tuple[SeedComment, ...]]
"""Comments by the number of their issue or pull request."""

_EMPTY = "(empty)"  # old comments may be, and new ones are refused
_REPORT_EVERY = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversations:
    """What is read of a repository: its API, and which part of it."""

    github: GitHubReader
    people: People
    repository: str  # owner/name

    @property
    def path(self) -> str:
        """Return where the API has the repository."""
        return f"/repos/{self.repository}"

    def find(self, *, issues: int | None, pulls: int | None, since: str | None) -> tuple[list[Json], list[Json]]:
        """Return the newest issues and pull requests as the list of issues shows them, by number."""
        query: dict[str, Any] = {} if since is None else {"since": since}
        limits: dict[bool, int | None] = {False: issues, True: pulls}
        numbers_by_kind: dict[bool, list[Json]] = {False: [], True: []}
        for each in self.github.pages(f"{self.path}/issues", state="all", sort="created", direction="desc", **query):
            is_pull = "pull_request" in each
            if (most := limits[is_pull]) is None or len(numbers_by_kind[is_pull]) < most:
                numbers_by_kind[is_pull].append(each)
            if all(most is not None and len(numbers_by_kind[kind]) >= most for kind, most in limits.items()):
                break
        for each in numbers_by_kind.values():
            each.sort(key=lambda one: int(one["number"]))
        return numbers_by_kind[False], numbers_by_kind[True]

    def import_comments(self, conversations: list[Json]) -> Comments:
        """Return the comments of conversations by number."""
        numbers = {int(each["number"]) for each in conversations if each["comments"]}
        if not numbers:
            return {}
        # All comments since the oldest conversation, a hundred at a time: one request for each would be many more.
        since = min(str(each["created_at"]) for each in conversations)
        listed: dict[int, list[Json]] = {}
        for each in self.github.pages(f"{self.path}/issues/comments", sort="created", direction="asc", since=since):
            number = int(str(each["issue_url"]).rpartition("/")[2])
            if number in numbers:
                listed.setdefault(number, []).append(each)
        minimized = self._minimized(each for written in listed.values() for each in written)
        comments: dict[int, tuple[SeedComment, ...]] = {}
        for position, (number, written) in enumerate(listed.items(), 1):
            self._report_progress(f"comments of conversations: {position} of {len(listed)}", position)
            in_order = sorted(written, key=lambda one: int(one["id"]))
            fields = (self._comment(each, minimized, f"/issues/comments/{each['id']}") for each in in_order)
            comments[number] = tuple(SeedComment.model_validate(each) for each in fields)
        return comments

    def import_issues(self, issues: list[Json], talk: Comments) -> tuple[SeedIssue, ...]:
        """Return issues with their comments, and how they hang together as far as all of them are imported."""
        details = self._issue_details([str(each["node_id"]) for each in issues])
        numbers = {int(each["number"]) for each in issues}
        issue_seeds: list[SeedIssue] = []
        for each in issues:
            detail = details.get(str(each["node_id"]), {})
            kind: Json = each.get("type") or {}
            own: Json = {
                "state": each["state"],
                "state_reason": _one_of(each.get("state_reason"), _REASONS[each["state"]]),
                "pinned": bool(detail.get("isPinned")),
                "issue_type": _one_of(kind.get("name"), self.people.issue_types),
                **self._relations(each, detail, numbers),
            }
            issue_seeds.append(
                SeedIssue.model_validate({**self._conversation(each, talk.get(each["number"], ())), **own})
            )
        return tuple(issue_seeds)

    def import_pulls(self, pulls: list[Json], talk: Comments) -> tuple[SeedPull, ...]:
        """Return pull requests with their reviews and threads."""
        details = self.github.nodes(
            "resolved threads", [str(each["node_id"]) for each in pulls], _PULL_DETAILS, at_once=10
        )
        pull_seeds: list[SeedPull] = []
        for position, each in enumerate(pulls, 1):
            self._report_progress(f"pull requests: {position} of {len(pulls)}", position)
            own = self._pull(each["number"], details.get(str(each["node_id"]), {}))
            pull_seeds.append(
                SeedPull.model_validate({**self._conversation(each, talk.get(each["number"], ())), **own})
            )
        return tuple(pull_seeds)

    def _report_progress(self, line: str, position: int) -> None:
        if position % _REPORT_EVERY == 0:
            self.github.say(line)

    def _issue_details(self, identities: list[str]) -> dict[str, Json]:
        for selection in _ISSUE_DETAILS:
            nodes = self.github.nodes("parents and blockers of issues", identities, selection)
            if nodes:
                return nodes
        return {}

    def _relations(self, content: Json, detail: Json, numbers: set[int]) -> Json:
        """Return how an issue is related to others, as far as these are imported."""
        parent = self._issue_name(detail.get("parent"), numbers)
        siblings = [each["number"] for each in detail["parent"]["subIssues"]["nodes"]] if parent else []
        is_known = content["number"] in siblings  # they are told up to a hundred
        blocking: Json = detail.get("blockedBy") or {"nodes": ()}
        linked: Json = detail.get("linkedBranches") or {"nodes": ()}
        branches: list[Json] = [each["ref"] for each in linked["nodes"] if each["ref"]]
        is_duplicate = content.get("state_reason") == "duplicate"
        return {
            "parent": parent,
            "sub_issue_position": siblings.index(content["number"]) + 1 if is_known else None,
            "blocked_by": tuple(name for one in blocking["nodes"] if (name := self._issue_name(one, numbers))),
            "linked_branches": tuple(
                each["name"] for each in branches if each["repository"]["nameWithOwner"] == self.repository
            ),
            "duplicate_of": self._issue_name(detail.get("duplicateOf"), numbers) if is_duplicate else None,
        }

    def _issue_name(self, issue: Json | None, numbers: set[int]) -> str | None:
        if issue is None or issue["repository"]["nameWithOwner"] != self.repository or issue["number"] not in numbers:
            return None
        return f"{self.repository}#{issue['number']}"

    def _conversation(self, content: Json, comments: tuple[SeedComment, ...]) -> dict[str, Any]:
        milestone: Json | None = content["milestone"]
        is_closed = content["state"] == "closed"
        return {
            **{name: content[name] for name in ("number", "title", "body", "locked", "updated_at", "closed_at")},
            "author": self.people.writer(content["user"], content.get("author_association")),
            "labels": tuple(each["name"] for each in content["labels"]),
            "assignees": tuple(self.people.login(each) for each in content["assignees"]),
            "milestone": None if milestone is None else milestone["title"],
            "comments": comments,
            "reactions": self._reactions(content, f"/issues/{content['number']}"),
            "lock_reason": _one_of(content["active_lock_reason"], _LOCKS) if content["locked"] else None,
            "at": content["created_at"],
            "closed_by": self.people.login(content.get("closed_by")) if is_closed else None,
        }

    def _minimized(self, written: Iterable[Json]) -> dict[str, str]:
        """Return why comments are hidden, by global id; GraphQL alone tells."""
        nodes = self.github.nodes(
            "hidden comments", [str(each["node_id"]) for each in written], _MINIMIZED, at_once=100
        )
        return {name: _lower(each) for name, each in nodes.items() if each.get("isMinimized")}

    def _comment(self, content: Json, minimized: Mapping[str, str], path: str) -> dict[str, Any]:
        return {
            "author": self.people.writer(content["user"], content.get("author_association")),
            "body": content["body"] if (content["body"] or "").strip() else _EMPTY,
            "at": content["created_at"],
            "updated_at": None if content["updated_at"] == content["created_at"] else content["updated_at"],
            "minimized_reason": minimized.get(str(content["node_id"])),
            "reactions": self._reactions(content, path),
        }

    def _reactions(self, content: Json, path: str) -> dict[str, tuple[str, ...]]:
        """Return who reacted to something, by emoji; asked for where there are any."""
        if not content.get("reactions", {}).get("total_count"):
            return {}
        reactions: dict[str, tuple[str, ...]] = {}
        for each in self.github.pages(f"{self.path}{path}/reactions"):
            if each["content"] in _EMOJIS:
                reactions[each["content"]] = (*reactions.get(each["content"], ()), self.people.login(each["user"]))
        return reactions

    def _pull(self, number: int, detail: Json) -> dict[str, Any]:
        pull = self.github.get(f"{self.path}/pulls/{number}")
        reviews = [
            each for each in self.github.pages(f"{self.path}/pulls/{number}/reviews") if each["state"] != "PENDING"
        ]
        identities = [int(each["id"]) for each in reviews]
        threads = self._threads(number, identities, detail) if pull.get("review_comments") != 0 else ()
        head, is_merged = pull["head"], pull["merged_at"] is not None
        home: Json | None = head["repo"]
        label: str = head["ref"]
        if home is not None and home["full_name"] != self.repository:
            label = f"{self.people.login(home['owner'])}:{label}"
        return {
            "head": label,
            "base": pull["base"]["ref"],
            "draft": pull["draft"],
            "maintainer_can_modify": bool(pull.get("maintainer_can_modify")),
            "state": "merged" if is_merged else pull["state"],
            "merged_by": self.people.optional_login(pull.get("merged_by")) if is_merged else None,
            "reviewers": (
                *(self.people.login(each) for each in pull["requested_reviewers"]),
                *(self.people.team(each) for each in pull["requested_teams"] if self.people.organization),
            ),
            "reviews": tuple(self._review(each, detail) for each in reviews),
            "threads": tuple(threads),
            "outcome": {
                "head_sha": head["sha"],
                "base_sha": pull["base"]["sha"],
                "head_repository": None if home is None else home["full_name"],
                "merge_commit_sha": pull["merge_commit_sha"] if is_merged else None,
                "auto_merge": self._auto_merge(pull["auto_merge"], detail),
            },
        }

    def _auto_merge(self, promise: Json | None, detail: Json) -> dict[str, Any] | None:
        if promise is None or not detail.get("autoMergeRequest"):
            return None
        return {
            "by": self.people.login(promise["enabled_by"]),
            "at": detail["autoMergeRequest"]["enabledAt"],
            "method": promise["merge_method"],
            "title": promise["commit_title"] or None,
            "message": promise["commit_message"] or None,
        }

    def _review(self, content: Json, detail: Json) -> SeedReview:
        reviews: Json = detail.get("reviews") or {"nodes": ()}
        reactions = [
            one
            for each in reviews["nodes"]
            if each["databaseId"] == content["id"]
            for one in each["reactions"]["nodes"]
        ]
        by_emoji: dict[str, tuple[str, ...]] = {}
        for each in reactions:  # REST has none of reviews
            emoji = _CONTENTS.get(each["content"], str(each["content"]).lower())
            by_emoji[emoji] = (*by_emoji.get(emoji, ()), self._login(each["user"]))
        return SeedReview.model_validate(
            {
                "author": self.people.writer(content["user"], content.get("author_association")),
                "state": content["state"],
                "body": content["body"] or "",
                "at": content["submitted_at"],
                "reactions": by_emoji,
                "commit_sha": content["commit_id"],
            }
        )

    def _threads(self, number: int, reviews: list[int], detail: Json) -> Iterable[SeedThread]:
        """Yield the threads of a pull request; each comment says which review it belongs to."""
        listed = list(self.github.pages(f"{self.path}/pulls/{number}/comments"))
        written = [each for each in listed if each["pull_request_review_id"] in reviews]
        if len(written) < len(listed):
            self.github.skip("comments on lines that belong to no submitted review")
        minimized = self._minimized(written)
        threads: dict[int, list[Json]] = {}
        for each in sorted(written, key=lambda one: int(one["id"])):
            threads.setdefault(each.get("in_reply_to_id") or each["id"], []).append(each)
        resolved = {
            each["comments"]["nodes"][0]["databaseId"]: each["resolvedBy"]
            for each in self._thread_nodes(detail)
            if each["resolvedBy"] and each["comments"]["nodes"]
        }
        for first, comments in threads.items():
            yield SeedThread.model_validate(
                {
                    **_place(comments[0]),
                    "resolved_by": self._login(resolved[first]) if first in resolved else None,
                    "comments": tuple(
                        {
                            **self._comment(each, minimized, f"/pulls/comments/{each['id']}"),
                            "review": reviews.index(each["pull_request_review_id"]) + 1,
                        }
                        for each in comments
                    ),
                }
            )

    def _thread_nodes(self, detail: Json) -> Iterable[Json]:
        """Yield what GraphQL tells of the threads of a pull request, all pages of it."""
        page: Json | None = detail.get("reviewThreads")
        while page is not None:
            yield from page["nodes"]
            cursor = {"id": detail["nodeId"], "after": page["pageInfo"]["endCursor"]}
            data = self.github.graphql(_MORE_THREADS, cursor) if page["pageInfo"]["hasNextPage"] else None
            page = None if data is None else data["node"]["reviewThreads"]

    def _login(self, account: Json | None) -> str:
        """Return the login of an account of which GraphQL told no more than that."""
        if account is None or account["login"] in self.people.seen:
            return self.people.login(None if account is None else self.people.seen[account["login"]])
        return self.people.login(self.github.get(f"/users/{account['login']}"))


def _place(comment: Json) -> dict[str, Any]:
    is_file = comment.get("subject_type") == "file"
    line = None if is_file else comment["line"]
    return {
        "path": comment["path"],
        "line": line,
        "start_line": comment["start_line"],
        "side": comment.get("side") or "RIGHT",
        "place": {
            "commit_sha": comment["commit_id"],
            "original_commit_sha": comment["original_commit_id"],
            "subject_type": "file" if is_file else "line",
            "start_side": comment["start_side"],
            "original_line": None if is_file else comment.get("original_line"),
            "original_start_line": comment["original_start_line"],
            "original_position": None if is_file else comment.get("original_position"),
            "outdated": line is None and not is_file,
            "diff_hunk": comment["diff_hunk"],
        },
    }


def _one_of(value: str | None, choices: Container[str | None]) -> str | None:
    return value if value in choices else None


def _lower(minimized: Json) -> str:
    return str(minimized.get("minimizedReason") or "off-topic").lower()
