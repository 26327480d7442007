"""Real `gh` on pull requests: what it shows is what was seeded, and what it does has happened."""

import pytest
from gh_client import GhClient

from ghx_twin.commands import repositories
from ghx_twin.commands.pulls import pulls
from ghx_twin.queries import lookup
from ghx_twin.state.records import Issue, Pull, Repository
from ghx_twin.world import World


def widgets_of(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def pull_of(world: World, number: int = 7) -> tuple[Pull, Issue]:
    found = lookup.pull(world, widgets_of(world), number)
    return found, lookup.issue_of(world, found)


def test_pr_list_shows_what_is_open(gh: GhClient) -> None:
    fields = "number,title,state,headRefName,baseRefName,author,labels,isDraft"

    (listed,) = gh.json("pr", "list", "--json", fields)

    assert listed["author"]["login"] == "hubot"
    assert {label["name"] for label in listed["labels"]} == {"bug", "enhancement"}
    assert {key: listed[key] for key in ("number", "title", "state", "headRefName", "baseRefName", "isDraft")} == {
        "number": 7,
        "title": "Add b",
        "state": "OPEN",
        "headRefName": "feature",
        "baseRefName": "main",
        "isDraft": False,
    }


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (["--state", "all"], [8, 7]),
        (["--state", "closed"], [8]),
        (["--author", "hubot"], [7]),
        (["--author", "octo"], []),
        (["--label", "bug", "--assignee", "octo"], [7]),
        (["--search", "review-requested:@me"], [7]),
        (["--head", "feature"], [7]),
        (["--base", "topic"], []),
    ],
)
def test_pr_list_filters(new_gh: GhClient, filters: list[str], numbers: list[int]) -> None:
    listed = new_gh.json("pr", "list", "--json", "number", *filters)

    assert [each["number"] for each in listed] == numbers


def test_pr_view_has_the_values_of_the_seed(gh: GhClient) -> None:
    fields = "title,body,author,labels,assignees,milestone,reviews,reviewRequests,comments,files,additions,deletions"

    seen = gh.json("pr", "view", "7", "--json", f"{fields},mergeable,mergeStateStatus,commits,statusCheckRollup")

    assert seen["title"] == "Add b"
    assert seen["body"] == "A fix for the crash. Fixes #1"
    assert [each["login"] for each in seen["assignees"]] == ["octo"]
    assert seen["milestone"]["title"] == "A title"
    assert [each["login"] for each in seen["reviewRequests"]] == ["octo"]
    assert [each["body"] for each in seen["comments"]] == ["Nice."]
    assert seen["reviews"][0]["author"]["login"] == "reader"
    assert {each["path"]: each["additions"] for each in seen["files"]} == {"README.md": 1, "src/b.py": 4}
    assert (seen["additions"], seen["deletions"]) == (5, 1)
    assert (seen["mergeable"], seen["mergeStateStatus"]) == ("MERGEABLE", "CLEAN")
    assert [each["messageHeadline"] for each in seen["commits"]] == ["Add b"]
    assert {each.get("name") or each.get("context") for each in seen["statusCheckRollup"]} == {"build", "lint"}


def test_pr_view_of_the_branch_one_stands_on(gh: GhClient) -> None:
    gh.git("checkout", "--quiet", "feature")

    assert gh.json("pr", "view", "--json", "number") == {"number": 7}


def test_pr_diff_is_what_git_says(gh: GhClient) -> None:
    expected = gh.git("diff", "origin/main...origin/feature").out

    assert gh.do("pr", "diff", "7").out == expected


def test_pr_checkout_brings_the_branch_here(gh: GhClient) -> None:
    gh.do("pr", "checkout", "7")

    assert gh.git("branch", "--show-current").out == "feature\n"
    assert (gh.directory / "src" / "b.py").exists()


def test_pr_checks_lists_them(gh: GhClient) -> None:
    assert {line.split("\t")[0] for line in gh.do("pr", "checks", "7").out.splitlines()} == {"build", "lint"}


def test_pr_create_pushes_nothing_and_opens_one(gh: GhClient) -> None:
    gh.git("checkout", "--quiet", "topic")

    made = gh.do("pr", "create", "--title", "A topic", "--body", "Closes #3", "--label", "bug", "--draft")

    pull, issue = pull_of(gh.twin.world, 9)
    assert made.out.strip() == "https://github.com/acme/widgets/pull/9"
    assert (issue.title, issue.body, pull.head_ref, pull.draft) == ("A topic", "Closes #3", "topic", True)
    assert gh.json("pr", "view", "9", "--json", "labels")["labels"][0]["name"] == "bug"


def test_pr_create_fill_after_a_push_takes_its_title_from_the_commit(gh: GhClient) -> None:
    gh.git("checkout", "--quiet", "-b", "fresh")
    (gh.directory / "fresh.md").write_text("fresh\n")
    gh.git("add", "fresh.md")
    gh.git("commit", "--quiet", "-m", "Add something fresh", "-m", "It is.")
    gh.git("push", "--quiet", "--set-upstream", "origin", "fresh")

    gh.do("pr", "create", "--fill", "--reviewer", "hubot", "--assignee", "@me")

    seen = gh.json("pr", "view", "9", "--json", "title,body,reviewRequests,assignees")
    assert (seen["title"], seen["body"].strip()) == ("Add something fresh", "It is.")
    assert [each["login"] for each in seen["reviewRequests"]] == ["hubot"]
    assert [each["login"] for each in seen["assignees"]] == ["octo"]


@pytest.mark.parametrize(
    ("flag", "state", "decision"),
    [
        ("--approve", "APPROVED", "APPROVED"),
        ("--request-changes", "CHANGES_REQUESTED", "CHANGES_REQUESTED"),
        ("--comment", "COMMENTED", "REVIEW_REQUIRED"),
    ],
)
def test_pr_review(gh: GhClient, flag: str, state: str, decision: str) -> None:
    with gh.twin.world.acting(None) as act:
        repositories.protect(act, widgets_of(gh.twin.world), pattern="main", required_approvals=1)

    gh.do("pr", "review", "7", flag, "--body", "my word")

    seen = gh.json("pr", "view", "7", "--json", "reviews,reviewDecision")
    last = seen["reviews"][-1]
    assert (last["state"], last["body"], last["author"]["login"]) == (state, "my word", "octo")
    assert seen["reviewDecision"] == decision


def test_nobody_approves_their_own(gh: GhClient) -> None:
    refused = gh.acting_as("hubot").run("pr", "review", "7", "--approve")

    assert refused.code == 1
    assert "approve your own pull request" in refused.err.lower()


def test_pr_comment(gh: GhClient) -> None:
    said = gh.do("pr", "comment", "7", "--body", "hello")

    assert said.out.startswith("https://github.com/acme/widgets/pull/7#issuecomment-")
    assert gh.json("pr", "view", "7", "--json", "comments")["comments"][-1]["body"] == "hello"


def test_pr_edit_changes_everything_at_once(gh: GhClient) -> None:
    gh.do(
        "pr", "edit", "7", "--title", "New", "--body", "Text", "--base", "topic", "--add-label", "question",
        "--remove-label", "bug", "--add-assignee", "hubot", "--remove-assignee", "octo", "--add-reviewer", "reader",
    )  # fmt: skip

    seen = gh.json("pr", "view", "7", "--json", "title,body,baseRefName,labels,assignees,reviewRequests")
    assert (seen["title"], seen["body"], seen["baseRefName"]) == ("New", "Text", "topic")
    assert {each["name"] for each in seen["labels"]} == {"enhancement", "question"}
    assert [each["login"] for each in seen["assignees"]] == ["hubot"]
    assert {each["login"] for each in seen["reviewRequests"]} == {"octo", "reader"}


def test_pr_ready_and_back(gh: GhClient) -> None:
    gh.do("pr", "ready", "7", "--undo")
    assert pull_of(gh.twin.world)[0].draft

    gh.do("pr", "ready", "7")
    assert not pull_of(gh.twin.world)[0].draft


def test_pr_close_and_reopen(gh: GhClient) -> None:
    gh.do("pr", "close", "7", "--comment", "bye")
    assert pull_of(gh.twin.world)[1].state == "closed"

    gh.do("pr", "reopen", "7")
    assert pull_of(gh.twin.world)[1].state == "open"


@pytest.mark.parametrize(("method", "parents"), [("--merge", 2), ("--squash", 1), ("--rebase", 1)])
def test_pr_merge_makes_a_real_commit_and_deletes_the_branch(gh: GhClient, method: str, parents: int) -> None:
    gh.do("pr", "merge", "7", method, "--delete-branch")

    world = gh.twin.world
    git = world.git(widgets_of(world))
    tip = git.commit(git.refs()["refs/heads/main"])
    pull, issue = pull_of(world)
    assert tip is not None
    assert pull.merge_commit_sha == tip.sha
    assert len(tip.parents) == parents
    assert "refs/heads/feature" not in git.refs()
    assert git.entry(tip.sha, "src/b.py") is not None
    assert issue.state == "closed"
    assert lookup.issue(world, widgets_of(world), 1).state == "closed"  # "Fixes #1"
    gh.git("pull", "--quiet", "origin", "main")
    assert gh.git("rev-parse", "HEAD").out.strip() == tip.sha


def test_a_draft_is_not_merged(gh: GhClient) -> None:
    with gh.twin.world.acting(None) as act:
        pulls.convert_to_draft(act, pull_of(gh.twin.world)[0])

    refused = gh.run("pr", "merge", "7", "--merge")

    assert refused.code == 1
    assert "draft" in refused.err
    assert pull_of(gh.twin.world)[1].state == "open"


def test_pr_update_branch(new_gh: GhClient) -> None:
    new_gh.do("api", "-X", "PUT", "repos/acme/widgets/contents/more.md", "-f", "message=More", "-f", "content=aGkK")

    new_gh.do("pr", "update-branch", "7")

    pull, _ = pull_of(new_gh.twin.world)
    assert new_gh.twin.world.git(widgets_of(new_gh.twin.world)).entry(pull.head_sha, "more.md") is not None


def test_pr_lock_and_unlock(gh: GhClient) -> None:
    gh.do("pr", "lock", "7", "--reason", "resolved")
    assert pull_of(gh.twin.world)[1].locked

    gh.do("pr", "unlock", "7")
    assert not pull_of(gh.twin.world)[1].locked


def test_pr_of_a_number_that_is_an_issue_is_not_found(gh: GhClient) -> None:
    missing = gh.run("pr", "view", "1")

    assert missing.code == 1
    assert "Could not resolve to a PullRequest with the number of 1." in missing.err
