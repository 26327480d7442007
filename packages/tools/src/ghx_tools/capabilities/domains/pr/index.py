"""Index of the domain `pr`."""

from ghx_tools.capabilities.entries import ANYTHING, ONE_OBJECT, Entry, mutation, one_object_unless, query

_PULL = "owner name prNumber"
_PAGES = "[first] [after]"

ENTRIES: tuple[Entry, ...] = (
    mutation(
        "pr.assignees.add",
        "assignees",
        f"{_PULL} assignees",
        "Assign more people to a pull request; who is assigned already stays.",
        reach=ONE_OBJECT,
    ),
    mutation(
        "pr.assignees.remove", "assignees", f"{_PULL} assignees", "Take people off a pull request.", reach=ONE_OBJECT
    ),
    mutation(
        "pr.branch.update",
        "branch",
        _PULL,
        "Bring the branch of a pull request up to date by merging its base into it.",
        reach=ANYTHING,  # moves a branch, which other pull requests may have as theirs
    ),
    query(
        "pr.checks.list",
        "checks",
        f"{_PULL} [state]",
        "List the checks of a pull request, and how many failed, are pending or passed.",
    ),
    mutation(
        "pr.checks.rerun.all",
        "reruns",
        f"{_PULL} runId",
        "Run all jobs of a workflow run of a pull request again.",
        reach=ANYTHING,  # the run is for a commit, and so for every pull request that has it
    ),
    mutation(
        "pr.checks.rerun.failed",
        "reruns",
        f"{_PULL} runId",
        "Run only the failed jobs of a workflow run of a pull request again.",
        reach=ANYTHING,  # as for rerun.all
    ),
    mutation(
        "pr.close",
        "state",
        f"{_PULL} [deleteBranch] [comment]",
        "Close a pull request without merging it; may comment on it and delete its branch.",
        # Other pull requests may have the branch. A comment is a change before the one that closes: nothing of another
        # step may come between the two.
        reach=one_object_unless("deleteBranch", "comment"),
    ),
    mutation(
        "pr.comments.create",
        "comments",
        f"{_PULL} body",
        "Comment on a pull request as a whole; `pr.threads.reply` answers in a review thread.",
        reach=ONE_OBJECT,
    ),
    query(
        "pr.comments.list",
        "comments",
        f"{_PULL} {_PAGES}",
        "List the comments on a pull request as a whole, oldest first; those on code are in `pr.threads.list`.",
    ),
    query(
        "pr.comments.reactions.list",
        "reactions",
        f"{_PULL} {_PAGES} [reactorLogin] [content]",
        "List who reacted to the comments of a pull request, and how.",
    ),
    query("pr.commits.list", "commits", f"{_PULL} {_PAGES}", "List the commits of a pull request, oldest first."),
    mutation(
        "pr.create",
        "creation",
        "owner name title [body] head base [draft]",
        "Open a pull request from one branch to another.",
        reach=ANYTHING,  # GitHub refuses it while another pull request has the same branches
    ),
    query(
        "pr.diff.files",
        "diff",
        f"{_PULL} {_PAGES}",
        "List the files that a pull request changes, with counts of lines; short.",
    ),
    query("pr.diff.view", "diff", _PULL, "Read everything a pull request changes as one unified diff."),
    query(
        "pr.files.list", "diff", f"{_PULL} {_PAGES}", "List the files that a pull request changes, with their patches."
    ),
    query(
        "pr.list",
        "listing",
        f"owner name [state] {_PAGES}",
        "List the pull requests of a repository, newest first; open ones unless told otherwise.",
    ),
    mutation(
        "pr.merge",
        "merge",
        f"{_PULL} [method] [deleteBranch] [admin] [auto]",
        "Merge a pull request, now or as soon as it can be; may delete its branch.",
        reach=ANYTHING,  # moves the base branch, and closes issues
    ),
    query("pr.merge.status", "merge", _PULL, "Read whether a pull request can be merged, and what holds it up."),
    query(
        "pr.reactions.list",
        "reactions",
        f"{_PULL} [reactorLogin] [content]",
        "List who reacted to what a pull request says, and how.",
    ),
    mutation(
        "pr.ready",
        "update",
        _PULL,
        "Mark a draft pull request as ready to be reviewed.",
        reach=ANYTHING,  # may be what an automatic merge waits for
    ),
    mutation(
        "pr.reopen",
        "state",
        _PULL,
        "Open a closed pull request again.",
        reach=ANYTHING,  # GitHub refuses it while another pull request has the same branches
    ),
    query("pr.reviews.list", "reviews", f"{_PULL} {_PAGES}", "List the reviews of a pull request, oldest first."),
    mutation(
        "pr.reviews.request",
        "review_requests",
        f"{_PULL} reviewers",
        "Ask people to review a pull request; who is asked already stays so.",
        reach=ONE_OBJECT,
    ),
    mutation(
        "pr.reviews.submit",
        "reviews",
        f"{_PULL} event [body] [comments]",
        "Review a pull request: approve, comment or request changes, with comments on lines of the diff.",
        reach=one_object_unless("event=APPROVE"),  # may be what an automatic merge waits for
    ),
    query(
        "pr.threads.list",
        "threads",
        f"{_PULL} {_PAGES} [unresolvedOnly] [includeOutdated]",
        "List review threads with all of their comments; unresolved ones unless told otherwise.",
    ),
    mutation("pr.threads.reply", "thread_changes", "threadId body", "Answer in a review thread.", reach=ONE_OBJECT),
    mutation("pr.threads.resolve", "thread_changes", "threadId", "Mark a review thread as resolved.", reach=ONE_OBJECT),
    mutation(
        "pr.threads.unresolve", "thread_changes", "threadId", "Mark a resolved review thread as open.", reach=ONE_OBJECT
    ),
    mutation(
        "pr.update",
        "update",
        f"{_PULL} [title] [body] [draft]",
        "Change the title or the body of a pull request, or whether it is a draft.",
        reach=one_object_unless("draft"),  # as for pr.ready
    ),
    query(
        "pr.view",
        "view",
        f"{_PULL} [exclude]",
        "Read a pull request: title, state, body, branches, labels, assignees, milestone, who is asked to review it.",
    ),
)
