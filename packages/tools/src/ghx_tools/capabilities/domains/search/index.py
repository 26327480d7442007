"""Index of the domain `search`."""

from ghx_tools.capabilities.entries import Entry, query

_INPUTS = "query [first] [after]"

ENTRIES: tuple[Entry, ...] = (
    query(
        "search.code",
        "code",
        _INPUTS,
        "Search files by their text, such as `parse_date repo:octocat/hello-world path:src language:python`.",
    ),
    query(
        "search.issues",
        "conversations",
        _INPUTS,
        "Search issues, such as `crash repo:octocat/hello-world is:open label:bug sort:updated-desc`.",
    ),
    query(
        "search.prs",
        "conversations",
        _INPUTS,
        "Search pull requests, such as `fix repo:octocat/hello-world is:merged author:hubot`.",
    ),
)
