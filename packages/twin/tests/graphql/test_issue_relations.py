"""What issues are to each other over GraphQL: order, dependencies, duplicates, types, linked branches; and reverts."""

from graphql_world import Town

from ghx_twin.commands.pulls import merges
from ghx_twin.queries import lookup
from ghx_twin.state.records import IssueType

HOME = 'repository(owner: "acme", name: "widgets")'
RELATED = """{ repository(owner: "acme", name: "widgets") { issue(number: 1) {
  parent { number } subIssues(first: 9) { nodes { number } } subIssuesSummary { total completed percentCompleted }
  blockedBy(first: 9, orderBy: {field: CREATED_AT, direction: DESC}) { nodes { number } }
  issueDependenciesSummary { blockedBy totalBlockedBy blocking totalBlocking }
} } }"""


def test_parts_have_an_order_and_dependencies_a_summary(town: Town) -> None:
    whole = town.id(town.issue(1))
    for number in (2, 3):
        town.mutate("addSubIssue", "issue { id }", issueId=whole, subIssueId=town.id(town.issue(number)))
        town.mutate("addBlockedBy", "issue { id }", issueId=whole, blockingIssueId=town.id(town.issue(number)))
    address = "https://github.com/acme/widgets/issues/4"
    town.mutate("addSubIssue", "subIssue { number }", issueId=whole, subIssueUrl=address)
    first, last = (town.id(town.issue(number)) for number in (2, 4))
    town.mutate("reprioritizeSubIssue", "issue { id }", issueId=whole, subIssueId=last, beforeId=first)

    seen = town.ask(RELATED).data["repository"]["issue"]

    assert [one["number"] for one in seen["subIssues"]["nodes"]] == [4, 2, 3]
    assert [one["number"] for one in seen["blockedBy"]["nodes"]] == [3, 2]
    assert seen["subIssuesSummary"]["total"] == 3
    assert seen["issueDependenciesSummary"] == {"blockedBy": 1, "totalBlockedBy": 2, "blocking": 0, "totalBlocking": 0}
    again = town.try_to("addSubIssue", "issue { id }", issueId=whole, subIssueId=first)
    assert again.errors[0]["message"] == (
        "An error occured while adding the sub-issue to the parent issue. "
        "Issue may not contain duplicate sub-issues and Sub issue may only have one parent"
    )


def test_a_duplicate_names_the_issue_that_stays_until_it_is_unmarked(town: Town) -> None:
    first, second = town.id(town.issue(1)), town.id(town.issue(2))
    shown = "issue { stateReason(enableDuplicate: true) duplicateOf { number } }"

    closed = town.mutate("closeIssue", shown, issueId=second, duplicateIssueId=first)
    town.mutate(
        "unmarkIssueAsDuplicate", "duplicate { ... on Issue { number } }", canonicalId=first, duplicateId=second
    )

    assert closed == {"issue": {"stateReason": "DUPLICATE", "duplicateOf": {"number": 1}}}
    assert town.issue(2).duplicate_of_id is None
    assert "errors" in town.try_to("closeIssue", shown, issueId=first, duplicateIssueId=first).body


def test_types_of_an_organization_are_made_changed_and_deleted(town: Town) -> None:
    owner = lookup.organization(town.world, "acme")
    shown = "issueType { id name color isEnabled }"
    made = town.mutate("createIssueType", shown, ownerId=town.id(owner), name="Epic", isEnabled=True, color="GREEN")
    identity = made["issueType"]["id"]
    town.mutate("updateIssueIssueType", "issue { id }", issueId=town.id(town.issue(1)), issueTypeId=identity)

    changed = town.mutate("updateIssueType", shown, issueTypeId=identity, name="Saga", isEnabled=False)

    assert changed["issueType"] == {"id": identity, "name": "Saga", "color": "GREEN", "isEnabled": False}
    refused = town.try_to("updateIssueIssueType", "issue { id }", issueId=town.id(town.issue(2)), issueTypeId=identity)
    assert "errors" in refused.body  # a disabled type stays where it is, and is given to no other issue
    town.mutate("deleteIssueType", "deletedIssueTypeId", issueTypeId=identity)
    assert town.issue(1).issue_type_id is None
    names = {one.name for one in town.world.database.all(IssueType, organization_id=owner.id)}
    assert names == {"Task", "Bug", "Feature"}
    assert (
        "errors"
        in town.try_to("createIssueType", shown, by="rev", ownerId=town.id(owner), name="X", isEnabled=True).body
    )


def test_a_branch_is_linked_to_an_issue_and_unlinked(town: Town) -> None:
    issue = town.id(town.issue(1))
    made = town.mutate("createLinkedBranch", "linkedBranch { id ref { name } }", issueId=issue, oid=town.tip("main"))
    linked = f"{{ {HOME} {{ issue(number: 1) {{ linkedBranches(first: 9) {{ nodes {{ ref {{ name }} }} }} }} }} }}"

    def names() -> list[str]:
        nodes = town.ask(linked).data["repository"]["issue"]["linkedBranches"]["nodes"]
        return [one["ref"]["name"] for one in nodes]

    name = made["linkedBranch"]["ref"]["name"]
    assert name.startswith("1-")
    assert names() == [name]
    taken = town.try_to("createLinkedBranch", "issue { id }", issueId=issue, oid=town.tip("main"), name=name)
    assert "errors" in taken.body
    town.mutate("deleteLinkedBranch", "issue { number }", linkedBranchId=made["linkedBranch"]["id"])
    assert names() == []
    assert town.tip(name) == town.tip("main")


def test_a_revert_undoes_a_merge_once(town: Town) -> None:
    pull = town.pull()
    shown = (
        "revertPullRequest { number title body headRefName isDraft commits(first: 2) { nodes { commit { message } } } }"
    )
    early = town.try_to("revertPullRequest", shown, pullRequestId=town.id(pull))
    before = town.world.git(town.repository).commit(town.tip("main"))
    with town.acting() as act:
        merged = merges.merge(act, pull)

    made = town.mutate("revertPullRequest", shown, pullRequestId=town.id(pull))["revertPullRequest"]

    assert "errors" in early.body
    title = lookup.issue_of(town.world, pull).title
    assert (made["title"], made["body"]) == (f'Revert "{title}"', "Reverts acme/widgets#7")
    assert made["headRefName"] == f"revert-7-{pull.head_ref}"
    (commit,) = made["commits"]["nodes"]
    assert f"This reverts commit {merged}, reversing\nchanges made to" in commit["commit"]["message"]
    undone = town.world.git(town.repository).commit(town.tip(made["headRefName"]))
    assert before is not None
    assert undone is not None
    assert undone.tree == before.tree
    with town.acting() as act:
        merges.merge(act, lookup.pull(town.world, town.repository, made["number"]))
    assert (
        "couldn't be reverted"
        in town.try_to("revertPullRequest", shown, pullRequestId=town.id(pull)).errors[0]["message"]
    )


def test_labels_are_listed_by_how_often_they_are_used(town: Town) -> None:
    order = "orderBy: {field: ISSUE_COUNT, direction: DESC}"
    asked = f"{{ {HOME} {{ labels(first: 2, {order}) {{ nodes {{ name issues {{ totalCount }} }} }} }} }}"

    first, second = town.ask(asked).data["repository"]["labels"]["nodes"]

    assert first["issues"]["totalCount"] >= second["issues"]["totalCount"]


def test_those_who_can_be_given_work_are_suggested(town: Town) -> None:
    wanted = "suggestedActors(first: 9, capabilities: [CAN_BE_ASSIGNED]) { nodes { login } }"
    assignable = "assignableUsers(first: 9) { nodes { login } }"

    seen = town.ask(f"{{ {HOME} {{ {wanted} {assignable} }} }}").data["repository"]

    people = {one["login"] for one in seen["assignableUsers"]["nodes"]}
    assert {one["login"] for one in seen["suggestedActors"]["nodes"]} >= people
