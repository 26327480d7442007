"""Reactions to a pull request and to its comments."""

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.domains.pr.scanning import Scan, ScannedItem, SourcePage, scan
from ghx_tools.capabilities.errors import InvalidInputError
from ghx_tools.capabilities.models import Count, Login, OutputModel, PageInfo, Paging, PullInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_GROUPS = """
reactionGroups {
  content viewerHasReacted
  reactors(first: 100) { totalCount nodes {
    ... on User { login } ... on Bot { login } ... on Mannequin { login } ... on Organization { login }
  } }
}
"""
_SUBJECT = f"__typename id url author {{ login }} {_GROUPS}"
_COMMENTS = f"comments(first: 50%s) {{ edges {{ cursor node {{ {_SUBJECT} }} }} pageInfo {{ hasNextPage endCursor }} }}"
_PAGE = f"nodes {{ {_SUBJECT} }} pageInfo {{ hasNextPage endCursor }}"
_THREADS = f"""
reviewThreads(first: 25%s) {{
  edges {{ cursor node {{ id comments(first: 50) {{ {_PAGE} }} }} }}
  pageInfo {{ hasNextPage endCursor }}
}}
"""
_MORE = f"""
query ReviewThreadReactions($id: ID!, $after: String) {{
  node(id: $id) {{ ... on PullRequestReviewThread {{ comments(first: 100, after: $after) {{ {_PAGE} }} }} }}
}}
"""

_Kind = Literal["comments", "reviewThreads"]
_CURSOR = TypeAdapter(tuple[_Kind, str | None, Count])

Content = Literal["THUMBS_UP", "THUMBS_DOWN", "LAUGH", "HOORAY", "CONFUSED", "HEART", "EYES", "ROCKET"]


class ReactionsInput(PullInput):
    """Which reactions."""

    reactor_login: Annotated[Text | None, Field(description="Only where this person reacted.")] = None
    content: Annotated[Content | None, Field(description="Only this reaction.")] = None


class CommentReactionsInput(Paging, ReactionsInput):
    """Which reactions to comments."""


class ReactionGroup(OutputModel):
    """One reaction, and who had it; of very many people, the first hundred."""

    content: str
    reactor_count: Count
    reactor_logins: tuple[str, ...]
    viewer_has_reacted: bool
    reactors_truncated: bool


class ReactionFilter(OutputModel):
    """Which reactions were asked for."""

    reactor_login: str | None
    content: str | None


class Subject(OutputModel):
    """The pull request or comment that was reacted to."""

    type: str
    id: Text
    url: Text


class PullReactions(OutputModel):
    """Reactions to what a pull request says."""

    subject: Subject
    items: tuple[ReactionGroup, ...]
    filter_applied: ReactionFilter


class ReactedComment(OutputModel):
    """A comment with reactions."""

    subject_type: str
    subject_id: Text
    subject_url: Text
    author_login: Login
    groups: tuple[ReactionGroup, ...]


class CommentReactions(OutputModel):
    """Comments with reactions: first those on the pull request as a whole, then those in review threads."""

    items: tuple[ReactedComment, ...]
    filter_applied: ReactionFilter
    page_info: PageInfo
    scan: Scan


async def list_reactions(client: GitHubClient, inputs: ReactionsInput) -> PullReactions:
    """List the reactions to a pull request itself."""
    pull = await find_pull(client, inputs, f"__typename id url {_GROUPS}")
    subject = {"type": pull["__typename"], "id": pull["id"], "url": pull["url"]}
    return PullReactions.model_validate(
        {"subject": subject, "items": _matching_groups(pull, inputs), "filterApplied": _filter(inputs)}
    )


async def list_comment_reactions(client: GitHubClient, inputs: CommentReactionsInput) -> CommentReactions:
    """List the reactions to comments; comments without any are left out."""
    listed = await scan(_pages(client, inputs), lambda node: bool(_matching_groups(node, inputs)), first=inputs.first)
    items = [
        {
            "subjectType": node["__typename"],
            "subjectId": node["id"],
            "subjectUrl": node["url"],
            "authorLogin": node["author"],
            "groups": _matching_groups(node, inputs),
        }
        for node in listed["items"]
    ]
    return CommentReactions.model_validate({**listed, "items": items, "filterApplied": _filter(inputs)})


def _matching_groups(subject: dict[str, Any], inputs: ReactionsInput) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = subject["reactionGroups"] or []
    groups = [_describe_group(each) for each in every]
    reactor_login = inputs.reactor_login and inputs.reactor_login.casefold()
    return [
        group
        for group in groups
        if group["reactorCount"]
        and inputs.content in (None, group["content"])
        and (reactor_login is None or reactor_login in {login.casefold() for login in group["reactorLogins"]})
    ]


def _describe_group(group: dict[str, Any]) -> dict[str, Any]:
    logins = [each["login"] for each in group["reactors"]["nodes"] if each]
    total = group["reactors"]["totalCount"]
    return {
        "content": group["content"],
        "reactorCount": total,
        "reactorLogins": logins,
        "viewerHasReacted": group["viewerHasReacted"],
        "reactorsTruncated": total > len(logins),
    }


def _filter(inputs: ReactionsInput) -> dict[str, Any]:
    return {"reactorLogin": inputs.reactor_login, "content": inputs.content}


async def _pages(client: GitHubClient, inputs: CommentReactionsInput) -> AsyncGenerator[SourcePage]:
    """Yield pages of comments, then of comments in review threads, from the cursor on."""
    kind, after, skipped = _place(inputs.after)
    while kind == "comments":
        connection = await _connection(client, inputs, kind, _COMMENTS, after)
        entries = [(_cursor(kind, edge["cursor"]), edge["node"]) for edge in connection["edges"] if edge["node"]]
        yield SourcePage(entries=entries, last=False)
        after = connection["pageInfo"]["endCursor"]
        if not connection["pageInfo"]["hasNextPage"]:
            kind, after = "reviewThreads", None
    while True:
        connection = await _connection(client, inputs, kind, _THREADS, after)
        last = not connection["pageInfo"]["hasNextPage"]
        yield SourcePage(entries=(await _in_threads(client, connection, after))[skipped:], last=last)
        after, skipped = connection["pageInfo"]["endCursor"], 0


async def _connection(
    client: GitHubClient, inputs: PullInput, kind: str, selection: str, after: str | None
) -> dict[str, Any]:
    argument = "" if after is None else f", after: {json.dumps(after)}"
    return (await find_pull(client, inputs, selection % argument))[kind]


async def _in_threads(client: GitHubClient, connection: dict[str, Any], after: str | None) -> list[ScannedItem]:
    """Return the comments of threads, each with its cursor."""
    # GitHub has no cursor over the comments of all threads: ours is the thread before, and how many comments to skip.
    entries: list[ScannedItem] = []
    before = after
    for edge in connection["edges"]:
        comments = await _all_comments(client, edge["node"])
        entries += [(_cursor("reviewThreads", before, index), node) for index, node in enumerate(comments, start=1)]
        before = edge["cursor"]
    return entries


async def _all_comments(client: GitHubClient, thread: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every comment of a thread, however many there are."""
    comments = thread["comments"]
    nodes = [*comments["nodes"]]
    while comments["pageInfo"]["hasNextPage"]:
        answer = await client.graphql(_MORE, {"id": thread["id"], "after": comments["pageInfo"]["endCursor"]})
        comments = require_value(answer, "node", "comments")
        nodes += comments["nodes"]
    return nodes


def _cursor(kind: str, after: str | None, skipped: int = 0) -> str:
    return json.dumps([kind, after, skipped])


def _place(cursor: str | None) -> tuple[_Kind, str | None, int]:
    if cursor is None:
        return "comments", None, 0
    try:
        kind, after, skipped = _CURSOR.validate_json(cursor)
    except ValidationError:
        raise InvalidInputError(
            "after: this is no cursor of this list; give the `endCursor` of the page before"
        ) from None
    return kind, after, skipped


OPERATIONS = {
    "pr.reactions.list": Operation(
        input=ReactionsInput,
        output=PullReactions,
        function=list_reactions,
        route="graphql",
        example={**EXAMPLE, "content": "HEART"},
    ),
    "pr.comments.reactions.list": Operation(
        input=CommentReactionsInput,
        output=CommentReactions,
        function=list_comment_reactions,
        route="graphql",
        example={**EXAMPLE, "reactorLogin": "hubot"},
    ),
}
