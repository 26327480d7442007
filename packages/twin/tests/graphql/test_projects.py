"""Projects over GraphQL: what gh and others ask for, and every mutation."""

import json
from typing import Any

import pytest
from graphql_world import Town

from ghx_twin.commands import issues, projects
from ghx_twin.graphql.execution import execute
from ghx_twin.state.records import Event, Project, ProjectItem, ProjectItemValue
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import EVERY_SCOPE

FIELD = "... on ProjectV2FieldCommon { id name dataType }"
VALUES = (
    "fieldValues(first: 20) { nodes { __typename "
    "... on ProjectV2ItemFieldTextValue { text } ... on ProjectV2ItemFieldNumberValue { number } "
    "... on ProjectV2ItemFieldDateValue { date } ... on ProjectV2ItemFieldSingleSelectValue { name optionId color } "
    "... on ProjectV2ItemFieldIterationValue { title startDate duration } "
    "... on ProjectV2ItemFieldLabelValue { labels(first: 5) { nodes { name } } } "
    "... on ProjectV2ItemFieldUserValue { users(first: 5) { nodes { login } } } "
    "... on ProjectV2ItemFieldMilestoneValue { milestone { title } } "
    "... on ProjectV2ItemFieldRepositoryValue { repository { nameWithOwner } } "
    "... on ProjectV2ItemFieldReviewerValue { reviewers(first: 5) { nodes { ... on User { login } } } } "
    "... on ProjectV2ItemFieldPullRequestValue { pullRequests(first: 5) { nodes { number } } } } }"
)


@pytest.fixture
def board(town: Town) -> Project:
    """An empty project of acme's, made by octo."""
    with town.acting() as act:
        return projects.create(act, town.people["acme"], title="Roadmap")


def fields(town: Town, board: Project) -> dict[str, Any]:
    selection = (
        f"fields(first: 50) {{ nodes {{ {FIELD} ... on ProjectV2SingleSelectField {{ options {{ id name }} }} }} }}"
    )
    query = f"query($id: ID!) {{ node(id: $id) {{ ... on ProjectV2 {{ {selection} }} }} }}"
    found = town.ask(query, {"id": town.id(board)}).data["node"]["fields"]["nodes"]
    return {one["name"]: one for one in found}


def add(town: Town, board: Project, content: str) -> str:
    payload = town.mutate("addProjectV2ItemById", "item { id }", projectId=town.id(board), contentId=content)
    return payload["item"]["id"]


def set_value(town: Town, board: Project, item: str, field: str, **value: Any) -> Any:
    return town.try_to(
        "updateProjectV2ItemFieldValue",
        "projectV2Item { id }",
        projectId=town.id(board),
        itemId=item,
        fieldId=fields(town, board)[field]["id"],
        value=value,
    )


def values(town: Town, item: str) -> list[dict[str, Any]]:
    query = f"query($id: ID!) {{ node(id: $id) {{ ... on ProjectV2Item {{ {VALUES} }} }} }}"
    return town.ask(query, {"id": item}).data["node"]["fieldValues"]["nodes"]


def test_a_new_project_is_private_and_has_githubs_fields_and_one_view(town: Town) -> None:
    selection = (
        "projectV2 { number title url public closed template viewerCanUpdate viewerCanClose viewerCanReopen readme "
        "owner { ... on Organization { login } } creator { login } items(first: 1) { totalCount } "
        "views(first: 5) { nodes { number name layout } } workflows(first: 5) { nodes { name enabled } } "
        "fields(first: 20) { nodes { ... on ProjectV2FieldCommon { name dataType } } } }"
    )

    made = town.mutate("createProjectV2", selection, ownerId=town.id(town.people["acme"]), title=" Roadmap ")

    names = [one["name"] for one in made["projectV2"].pop("fields")["nodes"]]
    assert names == [
        "Title", "Assignees", "Status", "Labels", "Linked pull requests", "Milestone", "Repository", "Reviewers",
        "Parent issue", "Sub-issues progress",
    ]  # fmt: skip
    assert made["projectV2"] == {
        "number": 1,
        "title": "Roadmap",
        "url": "https://github.com/orgs/acme/projects/1",
        "public": False,
        "closed": False,
        "template": False,
        "readme": None,
        "viewerCanUpdate": True,
        "viewerCanClose": True,
        "viewerCanReopen": False,
        "owner": {"login": "acme"},
        "creator": {"login": "octo"},
        "items": {"totalCount": 0},
        "views": {"nodes": [{"number": 1, "name": "View 1", "layout": "TABLE_LAYOUT"}]},
        "workflows": {
            "nodes": [{"name": "Item closed", "enabled": True}, {"name": "Pull request merged", "enabled": True}]
        },
    }


def test_the_number_of_a_deleted_project_is_not_given_out_again(town: Town, board: Project) -> None:
    town.mutate("deleteProjectV2", "projectV2 { number }", projectId=town.id(board))
    again = town.mutate("createProjectV2", "projectV2 { number }", ownerId=town.id(town.people["acme"]), title="B")

    assert again["projectV2"]["number"] == 2
    gone = town.ask('{ organization(login: "acme") { projectV2(number: 1) { title } } }')
    assert (gone.errors[0]["type"], gone.errors[0]["path"]) == ("NOT_FOUND", ["organization", "projectV2"])
    assert gone.errors[0]["message"] == "Could not resolve to a ProjectV2 with the number 1."


def test_an_item_holds_facts_of_its_issue_and_values_of_its_own(town: Town, board: Project) -> None:
    with town.acting() as act:
        projects.create_field(act, board, name="Notes", data_type="text")
        projects.create_field(act, board, name="Points", data_type="number")
        projects.create_field(act, board, name="Due", data_type="date")
        sprint = projects.create_field(
            act,
            board,
            name="Sprint",
            data_type="iteration",
            configuration={"duration": 7, "iterations": [{"title": "S1", "start_date": "2026-02-02", "duration": 7}]},
        )
    item = add(town, board, town.id(town.issue(1)))
    assert sprint.configuration is not None
    (iteration,) = sprint.configuration["iterations"]  # pyright: ignore[reportGeneralTypeIssues]
    todo = fields(town, board)["Status"]["options"][0]["id"]

    for field, value in (
        ("Status", {"singleSelectOptionId": todo}),
        ("Notes", {"text": "soon"}),
        ("Points", {"number": 2.5}),
        ("Due", {"date": "2026-03-01T00:00:00Z"}),
        ("Sprint", {"iterationId": iteration["id"]}),
    ):
        assert set_value(town, board, item, field, **value).data

    assert values(town, item) == [
        {"__typename": "ProjectV2ItemFieldTextValue", "text": "It breaks"},
        {"__typename": "ProjectV2ItemFieldUserValue", "users": {"nodes": [{"login": "rev"}]}},
        {"__typename": "ProjectV2ItemFieldSingleSelectValue", "name": "Todo", "optionId": todo, "color": "GREEN"},
        {"__typename": "ProjectV2ItemFieldLabelValue", "labels": {"nodes": [{"name": "bug"}]}},
        {"__typename": "ProjectV2ItemFieldPullRequestValue", "pullRequests": {"nodes": [{"number": 7}]}},
        {"__typename": "ProjectV2ItemFieldMilestoneValue", "milestone": {"title": "v1"}},
        {"__typename": "ProjectV2ItemFieldRepositoryValue", "repository": {"nameWithOwner": "acme/widgets"}},
        {"__typename": "ProjectV2ItemFieldTextValue", "text": "soon"},
        {"__typename": "ProjectV2ItemFieldNumberValue", "number": 2.5},
        {"__typename": "ProjectV2ItemFieldDateValue", "date": "2026-03-01"},
        {"__typename": "ProjectV2ItemFieldIterationValue", "title": "S1", "startDate": "2026-02-02", "duration": 7},
    ]
    town.mutate(
        "clearProjectV2ItemFieldValue",
        "projectV2Item { id }",
        projectId=town.id(board),
        itemId=item,
        fieldId=fields(town, board)["Notes"]["id"],
    )
    assert "soon" not in str(values(town, item))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "Status",
            {"text": "Done"},
            "Did not receive a single select option Id to update a field of type single_select",
        ),
        ("Status", {"singleSelectOptionId": "nope"}, "The single select option Id does not belong to the field"),
        ("Points", {"text": "3"}, "Did not receive a number value to update a field of type number"),
        ("Points", {}, "Did not receive a number value to update a field of type number"),
        ("Labels", {"text": "bug"}, "The field of type labels is currently not supported."),
    ],
)
def test_a_value_that_does_not_fit_is_refused(
    town: Town, board: Project, field: str, value: dict[str, Any], message: str
) -> None:
    with town.acting() as act:
        projects.create_field(act, board, name="Points", data_type="number")
    item = add(town, board, town.id(town.issue(1)))

    refused = set_value(town, board, item, field, **value)

    assert (refused.errors[0]["type"], refused.errors[0]["message"]) == ("UNPROCESSABLE", message)
    assert town.world.database.count(ProjectItemValue) == 0


def test_what_is_added_twice_is_there_once_and_an_archived_item_comes_back(town: Town, board: Project) -> None:
    first = add(town, board, town.id(town.issue(1)))
    selection = "item { id isArchived }"
    archived = town.mutate("archiveProjectV2Item", selection, projectId=town.id(board), itemId=first)

    assert archived["item"] == {"id": first, "isArchived": True}
    count = '{ organization(login: "acme") { projectV2(number: 1) { items(first: 5) { totalCount } } } }'
    assert town.ask(count).data["organization"]["projectV2"]["items"]["totalCount"] == 0
    refused = set_value(town, board, first, "Status", singleSelectOptionId="98236657")
    assert refused.errors[0]["message"] == "The item is archived and cannot be updated."
    assert add(town, board, town.id(town.issue(1))) == first
    assert town.ask(count).data["organization"]["projectV2"]["items"]["totalCount"] == 1
    town.mutate("archiveProjectV2Item", selection, projectId=town.id(board), itemId=first)
    back = town.mutate("unarchiveProjectV2Item", selection, projectId=town.id(board), itemId=first)
    assert back["item"]["isArchived"] is False


def test_items_are_moved_and_drafts_become_issues(town: Town, board: Project) -> None:
    given = {"projectId": town.id(board)}
    drafts = [
        town.mutate("addProjectV2DraftIssue", "projectItem { id content { ... on DraftIssue { id } } }", title=title,
                    body="Text", assigneeIds=[town.id(town.people["rev"])], **given)["projectItem"]
        for title in ("a", "b", "c")
    ]  # fmt: skip
    titles = "items(first: 9) { nodes { content { ... on DraftIssue { title } ... on Issue { title } } } }"

    moved = town.mutate("updateProjectV2ItemPosition", titles, itemId=drafts[2]["id"], afterId=drafts[0]["id"], **given)
    assert [one["content"]["title"] for one in moved["items"]["nodes"]] == ["a", "c", "b"]
    moved = town.mutate("updateProjectV2ItemPosition", titles, itemId=drafts[1]["id"], **given)
    assert [one["content"]["title"] for one in moved["items"]["nodes"]] == ["b", "a", "c"]

    changed = town.mutate(
        "updateProjectV2DraftIssue",
        "draftIssue { title body assignees(first: 2) { nodes { login } } }",
        draftIssueId=drafts[0]["content"]["id"],
        title="A",
    )
    assert changed["draftIssue"] == {"title": "A", "body": "Text", "assignees": {"nodes": [{"login": "rev"}]}}
    item = town.mutate(
        "convertProjectV2DraftIssueItemToIssue",
        "item { id type content { ... on Issue { number title assignees(first: 2) { nodes { login } } } } }",
        itemId=drafts[0]["id"],
        repositoryId=town.id(town.repository),
    )["item"]
    content = {"number": 8, "title": "A", "assignees": {"nodes": [{"login": "rev"}]}}
    assert item == {"id": drafts[0]["id"], "type": "ISSUE", "content": content}
    deleted = town.mutate("deleteProjectV2Item", "deletedItemId", itemId=drafts[1]["id"], **given)
    assert deleted == {"deletedItemId": drafts[1]["id"]}


def test_many_moves_between_two_items_keep_the_order(town: Town, board: Project) -> None:
    with town.acting() as act:
        top, *others = [projects.add_draft(act, board, title=str(number)) for number in range(4)]
        for turn in range(40):
            projects.move_item(act, others[turn % 3], top)
    found = town.world.database.all(ProjectItem, order="position", project_id=board.id)
    assert [one.id for one in found] == [top.id, others[0].id, others[2].id, others[1].id]


def test_replaced_options_are_new_ones_and_items_lose_the_old(town: Town, board: Project) -> None:
    item = add(town, board, town.id(town.issue(1)))
    assert set_value(town, board, item, "Status", singleSelectOptionId="f75ad846").data
    options = [{"name": name, "color": "RED", "description": ""} for name in ("Todo", "Review")]

    changed = town.mutate(
        "updateProjectV2Field",
        "projectV2Field { ... on ProjectV2SingleSelectField { options { id name } } }",
        fieldId=fields(town, board)["Status"]["id"],
        singleSelectOptions=options,
    )

    shown = changed["projectV2Field"]["options"]
    assert [one["name"] for one in shown] == ["Todo", "Review"]
    assert "f75ad846" not in {one["id"] for one in shown}
    assert town.world.database.count(ProjectItemValue) == 0
    assert town.try_to("deleteProjectV2Field", "projectV2Field { ... on ProjectV2Field { id } }",
                       fieldId=fields(town, board)["Status"]["id"]).errors  # fmt: skip


def test_options_that_are_named_by_their_ids_stay_and_items_keep_them(town: Town, board: Project) -> None:
    item = add(town, board, town.id(town.issue(1)))
    assert set_value(town, board, item, "Status", singleSelectOptionId="f75ad846").data
    options = [
        {"id": "f75ad846", "name": "Later", "color": "GRAY", "description": ""},
        {"name": "Now", "color": "RED", "description": ""},
    ]
    field = fields(town, board)["Status"]["id"]

    town.mutate("updateProjectV2Field", "clientMutationId", fieldId=field, singleSelectOptions=options)

    assert "Later" in {value.get("name") for value in values(town, item)}
    refused = town.try_to("updateProjectV2Field", "clientMutationId", fieldId=field,
                          singleSelectOptions=[{**options[0], "id": "none"}])  # fmt: skip
    assert refused.errors[0]["message"] == "The single select option Id does not belong to the field"


def test_archived_items_are_listed_where_they_are_asked_for(town: Town, board: Project) -> None:
    gone = add(town, board, town.id(town.issue(1)))
    there = add(town, board, town.id(town.issue(2)))
    town.mutate("archiveProjectV2Item", "clientMutationId", projectId=town.id(board), itemId=gone)
    query = """query($states: [ProjectV2ItemArchivedState!], $words: String) { organization(login: "acme") {
      projectV2(number: 1) { items(first: 9, archivedStates: $states, query: $words) { nodes { id } } } } }"""

    def listed(**given: Any) -> list[str]:
        found = town.ask(query, given).data["organization"]["projectV2"]["items"]["nodes"]
        return [one["id"] for one in found]

    assert (listed(), listed(states=["ARCHIVED"]), listed(states=["ARCHIVED", "NOT_ARCHIVED"])) == (
        [there],
        [gone],
        [gone, there],
    )
    assert listed(states=["ARCHIVED"], words="no:assignee") == []


def test_a_copy_has_fields_views_and_drafts_and_no_issues(town: Town, board: Project) -> None:
    with town.acting() as act:
        projects.create_field(act, board, name="Size", data_type="single_select", options=[{"name": "S"}])
        projects.create_view(act, board, name="Board", layout="board")
        projects.update(act, board, short_description="What comes next", readme="# Read")
    add(town, board, town.id(town.issue(1)))
    draft = town.mutate("addProjectV2DraftIssue", "projectItem { id }", projectId=town.id(board), title="Draft")
    assert set_value(town, board, draft["projectItem"]["id"], "Status", singleSelectOptionId="98236657").data

    copied = town.mutate(
        "copyProjectV2",
        'projectV2 { number title shortDescription readme views(first: 5) { nodes { name } } field(name: "size") '
        "{ ... on ProjectV2SingleSelectField { options { name } } } items(first: 5) { nodes { type "
        'fieldValueByName(name: "Status") { ... on ProjectV2ItemFieldSingleSelectValue { name } } } } }',
        projectId=town.id(board),
        ownerId=town.id(town.people["octo"]),
        title="Mine",
        includeDraftIssues=True,
    )

    assert copied["projectV2"] == {
        "number": 1,
        "title": "Mine",
        "shortDescription": "What comes next",
        "readme": "# Read",
        "views": {"nodes": [{"name": "View 1"}, {"name": "Board"}]},
        "field": {"options": [{"name": "S"}]},
        "items": {"nodes": [{"type": "DRAFT_ISSUE", "fieldValueByName": {"name": "Done"}}]},
    }


def test_what_is_reported_about_a_project_is_listed_newest_first(town: Town, board: Project) -> None:
    shown = "statusUpdate { id status body targetDate creator { login } }"
    given = {"projectId": town.id(board)}
    town.mutate("createProjectV2StatusUpdate", shown, body="Begun", status="ON_TRACK", **given)
    late = town.mutate(
        "createProjectV2StatusUpdate", shown, by="rev", status="AT_RISK", targetDate="2026-05-01", **given
    )
    identity = late["statusUpdate"].pop("id")
    assert late["statusUpdate"] == {
        "status": "AT_RISK", "body": None, "targetDate": "2026-05-01", "creator": {"login": "rev"},
    }  # fmt: skip

    changed = town.mutate("updateProjectV2StatusUpdate", shown, statusUpdateId=identity, body="Late", targetDate=None)
    assert [changed["statusUpdate"][name] for name in ("status", "body", "targetDate")] == ["AT_RISK", "Late", None]
    listed = "projectV2 { statusUpdates(first: 5) { nodes { body } } }"
    query = f'{{ organization(login: "acme") {{ {listed.replace("projectV2", "projectV2(number: 1)", 1)} }} }}'
    found = town.ask(query).data["organization"]["projectV2"]["statusUpdates"]["nodes"]
    assert found == [{"body": "Late"}, {"body": "Begun"}]
    deleted = town.mutate("deleteProjectV2StatusUpdate", f"deletedStatusUpdateId {listed}", statusUpdateId=identity)
    assert deleted == {
        "deletedStatusUpdateId": identity,
        "projectV2": {"statusUpdates": {"nodes": [{"body": "Begun"}]}},
    }


def test_projects_are_listed_where_they_belong(town: Town, board: Project) -> None:
    add(town, board, town.id(town.pull()))
    town.mutate("createProjectV2", "projectV2 { id }", ownerId=town.id(town.people["acme"]), title="Another",
                repositoryId=town.id(town.repository))  # fmt: skip
    town.mutate("updateProjectV2", "projectV2 { id }", projectId=town.id(board), closed=True, public=True)
    titles = "nodes { title }"
    query = f"""{{
      organization(login: "acme") {{
        all: projectsV2(first: 5, orderBy: {{field: TITLE, direction: ASC}}) {{ {titles} }}
        open: projectsV2(first: 5, query: "is:open") {{ {titles} }}
        named: projectsV2(first: 5, query: "road") {{ {titles} }}
      }}
      repositoryOwner(login: "acme") {{ ... on ProjectV2Owner {{ projectV2(number: 1) {{ closed public }} }} }}
      repository(owner: "acme", name: "widgets") {{
        projectsV2(first: 5) {{ {titles} }}
        pullRequest(number: 7) {{ projectItems(first: 5) {{ nodes {{ project {{ title }} }} }}
          projectsV2(first: 5) {{ {titles} }} }}
      }}
      viewer {{ projectsV2(first: 5) {{ totalCount }} }}
    }}"""

    seen = town.ask(query).data

    assert [one["title"] for one in seen["organization"]["all"]["nodes"]] == ["Another", "Roadmap"]
    assert [one["title"] for one in seen["organization"]["open"]["nodes"]] == ["Another"]
    assert [one["title"] for one in seen["organization"]["named"]["nodes"]] == ["Roadmap"]
    assert seen["repositoryOwner"]["projectV2"] == {"closed": True, "public": True}
    assert seen["repository"]["projectsV2"]["nodes"] == [{"title": "Another"}]
    assert seen["repository"]["pullRequest"]["projectItems"]["nodes"] == [{"project": {"title": "Roadmap"}}]
    assert seen["repository"]["pullRequest"]["projectsV2"]["nodes"] == [{"title": "Roadmap"}]
    assert seen["viewer"]["projectsV2"]["totalCount"] == 0


def test_a_private_project_is_not_there_for_strangers(town: Town, board: Project) -> None:
    item = add(town, board, town.id(town.issue(1)))
    query = '{ organization(login: "acme") { projectV2(number: 1) { title } projectsV2(first: 5) { totalCount } } }'

    assert town.ask(query, by="bob").errors[0]["type"] == "NOT_FOUND"
    assert town.ask(query, by="bob").body["data"]["organization"]["projectsV2"]["totalCount"] == 0
    node = "query($id: ID!) { node(id: $id) { id } }"
    assert town.ask(node, {"id": item}, by="bob").errors[0]["type"] == "NOT_FOUND"
    issue = (
        '{ repository(owner: "acme", name: "widgets") { issue(number: 1) { projectItems(first: 5) { totalCount } } } }'
    )
    assert town.ask(issue, by="bob").data["repository"]["issue"]["projectItems"]["totalCount"] == 0
    assert town.ask(issue, by="rev").data["repository"]["issue"]["projectItems"]["totalCount"] == 1


def test_readers_of_a_public_project_change_nothing_and_members_of_the_organization_do(
    town: Town, board: Project
) -> None:
    town.mutate("updateProjectV2", "projectV2 { id }", projectId=town.id(board), public=True)
    given = {"projectId": town.id(board), "contentId": town.id(town.issue(1))}

    refused = town.try_to("addProjectV2ItemById", "item { id }", by="bob", **given)
    assert refused.errors[0]["type"] == "FORBIDDEN"
    assert town.mutate("addProjectV2ItemById", "item { creator { login } }", by="rev", **given) == {
        "item": {"creator": {"login": "rev"}}
    }
    assert town.try_to("deleteProjectV2", "projectV2 { id }", by="rev", projectId=town.id(board)).errors
    with town.acting() as act:
        projects.set_collaborator(act, board, town.people["bob"], "writer")
    assert town.mutate("addProjectV2ItemById", "item { id }", by="bob", **given)


def test_content_of_a_repository_that_the_viewer_cannot_see_is_redacted(town: Town, board: Project) -> None:
    secret = town.ask('{ repository(owner: "octo", name: "secret") { id } }').data["repository"]["id"]
    made = town.mutate("createIssue", "issue { id }", repositoryId=secret, title="Hidden")
    add(town, board, made["issue"]["id"])
    query = (
        '{ organization(login: "acme") { projectV2(number: 1) { items(first: 5) { nodes { type content { __typename } '
        'fieldValueByName(name: "Title") { __typename } } } } } }'
    )

    for login, kind in (("octo", "ISSUE"), ("rev", "REDACTED")):
        (item,) = town.ask(query, by=login).data["organization"]["projectV2"]["items"]["nodes"]
        assert item["type"] == kind
        assert (item["content"] is None, item["fieldValueByName"] is None) == ((login == "rev"),) * 2


def test_a_token_without_the_scope_is_told_which_one_it_needs(town: Town, board: Project) -> None:
    def ask(query: str, scopes: frozenset[str]) -> dict[str, Any]:
        body = json.dumps({"query": query}).encode()
        return json.loads(execute(town.world, town.viewer("octo", scopes), body, GITHUB_URLS).content)["errors"][0]

    read = ask('{ organization(login: "acme") { projectV2(number: 1) { title } } }', EVERY_SCOPE - {"project"})
    assert read["type"] == "INSUFFICIENT_SCOPES"
    assert "The 'projectV2' field requires one of the following scopes: ['read:project']" in read["message"]
    items = ask(
        '{ repository(owner: "acme", name: "widgets") { issue(number: 1) { projectItems(first: 1) { totalCount } } } }',
        EVERY_SCOPE - {"project"},
    )
    assert "The 'projectItems' field requires one of the following scopes: ['read:project']" in items["message"]
    mutation = f'mutation {{ deleteProjectV2(input: {{projectId: "{town.id(board)}"}}) {{ clientMutationId }} }}'
    written = ask(mutation, EVERY_SCOPE - {"project"} | {"read:project"})
    assert "The 'deleteProjectV2' field requires one of the following scopes: ['project']" in written["message"]


def test_closing_an_issue_sets_its_status_and_the_timeline_tells_of_it(town: Town, board: Project) -> None:
    item = add(town, board, town.id(town.issue(1)))
    with town.acting() as act:
        issues.close(act, town.issue(1))

    assert {"__typename": "ProjectV2ItemFieldSingleSelectValue", "name": "Done", "optionId": "98236657",
            "color": "PURPLE"} in values(town, item)  # fmt: skip
    told = [one.event for one in town.world.database.all(Event, issue_id=town.issue(1).id)]
    assert told[-3:] == ["added_to_project_v2", "closed", "project_v2_item_status_changed"]


def test_an_issue_that_is_deleted_leaves_its_projects(town: Town, board: Project) -> None:
    item = add(town, board, town.id(town.issue(1)))
    assert set_value(town, board, item, "Status", singleSelectOptionId="f75ad846").data

    town.mutate("deleteIssue", "clientMutationId", issueId=town.id(town.issue(1)))

    assert town.world.database.count(ProjectItem) == 0
    assert town.world.database.count(ProjectItemValue) == 0


def test_issues_are_searched_by_the_projects_that_the_viewer_sees(town: Town, board: Project) -> None:
    add(town, board, town.id(town.issue(1)))
    query = "query($q: String!) { search(type: ISSUE, first: 9, query: $q) { nodes { ... on Issue { number } } } }"

    def found(words: str, by: str = "octo") -> list[int]:
        answer = town.ask(query, {"q": f"repo:acme/widgets is:issue {words}"}, by=by)
        return sorted(one["number"] for one in answer.data["search"]["nodes"])

    assert found("project:ACME/1") == [1]
    assert found("project:acme/2") == []
    assert found("has:project") == [1]
    assert 1 not in found("no:project")
    assert (found("project:acme/1", by="bob"), 1 in found("no:project", by="bob")) == ([], True)


@pytest.mark.parametrize(("start", "days"), [("2026-01-05", 0), ("2026-01-05", 2**31 - 1), ("9999-12-30", 14)])
def test_an_iteration_that_no_calendar_has_is_refused(town: Town, board: Project, start: str, days: int) -> None:
    refused = town.try_to(
        "createProjectV2Field",
        "clientMutationId",
        projectId=town.id(board),
        name="Sprint",
        dataType="ITERATION",
        iterationConfiguration={"startDate": start, "duration": days, "iterations": []},
    )

    assert refused.errors[0]["type"] == "UNPROCESSABLE"
    assert "Sprint" not in fields(town, board)
