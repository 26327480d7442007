"""The GraphQL documents of GitHub's own MCP server, in its toolsets context, issues and labels, are answered."""

import pytest
from graphql_world import Town

HOME = 'repository(owner: "acme", name: "widgets")'
VALUE = "__typename ... on IssueFieldDateValue { value field { ... on IssueFieldDate { name } } }"
DOCUMENTS = {
    "get_teams": 'user(login: "octo") { organizations(first: 9) { nodes { login '
    'teams(first: 9, userLogins: ["octo"]) { nodes { name slug description } } } } }',
    "get_team_members": 'organization(login: "acme") { team(slug: "core") { members(first: 9) { nodes { login } } } }',
    "list_issues": HOME + " { isPrivate issues(first: 9, states: [OPEN], orderBy: {field: UPDATED_AT, direction: ASC}) "
    "{ totalCount nodes { number title body state databaseId author { login } labels(first: 9) { nodes { name id } } "
    "comments { totalCount } issueFieldValues(first: 25) { nodes { " + VALUE + " } } } } }",
    "list_issue_fields": HOME + " { issueFields(first: 9) { nodes { ... on IssueFieldText { name dataType } } } }",
    "get_label": HOME + ' { label(name: "bug") { id name color description } }',
    "list_label": HOME + " { labels(first: 9) { totalCount nodes { id name color description } } }",
    "assign_copilot_to_issue": HOME + " { suggestedActors(first: 9, capabilities: [CAN_BE_ASSIGNED]) { nodes { login "
    "__typename ... on Bot { id } } pageInfo { hasNextPage endCursor } } }",
    "issue_read": HOME + " { issue(number: 1) { parent { number } labels(first: 9) { nodes { id name } } } }",
}


@pytest.mark.parametrize("tool", DOCUMENTS)
def test_a_tool_gets_its_answer(town: Town, tool: str) -> None:
    assert "errors" not in town.ask(f"{{ {DOCUMENTS[tool]} }}").body
