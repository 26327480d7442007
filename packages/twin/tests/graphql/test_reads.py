"""What queries show of a world is what is in it."""

import json
from typing import Any

import pytest
from graphql_world import Town

from ghx_twin.commands import issues, users
from ghx_twin.graphql.execution import execute
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import Viewer


def _widgets(
    town: Town, selection: str, variables: dict[str, Any] | None = None, *, declared: str = "", by: str = "octo"
) -> Any:
    query = f'query Q{declared} {{ repository(owner: "acme", name: "widgets") {{ {selection} }} }}'
    return town.ask(query, variables, by=by).data["repository"]


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ("states: OPEN", [1, 2, 4, 6]),
        ("states: [CLOSED]", [3, 5]),
        ('labels: ["BUG"]', [1]),
        ('filterBy: {assignee: "REV"}', [1]),
        ('filterBy: {assignee: "*"}', [1]),
        ("filterBy: {assignee: null}", [2, 3, 4, 5, 6]),
        ('filterBy: {createdBy: "ann", states: [OPEN]}', [2, 4, 6]),
        ('filterBy: {mentioned: "octo"}', [1]),
        ('filterBy: {milestoneNumber: "1"}', [1]),
        ('filterBy: {milestone: "*"}', [1]),
        ("filterBy: {milestone: null}", [2, 3, 4, 5, 6]),
        ('filterBy: {milestoneNumber: "no"}', []),
        ('filterBy: {since: "2030-01-01T00:00:00Z"}', []),
        ("orderBy: {field: COMMENTS, direction: DESC}, states: [OPEN]", [1, 6, 4, 2]),
        ("orderBy: {field: CREATED_AT, direction: DESC}", [6, 5, 4, 3, 2, 1]),
    ],
)
def test_issues_are_filtered_and_ordered(town: Town, arguments: str, numbers: list[int]) -> None:
    found = _widgets(town, f"issues(first: 20, {arguments}) {{ totalCount nodes {{ number }} }}")["issues"]

    assert [one["number"] for one in found["nodes"]] == numbers
    assert found["totalCount"] == len(numbers)


def test_an_absent_variable_in_a_filter_filters_nothing(town: Town) -> None:
    selection = (
        "issues(first: 9, filterBy: {assignee: $assignee, createdBy: $author, mentioned: $mention}) { totalCount }"
    )

    found = _widgets(
        town, selection, {"author": "octo"}, declared="($assignee: String, $author: String, $mention: String)"
    )

    assert found["issues"]["totalCount"] == 1


def test_objects_are_found_by_expression(town: Town) -> None:
    found = _widgets(
        town,
        'branch: object(expression: "main") { __typename oid } '
        'file: object(expression: "HEAD:poem.txt") { __typename ... on Blob { text byteSize isBinary } } '
        'folder: object(expression: "main:") { __typename ... on Tree { entries { name '
        "type mode path object { __typename } } } } "
        'tag: object(expression: "v0.1") { __typename ... on Tag { name message target { oid } tagger { name } } } '
        'nothing: object(expression: "main:no/such") { oid } nowhere: object(expression: "nope") { oid }',
    )

    assert found["branch"] == {"__typename": "Commit", "oid": town.tip()}
    assert found["file"]["text"].startswith("line 1\n")
    assert (found["file"]["byteSize"], found["file"]["isBinary"]) == (len(found["file"]["text"]), False)
    assert found["folder"]["entries"][-1] == {
        "name": "poem.txt",
        "type": "blob",
        "mode": 0o100644,
        "path": "poem.txt",
        "object": {"__typename": "Blob"},
    }
    assert (found["tag"]["name"], found["tag"]["target"]) == ("v0.1", {"oid": town.tip()})
    assert (found["nothing"], found["nowhere"]) == (None, None)


def test_entries_of_a_folder_carry_their_whole_path(town: Town) -> None:
    town.put("docs/guide.md", "Guide\n", "main")

    found = _widgets(
        town,
        'object(expression: "main:docs") { ... on Tree { entries { name path } } } '
        'whole: object(expression: "main") { ... on Commit { tree { entries { path '
        "object { ... on Tree { entries { path } } } } } } }",
    )

    assert found["object"]["entries"] == [{"name": "guide.md", "path": "docs/guide.md"}]
    inner = next(one["object"] for one in found["whole"]["tree"]["entries"] if one["path"] == "docs")
    assert inner["entries"] == [{"path": "docs/guide.md"}]


def test_refs_are_listed_and_compared(town: Town) -> None:
    found = _widgets(
        town,
        'refs(first: 9, refPrefix: "refs/heads/") { totalCount nodes { name prefix } } '
        'tags: refs(first: 9, refPrefix: "refs/tags/") { nodes { name target { __typename } } } '
        'one: refs(first: 9, refPrefix: "refs/heads/", query: "fea") { nodes { name } } '
        'ref(qualifiedName: "refs/heads/main") { name compare(headRef: "feature") { '
        "status aheadBy behindBy commits(first: 3) { totalCount } } "
        'branchProtectionRule { id } } missing: ref(qualifiedName: "no") { name } '
        'head: ref(qualifiedName: "feature") { associatedPullRequests(first: 2) { nodes { number } } } '
        'hidden: ref(qualifiedName: "refs/pull/7/head") { name }',
    )

    assert found["refs"]["nodes"] == [
        {"name": "feature", "prefix": "refs/heads/"},
        {"name": "main", "prefix": "refs/heads/"},
    ]
    assert found["tags"]["nodes"] == [{"name": "v0.1", "target": {"__typename": "Tag"}}]
    assert found["one"]["nodes"] == [{"name": "feature"}]
    assert found["ref"]["compare"] == {"status": "AHEAD", "aheadBy": 1, "behindBy": 0, "commits": {"totalCount": 1}}
    assert found["missing"] is None
    assert found["hidden"] is None
    assert found["head"]["associatedPullRequests"]["nodes"] == [{"number": 7}]


def test_history_is_read_from_the_newest(town: Town) -> None:
    target = (
        "target { ... on Commit { history(first: 1) { totalCount nodes { messageHeadline } } "
        'file(path: "poem.txt") { lineCount size } }}'
    )
    found = _widgets(
        town,
        f'defaultBranchRef {{ {target} }} object(expression: "feature") {{ ... on Commit {{ '
        'history(first: 5, path: "poem.txt") { nodes { messageHeadline additions '
        "deletions associatedPullRequests(first: 1) { nodes { number } } } } } }",
    )

    history = found["defaultBranchRef"]["target"]["history"]
    assert (history["totalCount"], history["nodes"]) == (2, [{"messageHeadline": "Write a poem"}])
    assert found["defaultBranchRef"]["target"]["file"]["lineCount"] == 30
    assert found["object"]["history"]["nodes"] == [
        {
            "messageHeadline": "Edit the poem",
            "additions": 2,
            "deletions": 1,
            "associatedPullRequests": {"nodes": [{"number": 7}]},
        },
        {"messageHeadline": "Write a poem", "additions": 30, "deletions": 0, "associatedPullRequests": {"nodes": []}},
    ]


def test_searches_find_issues_repositories_and_people(town: Town) -> None:
    found = town.ask(
        '{ issues: search(query: "repo:acme/widgets is:pr is:open", type: '
        "ISSUE_ADVANCED, first: 5) { issueCount nodes { ... on PullRequest { number } } "
        "} "
        'repos: search(query: "user:acme", type: REPOSITORY, first: 5) { repositoryCount '
        "edges { node { ... on Repository { name } } } } "
        'people: search(query: "octo", type: USER, first: 5) { userCount nodes { ... on User { login } } } '
        'none: search(query: "repo:no/such", type: ISSUE, first: 5) { issueCount } }'
    ).data

    assert found["issues"] == {"issueCount": 1, "nodes": [{"number": 7}]}
    assert {one["node"]["name"] for one in found["repos"]["edges"]} == {"widgets", "other"}
    assert found["people"] == {"userCount": 1, "nodes": [{"login": "octo"}]}
    assert found["none"] == {"issueCount": 0}


def test_repositories_of_an_owner_are_listed(town: Town) -> None:
    query = (
        "query($owner: String!, $privacy: RepositoryPrivacy) { repositoryOwner(login: $owner) { login "
        "repositories(first: 9, privacy: $privacy, ownerAffiliations: OWNER, orderBy: "
        "{field: NAME, direction: ASC}) { totalCount nodes { name visibility } } } }"
    )

    own = town.ask(query, {"owner": "octo"}).data["repositoryOwner"]["repositories"]
    seen = town.ask(query, {"owner": "octo"}, by="bob").data["repositoryOwner"]["repositories"]
    public = town.ask(query, {"owner": "acme", "privacy": "PUBLIC"}).data["repositoryOwner"]["repositories"]

    assert own["nodes"] == [{"name": "secret", "visibility": "PRIVATE"}]
    assert seen["totalCount"] == 0
    assert [one["name"] for one in public["nodes"]] == ["other", "widgets"]


def test_a_page_is_found_by_its_address(town: Town) -> None:
    query = "query($url: URI!) { resource(url: $url) { __typename url } }"

    kinds = {
        path: (town.ask(query, {"url": f"https://github.com/{path}"}).data["resource"] or {}).get("__typename")
        for path in (
            "octo",
            "acme/widgets",
            "acme/widgets/issues/1",
            "acme/widgets/pull/7",
            "acme/no",
            "octo/secret/x/y",
        )
    }

    assert kinds == {
        "octo": "User",
        "acme/widgets": "Repository",
        "acme/widgets/issues/1": "Issue",
        "acme/widgets/pull/7": "PullRequest",
        "acme/no": None,
        "octo/secret/x/y": None,
    }


def test_a_bot_is_shown_without_its_suffix(town: Town) -> None:
    robot = town.people["robot[bot]"]
    with town.world.acting(Viewer(user=robot)) as act:
        issues.create(act, town.repository, title="Beep")

    found = _widgets(town, "issue(number: 8) { author { __typename login url ... on Bot { databaseId } } }")["issue"]

    assert found["author"] == {
        "__typename": "Bot",
        "login": "robot",
        "url": "https://github.com/apps/robot",
        "databaseId": robot.id,
    }


def test_teams_are_for_tokens_that_may_read_organizations(town: Town) -> None:
    query = json.dumps({"query": '{ organization(login: "acme") { teams(first: 1) { totalCount } } }'}).encode()

    answers = [
        json.loads(execute(town.world, town.viewer("octo", frozenset(scopes)), query, GITHUB_URLS).content)
        for scopes in ({"repo"}, {"repo", "admin:org"})
    ]

    assert answers[0]["errors"][0]["type"] == "INSUFFICIENT_SCOPES"
    assert "'teams' field requires one of the following scopes: ['read:org']" in answers[0]["errors"][0]["message"]
    assert answers[1]["data"]["organization"]["teams"]["totalCount"]


@pytest.mark.parametrize(
    ("login", "permission", "allowed"),
    [("octo", "ADMIN", (True, True, True)), ("ann", "TRIAGE", (True, False, False)), ("bob", "READ", (False,) * 3)],
)
def test_what_the_viewer_may_do_follows_from_their_role(
    town: Town, login: str, permission: str, allowed: tuple[bool, bool, bool]
) -> None:
    label, delete, update = allowed
    found = _widgets(
        town,
        (
            "viewerPermission issue(number: 1) { viewerCanLabel viewerCanDelete "
            "viewerCanUpdate viewerCannotUpdateReasons viewerDidAuthor }"
        ),
        by=login,
    )

    assert found["viewerPermission"] == permission
    assert found["issue"] == {
        "viewerCanLabel": label,
        "viewerCanDelete": delete,
        "viewerCanUpdate": update,
        "viewerCannotUpdateReasons": [] if update else ["INSUFFICIENT_ACCESS"],
        "viewerDidAuthor": login == "octo",
    }


def test_what_gh_asks_by_default_is_there_though_empty(town: Town) -> None:
    found = _widgets(
        town,
        "issue(number: 1) { projectItems(first: 9) { totalCount nodes { id } } "
        "projectCards(first: 9) { nodes { project { name } } } "
        "issueType { name } parent { number } subIssues(first: 3) { totalCount } "
        "subIssuesSummary { total completed percentCompleted } "
        "blockedBy(first: 3) { totalCount } blocking(first: 3) { totalCount } "
        "linkedBranches(first: 3) { nodes { ref { name } } } "
        "closedByPullRequestsReferences(first: 3) { nodes { number } } bodyText }",
    )["issue"]

    assert found == {
        "projectItems": {"totalCount": 0, "nodes": []},
        "projectCards": {"nodes": []},
        "issueType": None,
        "parent": None,
        "subIssues": {"totalCount": 0},
        "subIssuesSummary": {"total": 0, "completed": 0, "percentCompleted": 0},
        "blockedBy": {"totalCount": 0},
        "blocking": {"totalCount": 0},
        "linkedBranches": {"nodes": []},
        "closedByPullRequestsReferences": {"nodes": [{"number": 7}]},
        "bodyText": "Steps\n\none",
    }


def test_people_teams_and_organizations_are_shown(town: Town) -> None:
    found = town.ask(
        '{ organization(login: "acme") { name viewerIsAMember viewerCanAdminister '
        "teams(first: 5) { nodes { slug combinedSlug members(first: 5) "
        "{ edges { role node { login } } } organization { login } } } "
        "membersWithRole(first: 5) { edges { role node { login } } } } "
        "viewer { organizations(first: 5) { nodes { login } } isViewer } }"
    ).data

    assert found["organization"]["teams"]["nodes"] == [
        {
            "slug": "core-team",
            "combinedSlug": "acme/core-team",
            "members": {"edges": [{"role": "MEMBER", "node": {"login": "rev"}}]},
            "organization": {"login": "acme"},
        }
    ]
    assert found["organization"]["membersWithRole"]["edges"] == [
        {"role": "ADMIN", "node": {"login": "octo"}},
        {"role": "MEMBER", "node": {"login": "rev"}},
    ]
    assert found["viewer"] == {"organizations": {"nodes": [{"login": "acme"}]}, "isViewer": True}


def test_collaborators_are_shown_to_those_who_can_push(town: Town) -> None:
    selection = (
        "collaborators(first: 9) { edges { permission node { login } } } assignableUsers(first: 9) { nodes { login } }"
    )

    found = _widgets(town, selection)

    assert {(one["node"]["login"], one["permission"]) for one in found["collaborators"]["edges"]} == {
        ("octo", "ADMIN"),
        ("rev", "WRITE"),
        ("ann", "TRIAGE"),
    }
    refused = town.ask(f'{{ repository(owner: "acme", name: "widgets") {{ {selection} }} }}', by="bob")
    assert refused.body["data"]["repository"]["collaborators"] is None


def test_addresses_are_those_of_the_host_that_was_asked(town: Town) -> None:
    from ghx_twin.graphql.execution import execute
    from ghx_twin.urls import find_endpoint

    base = find_endpoint("127.0.0.1:8080", "http", "/graphql").urls
    body = b'{"query": "{ repository(owner: \\"acme\\", name: \\"widgets\\") { url pullRequest(number: 7) { url } } }"}'

    answer = execute(town.world, town.viewer("octo"), body, base)

    assert b'"url":"http://127.0.0.1:8080/acme/widgets/pull/7"' in answer.content


def test_users_can_be_made_after_the_first_question(town: Town) -> None:
    with town.acting(None) as act:
        users.create_user(act, login="late")

    assert town.ask('{ user(login: "LATE") { login } }').data == {"user": {"login": "late"}}
