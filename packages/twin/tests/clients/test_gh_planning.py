"""Real `gh` on what issues are to each other, on branches made for them, and on reverts."""

from gh_client import GhClient

from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_relations import blocking_issues, sub_issues_of
from ghx_twin.state.records import Issue, IssueType, Repository
from ghx_twin.world import World


def home_of(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def issue_of(world: World, number: int) -> Issue:
    return lookup.issue(world, home_of(world), number)


def test_an_issue_gets_a_type_parts_blockers_and_ends_as_a_duplicate(new_gh: GhClient) -> None:
    world = new_gh.twin.world
    new_gh.do("issue", "create", "--title", "Typed", "--body", "B", "--type", "Bug")
    listed = new_gh.json("issue", "list", "--type", "Bug", "--json", "number,issueType")
    assert [(one["number"], one["issueType"]["name"]) for one in listed] == [(9, "Bug")]
    assert new_gh.json("issue", "list", "--search", "type:bug", "--json", "number") == [{"number": 9}]

    new_gh.do("issue", "edit", "9", "--type", "Task", "--parent", "1", "--add-blocked-by", "3")
    kind = world.database.get(IssueType, issue_of(world, 9).issue_type_id)
    assert kind is not None
    assert kind.name == "Task"
    assert [one.number for one in sub_issues_of(world, issue_of(world, 1))] == [9]
    assert [one.number for one in blocking_issues(world, issue_of(world, 9))] == [3]
    seen = new_gh.json("issue", "view", "9", "--json", "parent,blockedBy,issueType")
    assert (seen["parent"]["number"], seen["issueType"]["name"]) == (1, "Task")

    new_gh.do("issue", "close", "9", "--duplicate-of", "1")
    closed = issue_of(world, 9)
    assert (closed.state, closed.state_reason) == ("closed", "duplicate")
    assert closed.duplicate_of_id == issue_of(world, 1).id


def test_a_branch_is_made_for_an_issue_and_its_pull_request_closes_it(gh: GhClient) -> None:
    world = gh.twin.world
    gh.do("issue", "develop", "1", "--name", "mend-it", "--base", "main", "--checkout")

    assert "mend-it" in gh.do("issue", "develop", "--list", "1").out
    assert gh.execute("git", "branch", "--show-current").out.strip() == "mend-it"
    gh.execute("git", "-c", "user.name=O", "-c", "user.email=o@example.com", "commit", "-q", "--allow-empty", "-m", "M")
    gh.execute("git", "push", "-q", "origin", "mend-it")
    gh.do("pr", "create", "--head", "mend-it", "--base", "main", "--title", "Mend", "--body", "No keyword")
    gh.do("pr", "merge", "mend-it", "--merge")

    assert issue_of(world, 1).state == "closed"


def test_a_merged_pull_request_is_reverted(new_gh: GhClient) -> None:
    world = new_gh.twin.world
    git = world.git(home_of(world))
    before = git.commit(git.ref("refs/heads/main") or "")
    assert before is not None
    new_gh.do("pr", "merge", "7", "--squash")

    made = new_gh.do("pr", "revert", "7", "--title", "Back", "--body", "It broke", "--draft")

    pull = new_gh.json("pr", "view", made.out.strip(), "--json", "title,body,isDraft,headRefName,baseRefName")
    assert (pull["title"], pull["body"], pull["isDraft"], pull["baseRefName"]) == ("Back", "It broke", True, "main")
    tip = git.ref(f"refs/heads/{pull['headRefName']}")
    undone = git.commit(tip or "")
    assert undone is not None
    assert undone.tree == before.tree
