"""Real `gh` on variables, secrets, caches and environments of GitHub Actions."""

import pytest
from gh_client import GhClient

from ghx_twin.commands.actions import caches, deployments
from ghx_twin.queries import lookup
from ghx_twin.state.records import ActionsCache, Secret
from ghx_twin.world import World


@pytest.fixture
def place(github_world: World) -> str:
    with github_world.acting(None) as act:
        home = lookup.repository(github_world, None, "acme", "widgets")
        return deployments.put_environment(act, home, "staging").name


def names(gh: GhClient, *arguments: str) -> list[str]:
    return [line.split("\t")[0] for line in gh.do(*arguments).out.splitlines()]


@pytest.mark.parametrize("where", [(), ("--env", "staging"), ("--org", "acme")])
def test_variables_are_set_changed_listed_and_deleted(new_gh: GhClient, place: str, where: tuple[str, ...]) -> None:
    assert place
    new_gh.do("variable", "set", "LEVEL", "--body", "high", *where)
    changed = new_gh.run("variable", "set", "LEVEL", "--body", "low", *where)  # gh asks to create it, then to change it

    assert changed.code == 0, changed
    assert names(new_gh, "variable", "list", *where) == ["LEVEL"]
    assert new_gh.do("variable", "get", "LEVEL", *where).out.strip() == "low"
    new_gh.do("variable", "delete", "LEVEL", *where)
    assert names(new_gh, "variable", "list", *where) == []


def test_secrets_are_sealed_listed_by_name_and_deleted(gh: GhClient, place: str, github_world: World) -> None:
    for where in ((), ("--env", place), ("--org", "acme")):
        gh.do("secret", "set", "TOKEN", "--body", "hunter2", *where)
        assert names(gh, "secret", "list", *where) == ["TOKEN"]
    assert b"hunter2" not in github_world.snapshot().records
    assert len(github_world.database.all(Secret)) == 3
    for where in ((), ("--env", place), ("--org", "acme")):
        gh.do("secret", "delete", "TOKEN", *where)
    assert github_world.database.all(Secret) == []


def test_caches_are_listed_and_deleted_by_key_and_id(new_gh: GhClient, github_world: World) -> None:
    home = lookup.repository(github_world, None, "acme", "widgets")
    with github_world.acting(None) as act:
        made = [
            caches.create(act, home, key=key, ref="refs/heads/main", version="v", size_in_bytes=2048)
            for key in ("npm-1", "npm-2", "pip-1")
        ]

    assert {line.split("\t")[1] for line in new_gh.do("cache", "list").out.splitlines()} == {"npm-1", "npm-2", "pip-1"}
    assert len(new_gh.json("cache", "list", "--key", "npm", "--json", "id,key,sizeInBytes")) == 2
    new_gh.do("cache", "delete", "npm-1")
    new_gh.do("cache", "delete", str(made[1].id))
    assert [each.key for each in github_world.database.all(ActionsCache)] == ["pip-1"]
    assert new_gh.run("cache", "delete", "none").code == 1
    new_gh.do("cache", "delete", "--all")
    assert github_world.database.all(ActionsCache) == []


def test_searches_find_repositories_code_commits_issues_and_pull_requests(gh: GhClient) -> None:
    found = gh.json("search", "repos", "widgets", "--owner", "acme", "--json", "fullName,visibility")
    assert found == [{"fullName": "acme/widgets", "visibility": "public"}]
    commits = gh.json("search", "commits", "cli", "--repo", "acme/widgets", "--json", "sha,commit")
    assert [each["commit"]["message"] for each in commits] == ["fix the cli of widgets"]
    issues = gh.json("search", "issues", "crash", "--repo", "acme/widgets", "--json", "number,title,state")
    assert [each["number"] for each in issues] == [1]
    pulls = gh.json("search", "prs", "--repo", "acme/widgets", "--state", "open", "--json", "number,isDraft")
    assert [each["number"] for each in pulls] == [7]


def test_code_is_searched(new_gh: GhClient) -> None:
    found = new_gh.json("search", "code", "def", "--repo", "acme/widgets", "--json", "path,textMatches")

    assert [each["path"] for each in found] == ["src/a.py"]
    assert found[0]["textMatches"]
