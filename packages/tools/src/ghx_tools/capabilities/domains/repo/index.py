"""Index of the domain `repo`."""

from ghx_tools.capabilities.entries import ANYTHING, Entry, deletion, mutation, query

_PAGES = "[first] [after]"

ENTRIES: tuple[Entry, ...] = (
    query(
        "repo.branches.list",
        "refs",
        f"owner name {_PAGES}",
        "List the branches of a repository with the commit each is at.",
    ),
    query(
        "repo.commits.list",
        "commits",
        f"owner name [ref] [path] {_PAGES}",
        "List commits, newest first: of the default branch, or of a branch, tag or commit, or of one path.",
    ),
    query(
        "repo.contents.get", "contents", "owner name [path] [ref]", "Read a file, or list a folder, of a repository."
    ),
    mutation(
        "repo.contents.put",
        "contents",
        "owner name path content message [encoding] [branch] [sha]",
        "Write a file in one commit: a new one, or over one that is there.",
        reach=ANYTHING,  # moves a branch, which pull requests may have as theirs
    ),
    deletion("repo.file.delete", "contents", "owner name path message [branch] [sha]", "Delete a file in one commit."),
    query(
        "repo.issue_types.list",
        "issue_types",
        f"owner name {_PAGES}",
        "List the types that issues of a repository can have.",
    ),
    query("repo.labels.list", "labels", f"owner name {_PAGES}", "List the labels of a repository."),
    query("repo.tags.list", "refs", f"owner name {_PAGES}", "List the tags of a repository, newest name first."),
    query("repo.view", "view", "owner name", "Read basic facts about a repository."),
)
