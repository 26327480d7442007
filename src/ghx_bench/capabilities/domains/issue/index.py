"""What there is in the domain `issue`."""

from ghx_bench.capabilities.entries import Entry

_ISSUE = "owner name issueNumber"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "issue.assignees.add",
        "assignees",
        "mutates",
        f"{_ISSUE} assignees",
        "Assign more people to an issue or pull request; who is assigned already stays.",
    ),
    Entry(
        "issue.assignees.remove",
        "assignees",
        "mutates",
        f"{_ISSUE} assignees",
        "Take people off an issue or pull request.",
    ),
    Entry(
        "issue.assignees.set",
        "assignees",
        "mutates",
        f"{_ISSUE} assignees",
        "Assign exactly these people to an issue or pull request; an empty list assigns nobody.",
    ),
    Entry("issue.close", "state", "mutates", _ISSUE, "Close an issue."),
    Entry("issue.comments.create", "comments", "mutates", f"{_ISSUE} body", "Comment on an issue or pull request."),
    Entry(
        "issue.comments.list",
        "comments",
        "reads",
        f"{_ISSUE} [first] [after]",
        "List the comments of an issue or pull request, oldest first.",
    ),
    Entry("issue.create", "creation", "mutates", "owner name title [body]", "Open a new issue."),
    Entry("issue.delete", "deletion", "destructive", _ISSUE, "Delete an issue for good, with all of its comments."),
    Entry(
        "issue.labels.add",
        "labels",
        "mutates",
        f"{_ISSUE} labels",
        "Put more labels on an issue or pull request; its others stay.",
    ),
    Entry(
        "issue.labels.list",
        "labels",
        "reads",
        f"{_ISSUE} [first] [after]",
        "List the labels of an issue or pull request, described.",
    ),
    Entry(
        "issue.labels.remove", "labels", "mutates", f"{_ISSUE} labels", "Remove labels from an issue or pull request."
    ),
    Entry(
        "issue.labels.set",
        "labels",
        "mutates",
        f"{_ISSUE} labels",
        "Give an issue or pull request exactly these labels; an empty list takes all off.",
    ),
    Entry(
        "issue.list",
        "listing",
        "reads",
        "owner name [state] [first] [after]",
        "List the issues of a repository, newest first; open ones unless told otherwise.",
    ),
    Entry(
        "issue.milestone.clear", "milestone", "mutates", _ISSUE, "Take an issue or pull request out of its milestone."
    ),
    Entry(
        "issue.milestone.set",
        "milestone",
        "mutates",
        f"{_ISSUE} milestoneNumber",
        "Put an issue or pull request into a milestone, given by its number.",
    ),
    Entry(
        "issue.relations.blocked_by.add",
        "relations",
        "mutates",
        "issueId blockedByIssueId",
        "Note that an issue is blocked by another; both by node id.",
    ),
    Entry(
        "issue.relations.blocked_by.remove",
        "relations",
        "mutates",
        "issueId blockedByIssueId",
        "Note that an issue is blocked by another no more; both by node id.",
    ),
    Entry(
        "issue.relations.parent.remove",
        "relations",
        "mutates",
        "issueId",
        "Detach a sub-issue, given by node id, from its parent.",
    ),
    Entry(
        "issue.relations.parent.set",
        "relations",
        "mutates",
        "issueId parentIssueId",
        "Make an issue a sub-issue of another, moving it if it has a parent; both by node id.",
    ),
    Entry(
        "issue.relations.prs.list",
        "linked_pulls",
        "reads",
        _ISSUE,
        "List the pull requests that mention an issue or are to close it.",
    ),
    Entry(
        "issue.relations.view",
        "relations",
        "reads",
        _ISSUE,
        "Read the parent and the sub-issues of an issue, and what it is blocked by.",
    ),
    Entry("issue.reopen", "state", "mutates", _ISSUE, "Open a closed issue again."),
    Entry(
        "issue.timeline.list",
        "timeline",
        "reads",
        f"{_ISSUE} [first] [after]",
        "List what happened to an issue or pull request, oldest first: comments, labels, review requests, state.",
    ),
    Entry("issue.update", "update", "mutates", f"{_ISSUE} [title] [body]", "Change the title or the body of an issue."),
    Entry("issue.view", "view", "reads", _ISSUE, "Read an issue: title, state, body, labels, assignees, milestone."),
)
