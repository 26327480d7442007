"""Real `gh` on repositories and searches, and who it says one is."""

import pytest
from gh_client import GhClient

from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal


def test_auth_status_knows_the_user_and_the_scopes(gh: GhClient) -> None:
    done = gh.do("auth", "status")

    told = done.out + done.err
    assert "Logged in to github.com" in told
    assert " octo " in told
    assert "repo" in told


def test_auth_status_of_a_bad_token_fails(gh: GhClient) -> None:
    assert gh.run("auth", "status", GH_TOKEN="ghp_nobody").code == 1


def test_repo_create_with_a_readme_and_clone_of_it(gh: GhClient) -> None:
    made = gh.do("repo", "create", "acme/fresh", "--public", "--add-readme", "--description", "Fresh")
    gh.do("repo", "clone", "acme/fresh")

    assert made.out.strip() == "https://github.com/acme/fresh"
    assert (gh.directory / "fresh" / "README.md").read_text().startswith("# fresh\nFresh")
    seen = gh.json("repo", "view", "acme/fresh", "--json", "description,isPrivate,defaultBranchRef,isEmpty")
    assert seen == {
        "description": "Fresh",
        "isPrivate": False,
        "defaultBranchRef": {"name": "main"},
        "isEmpty": False,
    }


def test_repo_create_from_a_folder_pushes_it(gh: GhClient) -> None:
    folder = gh.directory / "mine"
    folder.mkdir()
    here = gh.inside(folder)
    here.git("init", "--quiet")
    (folder / "a.txt").write_text("a\n")
    here.git("add", ".")
    here.git("commit", "--quiet", "-m", "Start")

    here.do("repo", "create", "mine", "--private", "--source", ".", "--push")

    world = gh.twin.world
    repository = lookup.repository(world, None, "octo", "mine")
    assert repository.visibility == "private"
    assert world.git(repository).refs()["refs/heads/main"] == here.git("rev-parse", "HEAD").out.strip()


def test_repo_view_shows_the_readme(gh: GhClient) -> None:
    shown = gh.do("repo", "view", "acme/widgets").out

    assert "Widgets for everyone" in shown
    assert "The main page of our widgets." in shown


def test_repo_list_shows_what_one_may_see(gh: GhClient) -> None:
    def names(client: GhClient) -> set[str]:
        return {each["nameWithOwner"] for each in client.json("repo", "list", "acme", "--json", "nameWithOwner")}

    assert names(gh) == {"acme/widgets", "acme/other", "acme/secret"}
    assert names(gh.acting_as("stranger")) == {"acme/widgets", "acme/other"}


def test_repo_clone_and_push_back(gh: GhClient) -> None:
    gh.do("repo", "clone", "acme/other", "here")
    here = gh.inside(gh.directory / "here")
    (here.directory / "new.md").write_text("new\n")
    here.git("add", ".")
    here.git("commit", "--quiet", "-m", "Add new")
    here.git("push", "--quiet")

    assert gh.do("api", "repos/acme/other/contents/new.md", "--jq", ".name").out.strip() == "new.md"


def test_repo_edit_rename_archive_and_delete(gh: GhClient) -> None:
    gh.do("repo", "edit", "acme/other", "--description", "Changed", "--add-topic", "tools", "--enable-wiki=false")
    seen = gh.json("repo", "view", "acme/other", "--json", "description,repositoryTopics,hasWikiEnabled")
    assert (seen["description"], seen["hasWikiEnabled"]) == ("Changed", False)
    assert [each["name"] for each in seen["repositoryTopics"]] == ["tools"]

    gh.do("repo", "rename", "renamed", "--repo", "acme/other", "--yes")
    assert gh.json("repo", "view", "acme/other", "--json", "name") == {"name": "renamed"}  # the old name leads there

    gh.do("repo", "archive", "acme/renamed", "--yes")
    assert gh.json("repo", "view", "acme/renamed", "--json", "isArchived") == {"isArchived": True}

    gh.do("repo", "delete", "acme/renamed", "--yes")
    with pytest.raises(NotFoundRefusal):
        lookup.repository(gh.twin.world, None, "acme", "renamed")


def test_repo_fork_and_a_pull_request_from_it(gh: GhClient) -> None:
    stranger = gh.acting_as("stranger")
    stranger.do("repo", "fork", "acme/widgets", "--clone=false")
    stranger.do("repo", "clone", "stranger/widgets", "fork")
    here = stranger.inside(gh.directory / "fork")
    here.git("checkout", "--quiet", "-b", "gift")
    (here.directory / "gift.md").write_text("for you\n")
    here.git("add", ".")
    here.git("commit", "--quiet", "-m", "Bring a gift")
    here.git("push", "--quiet", "--set-upstream", "origin", "gift")

    made = here.do(
        "pr", "create", "--repo", "acme/widgets", "--head", "stranger:gift", "--title", "A gift", "--body", ""
    )

    number = made.out.strip().rpartition("/")[2]
    seen = gh.json("pr", "view", number, "--json", "isCrossRepository,headRepositoryOwner,author,files")
    assert seen["isCrossRepository"]
    assert seen["headRepositoryOwner"]["login"] == "stranger"
    assert [each["path"] for each in seen["files"]] == ["gift.md"]
    gh.do("pr", "checkout", number)
    assert (gh.directory / "gift.md").read_text() == "for you\n"


def test_repo_sync_brings_new_commits_into_the_clone(gh: GhClient) -> None:
    gh.do("api", "-X", "PUT", "repos/acme/widgets/contents/more.md", "-f", "message=More", "-f", "content=aGkK")

    gh.do("repo", "sync")

    assert (gh.directory / "more.md").read_text() == "hi\n"


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["crash"], {1}),
        (["crash", "--repo", "acme/widgets", "--state", "open", "--label", "bug"], {1}),
        (["--owner", "acme", "--author", "stranger"], {3}),
        (["--owner", "acme", "--state", "closed"], {2}),
        (["--owner", "acme", "--assignee", "@me"], {1}),
        (["nothing-like-it"], set()),
    ],
)
def test_search_issues(gh: GhClient, arguments: list[str], numbers: set[int]) -> None:
    found = gh.json("search", "issues", *arguments, "--json", "number,repository,title")

    assert {each["number"] for each in found} == numbers


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["--review-requested", "@me", "--state", "open"], {7}),
        (["--owner", "acme", "--author", "hubot"], {7, 8}),
        (["--repo", "acme/widgets", "--head", "feature"], {7}),
        (["--repo", "acme/widgets", "--draft"], set()),
    ],
)
def test_search_prs(gh: GhClient, arguments: list[str], numbers: set[int]) -> None:
    found = gh.json("search", "prs", *arguments, "--json", "number,isDraft,state")

    assert {each["number"] for each in found} == numbers


def test_search_repos_and_commits_and_code(new_gh: GhClient) -> None:
    repos = new_gh.json("search", "repos", "widgets", "--json", "fullName,description")
    commits = new_gh.json("search", "commits", "fix", "--repo", "acme/widgets", "--json", "commit")
    code = new_gh.json("search", "code", "main", "--repo", "acme/widgets", "--json", "path")

    assert repos == [{"fullName": "acme/widgets", "description": "Widgets for everyone"}]
    assert [each["commit"]["message"] for each in commits] == ["fix the cli of widgets"]
    assert {each["path"] for each in code} == {"README.md", "src/cli.go"}


def test_a_repository_that_is_not_there(gh: GhClient) -> None:
    missing = gh.run("repo", "view", "acme/nothing")

    assert missing.code == 1
    assert "Could not resolve to a Repository with the name 'acme/nothing'." in missing.err
