"""Real `gh` and git under rulesets: listed, viewed and checked; what they refuse is refused in GitHub's words."""

import pytest
from gh_client import GhClient

from ghx_twin.commands.repositories import rulesets
from ghx_twin.queries import lookup
from ghx_twin.world import World


@pytest.fixture
def ruleset(github_world: World) -> int:
    home = lookup.repository(github_world, None, "acme", "widgets")
    with github_world.acting(None) as act:
        pulls = {"type": "pull_request", "parameters": {"required_approving_review_count": 1}}
        made = rulesets.create(
            act,
            home,
            name="Main",
            conditions={"ref_name": {"include": ["~DEFAULT_BRANCH"]}},
            rules=[{"type": "non_fast_forward"}, pulls],
        )
        rulesets.create(
            act,
            lookup.organization(github_world, "acme"),
            name="Tags of Acme",
            target="tag",
            conditions={"ref_name": {"include": ["~ALL"]}, "repository_name": {"include": ["~ALL"]}},
            rules=[{"type": "deletion"}],
        )
        return made.id


def test_rulesets_are_listed_viewed_and_checked(new_gh: GhClient, ruleset: int) -> None:
    listed = [line.split("\t") for line in new_gh.do("ruleset", "list").out.splitlines()]
    assert listed[0][0] == str(ruleset)
    assert [line[1:] for line in listed] == [
        ["Main", "acme/widgets (repo)", "active", "2"],
        ["Tags of Acme", "acme (org)", "active", "1"],
    ]
    assert len(new_gh.do("ruleset", "list", "--org", "acme").out.splitlines()) == 1
    viewed = new_gh.do("ruleset", "view", str(ruleset)).out
    assert "pull_request: " in viewed
    assert "~DEFAULT_BRANCH" in viewed
    checked = new_gh.do("ruleset", "check", "main").out
    assert "non_fast_forward" in checked
    assert "required_approving_review_count: 1" in checked
    assert "0 rules apply to branch topic" in new_gh.do("ruleset", "check", "topic").out


@pytest.mark.usefixtures("ruleset")
def test_a_push_that_violates_a_rule_is_taken_back_and_the_rest_of_it_is_not(new_gh: GhClient) -> None:
    before = new_gh.execute("git", "rev-parse", "origin/main").out.strip()
    identity = ("-c", "user.name=Octo", "-c", "user.email=octo@example.com")
    new_gh.execute("git", *identity, "commit", "--quiet", "--allow-empty", "-m", "Straight to main")

    pushed = new_gh.execute("git", "push", "origin", "HEAD:main", "HEAD:refs/heads/beside")

    assert pushed.code == 1
    assert "remote: error: GH013: Repository rule violations found for refs/heads/main." in pushed.err
    assert "/acme/widgets/rules?ref=refs%2Fheads%2Fmain" in pushed.err
    assert "remote: - Changes must be made through a pull request." in pushed.err
    assert "(push declined due to repository rule violations)" in pushed.err
    assert "HEAD -> beside" in pushed.err
    seen = dict(line.split("\t")[::-1] for line in new_gh.execute("git", "ls-remote", "origin").out.splitlines())
    assert seen["refs/heads/main"] == before
    assert seen["refs/heads/beside"] == new_gh.execute("git", "rev-parse", "HEAD").out.strip()


@pytest.mark.usefixtures("ruleset")
def test_an_atomic_push_is_taken_back_whole(new_gh: GhClient) -> None:
    identity = ("-c", "user.name=Octo", "-c", "user.email=octo@example.com")
    new_gh.execute("git", *identity, "commit", "--quiet", "--allow-empty", "-m", "Straight to main")

    pushed = new_gh.execute("git", "push", "--atomic", "origin", "HEAD:main", "HEAD:refs/heads/beside")

    assert pushed.code == 1
    assert "refs/heads/beside" not in new_gh.execute("git", "ls-remote", "origin").out


@pytest.mark.usefixtures("ruleset")
def test_a_merge_waits_for_the_approval_that_a_rule_asks_for(new_gh: GhClient) -> None:
    state = new_gh.json("pr", "view", "7", "--json", "mergeStateStatus,reviewDecision")
    refused = new_gh.run("api", "-X", "PUT", "repos/acme/widgets/pulls/7/merge")

    assert state == {"mergeStateStatus": "BLOCKED", "reviewDecision": "REVIEW_REQUIRED"}
    assert refused.code == 1
    assert "Repository rule violations found" in refused.out + refused.err
    assert "At least 1 approving review is required" in refused.out + refused.err
    new_gh.do("pr", "review", "7", "--approve")
    new_gh.do("api", "-X", "PUT", "repos/acme/widgets/pulls/7/merge")
