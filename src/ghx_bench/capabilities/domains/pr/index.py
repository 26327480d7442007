"""What there is in the domain `pr`."""

from ghx_bench.capabilities.entries import Entry

_PULL = "owner name prNumber"
_PAGES = "[first] [after]"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "pr.assignees.add",
        "assignees",
        "mutates",
        f"{_PULL} assignees",
        "Assign more people to a pull request; who is assigned already stays.",
    ),
    Entry("pr.assignees.remove", "assignees", "mutates", f"{_PULL} assignees", "Take people off a pull request."),
    Entry(
        "pr.branch.update",
        "branch",
        "mutates",
        _PULL,
        "Bring the branch of a pull request up to date by merging its base into it.",
    ),
    Entry(
        "pr.checks.list",
        "checks",
        "reads",
        f"{_PULL} [state]",
        "List the checks of a pull request, and how many failed, are pending or passed.",
    ),
    Entry(
        "pr.checks.rerun.all",
        "reruns",
        "mutates",
        f"{_PULL} runId",
        "Run all jobs of a workflow run of a pull request again.",
    ),
    Entry(
        "pr.checks.rerun.failed",
        "reruns",
        "mutates",
        f"{_PULL} runId",
        "Run only the failed jobs of a workflow run of a pull request again.",
    ),
    Entry(
        "pr.close",
        "state",
        "mutates",
        f"{_PULL} [deleteBranch] [comment]",
        "Close a pull request without merging it; may comment on it and delete its branch.",
    ),
    Entry(
        "pr.comments.create",
        "comments",
        "mutates",
        f"{_PULL} body",
        "Comment on a pull request as a whole; `pr.threads.reply` answers in a review thread.",
    ),
    Entry(
        "pr.comments.list",
        "comments",
        "reads",
        f"{_PULL} {_PAGES}",
        "List the comments on a pull request as a whole, oldest first; those on code are in `pr.threads.list`.",
    ),
    Entry(
        "pr.comments.reactions.list",
        "reactions",
        "reads",
        f"{_PULL} {_PAGES} [reactorLogin] [content]",
        "List who reacted to the comments of a pull request, and how.",
    ),
    Entry(
        "pr.commits.list", "commits", "reads", f"{_PULL} {_PAGES}", "List the commits of a pull request, oldest first."
    ),
    Entry(
        "pr.create",
        "creation",
        "mutates",
        "owner name title [body] head base [draft]",
        "Open a pull request from one branch to another.",
    ),
    Entry(
        "pr.diff.files",
        "diff",
        "reads",
        f"{_PULL} {_PAGES}",
        "List the files that a pull request changes, with counts of lines; short.",
    ),
    Entry("pr.diff.view", "diff", "reads", _PULL, "Read everything a pull request changes as one unified diff."),
    Entry(
        "pr.files.list",
        "diff",
        "reads",
        f"{_PULL} {_PAGES}",
        "List the files that a pull request changes, with their patches.",
    ),
    Entry(
        "pr.list",
        "listing",
        "reads",
        f"owner name [state] {_PAGES}",
        "List the pull requests of a repository, newest first; open ones unless told otherwise.",
    ),
    Entry(
        "pr.merge",
        "merge",
        "mutates",
        f"{_PULL} [method] [deleteBranch] [admin] [auto]",
        "Merge a pull request, now or as soon as it can be; may delete its branch.",
    ),
    Entry(
        "pr.merge.status", "merge", "reads", _PULL, "Read whether a pull request can be merged, and what holds it up."
    ),
    Entry(
        "pr.reactions.list",
        "reactions",
        "reads",
        f"{_PULL} [reactorLogin] [content]",
        "List who reacted to what a pull request says, and how.",
    ),
    Entry("pr.ready", "update", "mutates", _PULL, "Mark a draft pull request as ready to be reviewed."),
    Entry("pr.reopen", "state", "mutates", _PULL, "Open a closed pull request again."),
    Entry(
        "pr.reviews.list", "reviews", "reads", f"{_PULL} {_PAGES}", "List the reviews of a pull request, oldest first."
    ),
    Entry(
        "pr.reviews.request",
        "review_requests",
        "mutates",
        f"{_PULL} reviewers",
        "Ask people to review a pull request; who is asked already stays so.",
    ),
    Entry(
        "pr.reviews.submit",
        "reviews",
        "mutates",
        f"{_PULL} event [body] [comments]",
        "Review a pull request: approve, comment or request changes, with comments on lines of the diff.",
    ),
    Entry(
        "pr.threads.list",
        "threads",
        "reads",
        f"{_PULL} {_PAGES} [unresolvedOnly] [includeOutdated]",
        "List review threads with all of their comments; unresolved ones unless told otherwise.",
    ),
    Entry("pr.threads.reply", "thread_changes", "mutates", "threadId body", "Answer in a review thread."),
    Entry("pr.threads.resolve", "thread_changes", "mutates", "threadId", "Mark a review thread as resolved."),
    Entry("pr.threads.unresolve", "thread_changes", "mutates", "threadId", "Mark a resolved review thread as open."),
    Entry(
        "pr.update",
        "update",
        "mutates",
        f"{_PULL} [title] [body] [draft]",
        "Change the title or the body of a pull request, or whether it is a draft.",
    ),
    Entry(
        "pr.view",
        "view",
        "reads",
        f"{_PULL} [exclude]",
        "Read a pull request: title, state, body, branches, labels, assignees, milestone, who is asked to review it.",
    ),
)
