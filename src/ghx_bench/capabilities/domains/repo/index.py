"""What there is in the domain `repo`."""

from ghx_bench.capabilities.entries import Entry

_PAGES = "[first] [after]"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "repo.branches.list",
        "refs",
        "reads",
        f"owner name {_PAGES}",
        "List the branches of a repository with the commit each is at.",
    ),
    Entry(
        "repo.commits.list",
        "commits",
        "reads",
        f"owner name [ref] [path] {_PAGES}",
        "List commits, newest first: of the default branch, or of a branch, tag or commit, or of one path.",
    ),
    Entry(
        "repo.contents.get",
        "contents",
        "reads",
        "owner name [path] [ref]",
        "Read a file, or list a folder, of a repository.",
    ),
    Entry(
        "repo.contents.put",
        "contents",
        "mutates",
        "owner name path content message [encoding] [branch] [sha]",
        "Write a file in one commit: a new one, or over one that is there.",
    ),
    Entry(
        "repo.file.delete",
        "contents",
        "destructive",
        "owner name path message [branch] [sha]",
        "Delete a file in one commit.",
    ),
    Entry(
        "repo.issue_types.list",
        "issue_types",
        "reads",
        f"owner name {_PAGES}",
        "List the types that issues of a repository can have.",
    ),
    Entry("repo.labels.list", "labels", "reads", f"owner name {_PAGES}", "List the labels of a repository."),
    Entry(
        "repo.tags.list", "refs", "reads", f"owner name {_PAGES}", "List the tags of a repository, newest name first."
    ),
    Entry("repo.view", "view", "reads", "owner name", "Read basic facts about a repository."),
)
