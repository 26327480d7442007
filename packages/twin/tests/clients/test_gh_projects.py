"""Real `gh` on projects: made, viewed, filled, changed, copied and deleted; and issues put on them."""

import json
from typing import Any

import pytest
from gh_client import GhClient

from ghx_twin.commands import projects
from ghx_twin.queries import lookup
from ghx_twin.state.names import object_name
from ghx_twin.state.records import ProjectItem
from ghx_twin.world import World

OWNER = ("--owner", "acme")
JSON = ("--format", "json")


@pytest.fixture
def board(github_world: World) -> None:
    """The project Roadmap of acme, linked to acme/widgets."""
    with github_world.acting(None) as act:
        home = lookup.repository(github_world, None, "acme", "widgets")
        made = projects.create(act, lookup.organization(github_world, "acme"), title="Roadmap", repository=home)
        projects.create_field(act, made, name="Points", data_type="number")


def do(gh: GhClient, *words: str) -> str:
    # `gh` asks for a user and an organization of the owner's name in one query: one of the two is refused each time.
    done = gh.run("project", *words)
    assert done.code == 0, done
    return done.out


def project(gh: GhClient, *words: str) -> Any:
    return json.loads(do(gh, *words, *JSON))


def test_a_project_is_made_viewed_edited_closed_copied_and_deleted(new_gh: GhClient) -> None:
    made = project(new_gh, "create", *OWNER, "--title", "Plans")
    assert (made["number"], made["url"]) == (1, "https://github.com/orgs/acme/projects/1")
    edited = project(
        new_gh, "edit", "1", *OWNER, "--description", "All of them", "--readme", "# Hi", "--visibility", "PUBLIC"
    )
    assert (edited["shortDescription"], edited["readme"], edited["public"]) == ("All of them", "# Hi", True)
    assert project(new_gh, "close", "1", *OWNER)["closed"] is True
    assert project(new_gh, "list", *OWNER)["projects"] == []
    (listed,) = project(new_gh, "list", *OWNER, "--closed")["projects"]
    assert (listed["title"], listed["closed"], listed["fields"]["totalCount"]) == ("Plans", True, 10)
    assert project(new_gh, "close", "1", *OWNER, "--undo")["closed"] is False
    copied = project(
        new_gh, "copy", "1", "--source-owner", "acme", "--target-owner", "@me", "--title", "Mine", "--drafts"
    )
    assert copied["owner"] == {"login": "octo", "type": "User"}
    viewed = do(new_gh, "view", "1", *OWNER)
    assert "Plans" in viewed
    assert "All of them" in viewed
    do(new_gh, "mark-template", "1", *OWNER)
    do(new_gh, "delete", "1", *OWNER)
    gone = new_gh.run("project", "view", "1", *OWNER)
    assert gone.code == 1
    assert "Could not resolve to a ProjectV2 with the number 1." in gone.err


@pytest.mark.usefixtures("board")
def test_items_and_fields_are_listed_added_edited_archived_and_deleted(new_gh: GhClient) -> None:
    gh = new_gh
    identity = project(gh, "view", "1", *OWNER)["id"]
    made = project(gh, "field-create", "1", *OWNER, "--name", "Size", "--data-type", "SINGLE_SELECT",
                   "--single-select-options", "S,L")  # fmt: skip
    fields = {one["name"]: one for one in project(gh, "field-list", "1", *OWNER)["fields"]}
    assert [one["name"] for one in fields["Size"]["options"]] == ["S", "L"]
    issue = project(gh, "item-add", "1", *OWNER, "--url", "https://github.com/acme/widgets/issues/1")
    pull = project(gh, "item-add", "1", *OWNER, "--url", "https://github.com/acme/widgets/pull/7")
    draft = project(gh, "item-create", "1", *OWNER, "--title", "A draft", "--body", "Text")
    assert (issue["type"], pull["type"], draft["type"]) == ("Issue", "PullRequest", "DraftIssue")
    edit = ("item-edit", "--project-id", identity, "--id", issue["id"])
    todo = fields["Status"]["options"][0]["id"]
    project(gh, *edit, "--field-id", fields["Status"]["id"], "--single-select-option-id", todo)
    project(gh, *edit, "--field-id", fields["Points"]["id"], "--number", "3.5")
    draft_content = {one["id"]: one for one in project(gh, "item-list", "1", *OWNER)["items"]}[draft["id"]]["content"]
    project(gh, "item-edit", "--id", draft_content["id"], "--title", "A better draft", "--body", "Text")

    listed = {one["id"]: one for one in project(gh, "item-list", "1", *OWNER)["items"]}

    assert [one["title"] for one in listed.values()] == ["A crash", "Add b", "A better draft"]
    seen = listed[issue["id"]]
    assert (seen["status"], seen["points"], seen["labels"], seen["assignees"]) == ("Todo", 3.5, ["bug"], ["octo"])
    assert (seen["content"]["number"], seen["repository"]) == (1, "https://github.com/acme/widgets")
    chosen = project(gh, "item-list", "1", *OWNER, "--query", "assignee:@me -is:pr status:Todo")["items"]
    assert [one["title"] for one in chosen] == ["A crash"]
    do(gh, *edit, "--field-id", fields["Points"]["id"], "--clear")
    do(gh, "item-archive", "1", *OWNER, "--id", pull["id"])
    do(gh, "item-delete", "1", *OWNER, "--id", draft["id"])
    do(gh, "field-delete", "--id", made["id"])
    (left,) = project(gh, "item-list", "1", *OWNER)["items"]
    assert (left["id"], "points" in left, "size" in left) == (issue["id"], False, False)
    do(gh, "item-archive", "1", *OWNER, "--id", pull["id"], "--undo")
    assert len(project(gh, "item-list", "1", *OWNER)["items"]) == 2
    do(gh, "unlink", "1", *OWNER, "--repo", "acme/widgets")
    do(gh, "link", "1", *OWNER, "--repo", "acme/widgets")


@pytest.mark.usefixtures("board")
def test_issues_are_put_on_projects_by_title(gh: GhClient, github_world: World) -> None:
    made = gh.do("issue", "create", "--title", "Planned", "--body", "Text", "--project", "Roadmap").out
    number = int(made.strip().rpartition("/")[2])
    gh.do("issue", "edit", "1", "--add-project", "Roadmap")

    names = [object_name(github_world.database, one) for one in github_world.database.all(ProjectItem)]
    assert names == [f"acme project 1 item acme/widgets#{each}" for each in (number, 1)]
    gh.do("issue", "edit", "1", "--remove-project", "Roadmap")
    assert github_world.database.count(ProjectItem) == 1


@pytest.mark.usefixtures("board")
def test_an_issue_says_which_projects_it_is_on_and_in_which_state(new_gh: GhClient) -> None:
    new_gh.do("issue", "edit", "3", "--add-project", "Roadmap")
    new_gh.do("issue", "close", "3")

    (item,) = new_gh.json("issue", "view", "3", "--json", "projectItems")["projectItems"]
    assert (item["title"], item["status"]["name"]) == ("Roadmap", "Done")
    assert "Roadmap" in new_gh.do("issue", "view", "3").out
    assert new_gh.json("pr", "view", "7", "--json", "projectItems")["projectItems"] == []


@pytest.mark.usefixtures("board")
def test_a_private_project_is_not_there_for_a_stranger(new_gh: GhClient) -> None:
    refused = new_gh.acting_as("stranger").run("project", "view", "1", *OWNER)
    assert refused.code == 1
    assert "Could not resolve to a ProjectV2 with the number 1." in refused.err
