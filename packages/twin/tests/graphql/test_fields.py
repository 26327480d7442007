"""Every field of every type is answered, on a world in which everything has happened."""

import json
from collections.abc import Iterator

import pytest
from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
)
from graphql_world import Town, typed_nodes

from ghx_twin.graphql.registry import EMPTY_TYPES
from ghx_twin.graphql.schema import schema
from ghx_twin.state.records import Repository

pytestmark = pytest.mark.slow

ARGUMENTS = {
    "Commit.file": '(path: "poem.txt")',
    "Organization.repository": '(name: "widgets")',
    "Organization.team": '(slug: "core-team")',
    "Ref.compare": '(headRef: "feature")',
    "Repository.issue": "(number: 1)",
    "Repository.issueOrPullRequest": "(number: 7)",
    "Repository.label": '(name: "bug")',
    "Repository.milestone": "(number: 1)",
    "Repository.object": '(expression: "main:poem.txt")',
    "Repository.pullRequest": "(number: 7)",
    "Repository.ref": '(qualifiedName: "main")',
    "Repository.release": '(tagName: "v1")',
    "Repository.refs": '(first: 2, refPrefix: "refs/heads/")',
    "Repository.ruleset": "(databaseId: 1)",
    "Repository.suggestedActors": "(first: 2, capabilities: [CAN_BE_ASSIGNED])",
    "Status.context": '(name: "ci/lint")',
    "User.organization": '(login: "acme")',
    "User.repository": '(name: "secret")',
    "ProjectV2.field": '(name: "Status")',
    "ProjectV2.view": "(number: 1)",
    "ProjectV2.workflow": "(number: 1)",
    "ProjectV2Item.fieldValueByName": '(name: "Status")',
}
# Repositories and people that do not have what their neighbours have are asked about it too, and may say so.
MAY_REFUSE = {
    "User.repository", "Organization.team", "Organization.repository", "Repository.issue", "Commit.file",
    "Commit.blame",
    *(f"{kind}.projectV2" for kind in ("User", "Organization", "Repository", "Issue", "PullRequest")),
}  # fmt: skip


def selection(kind: GraphQLNamedType, depth: int, seen: tuple[str, ...] = ()) -> str:
    """Select everything of a type: leaves here, leaves of what it leads to, and so on."""
    if isinstance(kind, GraphQLUnionType | GraphQLInterfaceType):
        possible = [one for one in schema().get_possible_types(kind) if one.name not in EMPTY_TYPES]
        inside = [f"... on {one.name} {selection(one, depth, seen)}" for one in possible] if depth > 1 else []
        return "{ __typename " + " ".join(inside) + " }"
    assert isinstance(kind, GraphQLObjectType)
    parts = [part for name, field in kind.fields.items() if (part := _part(kind, name, field, depth, seen))]
    return "{ __typename " + " ".join(parts) + " }"


def _part(kind: GraphQLObjectType, name: str, field: GraphQLField, depth: int, seen: tuple[str, ...]) -> str | None:
    target = get_named_type(field.type)
    place = f"{kind.name}.{name}"
    if is_leaf_type(target):
        return f"{kind.name}_{name}: {name}" + ("(pullRequestNumber: 7)" if name == "isRequired" else "")
    if depth == 0 or place in MAY_REFUSE:
        return None
    paged = target.name.endswith("Connection")
    given = ARGUMENTS.get(place) or ("(first: 3)" if paged else "")
    step = depth if paged or target.name.endswith("Edge") else depth - 1
    if paged and target.name in seen:
        return None
    return f"{kind.name}_{name}: {name}{given} {selection(target, step, (*seen, target.name))}"


def _documents(nodes: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for typename, identity in nodes:
        kind = schema().type_map[typename]
        yield typename, f'{{ node(id: "{identity}") {{ ... on {typename} {selection(kind, 1)} }} }}'


def test_every_field_of_everything_there_is_can_be_read(lived: Town) -> None:
    empty = {lived.id(one) for one in lived.world.database.all(Repository) if one.id != lived.repository.id}
    for typename, document in _documents([node for node in typed_nodes(lived) if node[1] not in empty]):
        answer = lived.ask(document)

        assert answer.status == 200
        assert "errors" not in answer.body, (typename, json.dumps(answer.errors)[:2000])


def test_a_timeline_tells_of_everything_that_happens(lived: Town) -> None:
    told = {typename for typename, _ in typed_nodes(lived) if typename.endswith("Event")}

    assert told >= {
        "AssignedEvent", "AutoMergeDisabledEvent", "AutoMergeEnabledEvent", "AutoSquashEnabledEvent",
        "AutomaticBaseChangeSucceededEvent",
        "BaseRefChangedEvent", "ClosedEvent", "CommentDeletedEvent", "ConvertToDraftEvent", "CrossReferencedEvent",
        "DemilestonedEvent", "HeadRefDeletedEvent", "HeadRefForcePushedEvent", "LabeledEvent", "LockedEvent",
        "MentionedEvent", "MergedEvent", "MilestonedEvent", "PinnedEvent", "ReadyForReviewEvent", "RenamedTitleEvent",
        "ReopenedEvent", "ReviewDismissedEvent", "ReviewRequestRemovedEvent", "ReviewRequestedEvent",
        "BlockedByAddedEvent", "BlockedByRemovedEvent", "BlockingAddedEvent", "BlockingRemovedEvent", "ConnectedEvent",
        "IssueTypeAddedEvent", "IssueTypeChangedEvent", "IssueTypeRemovedEvent", "MarkedAsDuplicateEvent",
        "ParentIssueAddedEvent", "ParentIssueRemovedEvent", "SubIssueAddedEvent", "SubIssueRemovedEvent",
        "SubscribedEvent", "UnmarkedAsDuplicateEvent",
        "TransferredEvent", "UnassignedEvent", "UnlabeledEvent", "UnlockedEvent", "UnpinnedEvent",
    }  # fmt: skip
