"""Index of the domain `issue`."""

from ghx_tools.capabilities.entries import ANYTHING, NEW_ISSUE, ONE_OBJECT, Entry, deletion, mutation, query

_ISSUE = "owner name issueNumber"

ENTRIES: tuple[Entry, ...] = (
    mutation(
        "issue.assignees.add",
        "assignees",
        f"{_ISSUE} assignees",
        "Assign more people to an issue or pull request; who is assigned already stays.",
        reach=ONE_OBJECT,
    ),
    mutation(
        "issue.assignees.remove",
        "assignees",
        f"{_ISSUE} assignees",
        "Take people off an issue or pull request.",
        reach=ONE_OBJECT,
    ),
    mutation(
        "issue.assignees.set",
        "assignees",
        f"{_ISSUE} assignees",
        "Assign exactly these people to an issue or pull request; an empty list assigns nobody.",
        reach=ONE_OBJECT,
    ),
    mutation("issue.close", "state", _ISSUE, "Close an issue.", reach=ONE_OBJECT),
    mutation(
        "issue.comments.create", "comments", f"{_ISSUE} body", "Comment on an issue or pull request.", reach=ONE_OBJECT
    ),
    query(
        "issue.comments.list",
        "comments",
        f"{_ISSUE} [first] [after]",
        "List the comments of an issue or pull request, oldest first.",
    ),
    mutation("issue.create", "creation", "owner name title [body]", "Open a new issue.", reach=NEW_ISSUE),
    deletion("issue.delete", "deletion", _ISSUE, "Delete an issue for good, with all of its comments."),
    mutation(
        "issue.labels.add",
        "labels",
        f"{_ISSUE} labels",
        "Put more labels on an issue or pull request; its others stay.",
        reach=ONE_OBJECT,
    ),
    query(
        "issue.labels.list",
        "labels",
        f"{_ISSUE} [first] [after]",
        "List the labels of an issue or pull request, described.",
    ),
    mutation(
        "issue.labels.remove",
        "labels",
        f"{_ISSUE} labels",
        "Remove labels from an issue or pull request.",
        reach=ONE_OBJECT,
    ),
    mutation(
        "issue.labels.set",
        "labels",
        f"{_ISSUE} labels",
        "Give an issue or pull request exactly these labels; an empty list takes all off.",
        reach=ONE_OBJECT,
    ),
    query(
        "issue.list",
        "listing",
        "owner name [state] [first] [after]",
        "List the issues of a repository, newest first; open ones unless told otherwise.",
    ),
    mutation(
        "issue.milestone.clear",
        "milestone",
        _ISSUE,
        "Take an issue or pull request out of its milestone.",
        reach=ONE_OBJECT,
    ),
    mutation(
        "issue.milestone.set",
        "milestone",
        f"{_ISSUE} milestoneNumber",
        "Put an issue or pull request into a milestone, given by its number.",
        reach=ONE_OBJECT,
    ),
    # Relations name issues by node id, which cannot be compared with the numbers that other steps name them by.
    mutation(
        "issue.relations.blocked_by.add",
        "relations",
        "issueId blockedByIssueId",
        "Note that an issue is blocked by another; both by node id.",
        reach=ANYTHING,
    ),
    mutation(
        "issue.relations.blocked_by.remove",
        "relations",
        "issueId blockedByIssueId",
        "Note that an issue is blocked by another no more; both by node id.",
        reach=ANYTHING,
    ),
    mutation(
        "issue.relations.parent.remove",
        "relations",
        "issueId",
        "Detach a sub-issue, given by node id, from its parent.",
        reach=ANYTHING,
    ),
    mutation(
        "issue.relations.parent.set",
        "relations",
        "issueId parentIssueId",
        "Make an issue a sub-issue of another, moving it if it has a parent; both by node id.",
        reach=ANYTHING,
    ),
    query(
        "issue.relations.prs.list",
        "linked_pulls",
        _ISSUE,
        "List the pull requests that mention an issue or are to close it.",
    ),
    query(
        "issue.relations.view",
        "relations",
        _ISSUE,
        "Read the parent and the sub-issues of an issue, and what it is blocked by.",
    ),
    mutation("issue.reopen", "state", _ISSUE, "Open a closed issue again.", reach=ONE_OBJECT),
    query(
        "issue.timeline.list",
        "timeline",
        f"{_ISSUE} [first] [after]",
        "List what happened to an issue or pull request, oldest first: comments, labels, review requests, state.",
    ),
    mutation(
        "issue.update",
        "update",
        f"{_ISSUE} [title] [body]",
        "Change the title or the body of an issue.",
        reach=ONE_OBJECT,
    ),
    query("issue.view", "view", _ISSUE, "Read an issue: title, state, body, labels, assignees, milestone."),
)
