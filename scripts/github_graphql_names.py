"""Write the names of GitHub's GraphQL schema that touch ours, so that what is missing is told from what is misspelt.

    python scripts/github_graphql_names.py path/to/schema.graphql

The schema is `schema.graphql` in the npm package `@octokit/graphql-schema`. Written are names only: the fields (with
their arguments) of the types that our schema has too, the fields of its inputs, the values of its enums, and all types.
"""

import json
import sys
from pathlib import Path

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
)

FOLDER = Path(__file__).parents[1] / "src/ghx_bench/twin/graphql"
TARGET = FOLDER / "published.json"

# What github.com has and the published package does not yet, with who needs it.
NEWER = {
    "AddBlockedByInput": "comes with its mutation",
    "AddBlockedByPayload": "the same",
    "AssigneeConnection": "gh 2.103: the type of assignedActors",
    "AssigneeEdge": "comes with AssigneeConnection",
    "Issue.assignedActors": "gh 2.103: issue view, edit",
    "Issue.blockedBy": "gh 2.103: issue view",
    "Issue.blocking": "gh 2.103: issue view",
    "CreateIssueInput.issueFieldValues": "github-mcp-server: issue_write",
    "CreateIssueInput.issueTypeId": "clients of issue types",
    "Issue.issueType": "gh 2.103: issue view",
    "IssueFilters.type": "clients of issue types",
    "IssueType": "gh 2.103: the type of issueType",
    "IssueTypeColor": "comes with IssueType",
    "IssueTypeConnection": "comes with issueTypes",
    "IssueTypeEdge": "the same",
    "IssueTypeOrder": "the same",
    "IssueTypeOrderField": "the same",
    "Mutation.addBlockedBy": "clients of issue dependencies",
    "Mutation.removeBlockedBy": "the same",
    "Mutation.replaceActorsForAssignable": "gh 2.103: issue and pr create and edit with assignees",
    "Mutation.updateIssueIssueType": "gh 2.103: issue create and edit with a type",
    "Mutation.requestReviewsByLogin": "gh 2.103: pr create and edit with reviewers",
    "ProjectV2.items(archivedStates:)": "clients that list archived items",
    "ProjectV2.items(query:)": "gh 2.103: project item-list --query",
    "ProjectV2ItemArchivedState": "comes with archivedStates",
    "ProjectV2SingleSelectFieldOptionInput.id": "clients that keep options of a field",
    "PullRequest.assignedActors": "gh 2.103: pr view, edit",
    "Release.immutable": "gh 2.103: release list",
    "RemoveBlockedByInput": "comes with its mutation",
    "RemoveBlockedByPayload": "the same",
    "ReplaceActorsForAssignableInput": "comes with its mutation",
    "ReplaceActorsForAssignablePayload": "the same",
    "Repository.issueTypes": "clients of issue types",
    "Repository.suggestedActors": "clients that assign bots",
    "RequestReviewsByLoginInput": "comes with its mutation",
    "RequestReviewsByLoginPayload": "the same",
    "SearchType.ISSUE_ADVANCED": "gh 2.103: searches issues with it where the enum has it",
    "UpdateIssueInput.issueFieldValues": "github-mcp-server: issue_write",
    "UpdateIssueInput.issueTypeId": "clients of issue types",
    "UpdateIssueIssueTypeInput": "comes with its mutation",
    "UpdateIssueIssueTypePayload": "the same",
}


def main() -> None:
    """Read the schema named on the command line and write the names."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the script and its one argument
        sys.exit("usage: github_graphql_names.py path/to/schema.graphql")
    published = parsed(Path(sys.argv[1]).read_text(encoding="utf-8"))
    ours = parsed("\n".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("schema/*.graphql"))))
    written = names(published, ours)
    TARGET.write_text(json.dumps(written, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
    print(f"{TARGET.stat().st_size} bytes in {TARGET}")  # noqa: T201 - a command line tool


def parsed(text: str) -> GraphQLSchema:
    """Return a schema; the published one is no valid SDL in every detail."""
    return build_schema(text, assume_valid=True, assume_valid_sdl=True)


def names(published: GraphQLSchema, ours: GraphQLSchema) -> dict[str, object]:
    """Return what GitHub calls the parts of the types we have, and all types."""
    shared = {name: kind for name, kind in published.type_map.items() if name in ours.type_map and name[:2] != "__"}
    fields = {
        name: {field: sorted(entry.args) for field, entry in kind.fields.items()}
        for name, kind in shared.items()
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType)
    }
    values = {
        name: sorted(kind.fields if isinstance(kind, GraphQLInputObjectType) else kind.values)
        for name, kind in shared.items()
        if isinstance(kind, GraphQLInputObjectType | GraphQLEnumType)
    }
    for owner, _, name in (coordinate.partition(".") for coordinate in NEWER):
        if name and owner in fields:
            field, _, argument = name.removesuffix(":)").partition("(")
            taken = fields[owner].setdefault(field, [])
            fields[owner][field] = sorted({*taken, argument} - {""})
        if name and owner in values and name not in values[owner]:
            values[owner] = sorted([*values[owner], name])
    types = {name for name in published.type_map if name[:2] != "__"} | {name for name in NEWER if "." not in name}
    return {"fields": fields, "types": sorted(types), "values": values}


if __name__ == "__main__":
    main()
