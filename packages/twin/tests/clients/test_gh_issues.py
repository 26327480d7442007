"""Real `gh` on issues and labels: what it shows is what was seeded, and what it does has happened."""

import pytest
from gh_client import GhClient

from ghx_twin.queries import lookup
from ghx_twin.refusals import GoneRefusal, NotFoundRefusal
from ghx_twin.state.records import Issue
from ghx_twin.world import World


def issue_of(world: World, number: int = 1, name: str = "widgets") -> Issue:
    return lookup.issue(world, lookup.repository(world, None, "acme", name), number)


@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        ([], [3, 1]),
        (["--state", "all"], [3, 2, 1]),
        (["--state", "closed"], [2]),
        (["--label", "bug"], [1]),
        (["--assignee", "octo"], [1]),
        (["--author", "stranger"], [3]),
        (["--milestone", "A title"], [1]),
        (["--search", "crash in:title"], [1]),
        (["--limit", "1"], [3]),
    ],
)
def test_issue_list_filters(gh: GhClient, filters: list[str], numbers: list[int]) -> None:
    listed = gh.json("issue", "list", "--json", "number", *filters)

    assert [each["number"] for each in listed] == numbers


def test_issue_view_has_the_values_of_the_seed(gh: GhClient) -> None:
    fields = "number,title,body,state,author,labels,assignees,milestone,comments,reactionGroups,url"

    seen = gh.json("issue", "view", "1", "--json", fields)

    assert (seen["number"], seen["title"], seen["body"]) == (1, "A crash", "It crashes when it starts.")
    assert (seen["state"], seen["url"]) == ("OPEN", "https://github.com/acme/widgets/issues/1")
    assert seen["author"]["login"] == "hubot"
    assert [(each["name"], each["color"]) for each in seen["labels"]] == [("bug", "d73a4a")]
    assert [(each["login"], each["name"]) for each in seen["assignees"]] == [("octo", "Octo Cat")]
    assert (seen["milestone"]["title"], seen["milestone"]["dueOn"]) == ("A title", "2026-12-01T00:00:00Z")
    assert [(each["author"]["login"], each["body"]) for each in seen["comments"]] == [
        ("hubot", "It still does."),
        ("octo", "I am looking."),
    ]
    assert {each["content"]: each["users"]["totalCount"] for each in seen["reactionGroups"]} == {"THUMBS_UP": 2}


def test_issue_create_with_everything(gh: GhClient) -> None:
    made = gh.do(
        "issue", "create", "--title", "T", "--body", "B", "--label", "bug,question", "--assignee", "@me",
        "--milestone", "A title",
    )  # fmt: skip

    assert made.out.strip() == "https://github.com/acme/widgets/issues/9"
    seen = gh.json("issue", "view", "9", "--json", "title,body,labels,assignees,milestone,author")
    assert (seen["title"], seen["body"], seen["author"]["login"]) == ("T", "B", "octo")
    assert {each["name"] for each in seen["labels"]} == {"bug", "question"}
    assert [each["login"] for each in seen["assignees"]] == ["octo"]
    assert seen["milestone"]["title"] == "A title"


def test_issue_comment_and_edit_of_the_last_one(gh: GhClient) -> None:
    gh.do("issue", "comment", "1", "--body", "first")
    gh.do("issue", "comment", "1", "--body", "second", "--edit-last")

    comments = gh.json("issue", "view", "1", "--json", "comments")["comments"]
    assert [each["body"] for each in comments] == ["It still does.", "I am looking.", "second"]


def test_issue_edit(gh: GhClient) -> None:
    gh.do(
        "issue", "edit", "1", "--title", "N", "--body", "B2", "--add-label", "question", "--remove-label", "bug",
        "--add-assignee", "hubot", "--remove-assignee", "octo", "--milestone", "A title",
    )  # fmt: skip

    seen = gh.json("issue", "view", "1", "--json", "title,body,labels,assignees")
    assert (seen["title"], seen["body"]) == ("N", "B2")
    assert [each["name"] for each in seen["labels"]] == ["question"]
    assert [each["login"] for each in seen["assignees"]] == ["hubot"]


def test_issue_close_and_reopen(gh: GhClient) -> None:
    gh.do("issue", "close", "1", "--reason", "not planned", "--comment", "no")
    closed = issue_of(gh.twin.world)
    assert (closed.state, closed.state_reason) == ("closed", "not_planned")

    gh.do("issue", "reopen", "1")
    assert issue_of(gh.twin.world).state == "open"


def test_issue_delete(gh: GhClient) -> None:
    gh.do("issue", "delete", "1", "--yes")

    with pytest.raises((GoneRefusal, NotFoundRefusal)):
        issue_of(gh.twin.world)
    assert gh.run("issue", "view", "1").code == 1


def test_issue_pin_and_unpin(gh: GhClient) -> None:
    gh.do("issue", "pin", "1")
    assert gh.json("api", "graphql", "-f", f"query={PINNED}")["data"]["repository"]["issue"] == {"isPinned": True}

    gh.do("issue", "unpin", "1")
    assert gh.json("api", "graphql", "-f", f"query={PINNED}")["data"]["repository"]["issue"] == {"isPinned": False}


PINNED = '{repository(owner: "acme", name: "widgets") {issue(number: 1) {isPinned}}}'


def test_issue_lock_and_unlock(gh: GhClient) -> None:
    gh.do("issue", "lock", "1", "--reason", "spam")
    assert issue_of(gh.twin.world).locked
    assert gh.acting_as("stranger").run("issue", "comment", "1", "--body", "but").code == 1

    gh.do("issue", "unlock", "1")
    assert not issue_of(gh.twin.world).locked


def test_issue_transfer(gh: GhClient) -> None:
    moved = gh.do("issue", "transfer", "1", "acme/other")

    assert moved.out.strip() == "https://github.com/acme/other/issues/1"
    assert issue_of(gh.twin.world, 1, "other").title == "A crash"
    assert len(gh.json("issue", "view", "1", "--repo", "acme/other", "--json", "comments")["comments"]) == 2


def test_issue_status_shows_what_is_mine(gh: GhClient) -> None:
    assert "A crash" in gh.do("issue", "status").out


def test_issue_develop_lists_no_branches(new_gh: GhClient) -> None:
    assert not new_gh.do("issue", "develop", "--list", "3").out


def test_labels_are_listed_made_changed_and_removed(gh: GhClient) -> None:
    gh.do("label", "create", "hot potato/1", "--color", "ff0000", "--description", "Careful")
    listed = {each["name"]: each for each in gh.json("label", "list", "--json", "name,color,description")}
    assert listed["hot potato/1"] == {"name": "hot potato/1", "color": "ff0000", "description": "Careful"}
    assert listed["bug"]["description"] == "Something isn't working"

    gh.do("label", "edit", "hot potato/1", "--name", "cold", "--color", "0000ff")
    assert gh.json("label", "list", "--search", "cold", "--json", "name,color") == [{"name": "cold", "color": "0000ff"}]

    gh.do("label", "delete", "cold", "--yes")
    assert not gh.do("label", "list", "--search", "cold", "--json", "name").out


def test_a_label_that_is_there_is_only_made_again_by_force(gh: GhClient) -> None:
    refused = gh.run("label", "create", "bug", "--color", "ff0000")

    assert refused.code == 1
    assert 'label with name "bug" already exists' in refused.err
    assert gh.run("label", "create", "bug", "--color", "00ff00", "--force").code == 0
    assert gh.json("label", "list", "--search", "bug", "--json", "color")[0]["color"] == "00ff00"


def test_a_reader_may_not_label(gh: GhClient) -> None:
    refused = gh.acting_as("reader").run("label", "create", "mine", "--color", "ff0000")

    assert refused.code == 1
    assert refused.requests[-1].status in {403, 404}
