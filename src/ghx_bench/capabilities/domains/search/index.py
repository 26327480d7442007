"""What there is in the domain `search`."""

from ghx_bench.capabilities.entries import Entry

_INPUTS = "query [first] [after]"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "search.code",
        "code",
        "reads",
        _INPUTS,
        "Search files by their text, such as `parse_date repo:octocat/hello-world path:src language:python`.",
    ),
    Entry(
        "search.issues",
        "conversations",
        "reads",
        _INPUTS,
        "Search issues, such as `crash repo:octocat/hello-world is:open label:bug sort:updated-desc`.",
    ),
    Entry(
        "search.prs",
        "conversations",
        "reads",
        _INPUTS,
        "Search pull requests, such as `fix repo:octocat/hello-world is:merged author:hubot`.",
    ),
)
