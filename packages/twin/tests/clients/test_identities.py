"""Acting as several people from one environment, as `gh` and `git` do on GitHub: by the token in it."""

from pathlib import Path

import pytest
from gh_client import Done, GhClient
from nightly import mostly_nightly

from ghx_twin.queries import lookup
from ghx_twin.state.records import Repository
from ghx_twin.world import World

ADDRESS = "https://github.com/acme/widgets.git"


def token_of(gh: GhClient, login: str) -> str:
    return gh.twin.server.hosting.issue_token(gh.twin.world, lookup.user(gh.twin.world, login))


def git_actors(done: Done) -> set[str | None]:
    return {entry.actor for entry in done.requests if entry.surface == "git"}


def committed(gh: GhClient, branch: str) -> str:
    gh.git("checkout", "--quiet", "-b", branch)
    gh.git("commit", "--quiet", "--allow-empty", "-m", f"Work on {branch}")
    return gh.git("rev-parse", "HEAD").out.strip()


def test_git_acts_as_whose_token_is_in_the_environment(new_gh: GhClient) -> None:
    committed(new_gh, "mine")

    own = new_gh.execute("git", "push", "origin", "mine")
    other = new_gh.execute("git", "push", "origin", "mine:theirs", GH_TOKEN=token_of(new_gh, "hubot"))
    refused = new_gh.execute("git", "push", "origin", "mine:none", GH_TOKEN=token_of(new_gh, "reader"))
    unknown = new_gh.execute("git", "push", "origin", "mine:none", GH_TOKEN="ghp_unknown")

    assert (own.code, git_actors(own)) == (0, {"octo"})
    assert (other.code, git_actors(other)) == (0, {"hubot"})
    assert refused.code == 128
    assert "Permission to acme/widgets.git denied to reader." in refused.err
    assert unknown.code == 128
    assert "Authentication failed" in unknown.err


@pytest.mark.parametrize("left_out", [{"GH_TOKEN", "GITHUB_TOKEN"}, {"GH_TOKEN", "GITHUB_TOKEN", "GIT_ASKPASS"}])
def test_git_acts_as_the_user_where_tokens_are_kept_from_it(new_gh: GhClient, left_out: set[str]) -> None:
    kept = {name: value for name, value in new_gh.environment.items() if name not in left_out}

    committed(new_gh, "mine")

    done = new_gh.with_environment(kept).git("push", "origin", "mine")

    assert git_actors(done) == {"octo"}


def test_a_stranger_forks_and_clones_as_themselves(gh: GhClient, tmp_path: Path) -> None:
    place, token = tmp_path / "elsewhere", token_of(gh, "stranger")
    place.mkdir()
    there = gh.inside(place)

    forked = there.run("repo", "fork", "acme/widgets", "--clone", GH_TOKEN=token)
    clone = there.inside(place / "widgets")
    committed(clone, "change")
    pushed = clone.execute("git", "push", "origin", "change", GH_TOKEN=token)
    opened = clone.run(
        "pr", "create", "-R", "acme/widgets", "-t", "From outside", "-b", "b", "-H", "stranger:change", GH_TOKEN=token
    )

    assert (forked.code, git_actors(forked)) == (0, {None}), forked  # git shows its token where it is asked for one
    assert (pushed.code, git_actors(pushed)) == (0, {"stranger"}), pushed
    assert opened.code == 0, opened
    assert fork_of(gh.twin.world).parent_id is not None


def fork_of(world: World) -> Repository:
    return lookup.repository(world, None, "stranger", "widgets")


def test_a_second_user_works_through_a_pull_request(gh: GhClient, tmp_path: Path) -> None:
    token, place = token_of(gh, "hubot"), tmp_path / "theirs"
    cloned = gh.run("repo", "clone", "acme/widgets", str(place), GH_TOKEN=token)
    there = gh.inside(place)
    committed(there, "second")

    steps = [
        there.execute("git", "push", "-u", "origin", "second", GH_TOKEN=token),
        there.run("pr", "create", "--fill", GH_TOKEN=token),
        there.run("pr", "checkout", "7", GH_TOKEN=token),
        there.execute("git", "checkout", "--quiet", "second"),
        there.run("pr", "merge", "second", "--merge", "-d", GH_TOKEN=token),
        there.run("repo", "sync", "--branch", "main", GH_TOKEN=token),
    ]

    assert [step.code for step in (cloned, *steps)] == [0] * 7, "\n".join(map(str, steps))
    # Git shows its token where it is asked for one, and what is public anyone may fetch.
    assert {actor for step in (cloned, *steps) for actor in git_actors(step)} == {"hubot", None}
    assert {entry.actor for step in steps for entry in step.requests if entry.mutation} == {"hubot"}


def test_no_token_is_in_the_configuration_of_git(gh: GhClient, tmp_path: Path) -> None:
    token = gh.environment["GH_TOKEN"]
    gh.do("repo", "clone", "acme/widgets", str(tmp_path / "again"))
    there = gh.inside(tmp_path / "again")

    shown = there.git("remote", "-v").out + there.git("config", "--list", "--show-origin").out

    assert ADDRESS in shown
    assert token not in shown
    assert "authorization" not in shown.lower()


@pytest.mark.parametrize("allowed", mostly_nightly([True, False], keep=1))
def test_maintainers_push_to_the_branch_of_a_fork_if_its_pull_request_lets_them(
    gh: GhClient, tmp_path: Path, allowed: bool
) -> None:
    world, place = gh.twin.world, tmp_path / "theirs"
    place.mkdir()
    gh.acting_as("stranger").inside(place).do("repo", "fork", "acme/widgets", "--clone")
    theirs = gh.acting_as("stranger").inside(place / "widgets")
    committed(theirs, "change")
    theirs.git("push", "--quiet", "origin", "change")
    number = theirs.json(
        "api", "repos/acme/widgets/pulls", "-f", "title=t", "-f", "head=stranger:change", "-f", "base=main",
        "-F", f"maintainer_can_modify={str(allowed).lower()}", "--jq", ".number",
    )  # fmt: skip

    gh.do("pr", "checkout", str(number))
    gh.git("commit", "--quiet", "--allow-empty", "-m", "Help")
    sha = gh.git("rev-parse", "HEAD").out.strip()
    pushed = gh.execute("git", "push", "https://github.com/stranger/widgets.git", "HEAD:change")
    elsewhere = gh.execute("git", "push", "https://github.com/stranger/widgets.git", "HEAD:main")
    deleted = gh.execute("git", "push", "https://github.com/stranger/widgets.git", ":change")
    outsider = gh.acting_as("reader").execute("git", "push", "https://github.com/stranger/widgets.git", "HEAD:change")

    assert elsewhere.code != 0
    assert deleted.code != 0
    assert outsider.code == 128
    head = lookup.pull(world, lookup.repository(world, None, "acme", "widgets"), number).head_sha
    if allowed:
        assert pushed.code == 0, pushed
        assert "! [remote rejected] HEAD -> main (permission denied)" in elsewhere.err
        assert head == sha == world.git(fork_of(world)).ref("refs/heads/change")
    else:
        assert "Permission to stranger/widgets.git denied to octo." in pushed.err
        assert head != sha


def test_a_token_without_the_workflow_scope_pushes_no_workflow(new_gh: GhClient) -> None:
    token = new_gh.twin.server.hosting.issue_token(
        new_gh.twin.world, lookup.user(new_gh.twin.world, "octo"), frozenset({"repo"})
    )
    folder = new_gh.directory / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "a.yml").write_text("on: push\n")
    new_gh.git("add", ".github")
    new_gh.git("commit", "--quiet", "-m", "Add a workflow")

    refused = new_gh.execute("git", "push", "origin", "main", GH_TOKEN=token)
    written = new_gh.run(
        "api", "-X", "PUT", "repos/acme/widgets/contents/.github/workflows/a.yml",
        "-f", "message=m", "-f", "content=YQ==", GH_TOKEN=token,
    )  # fmt: skip
    allowed = new_gh.execute("git", "push", "origin", "main")

    reason = (
        "refusing to allow a Personal Access Token to create or update workflow `.github/workflows/a.yml` "
        "without `workflow` scope"
    )
    assert refused.code == 1
    assert f"! [remote rejected] main -> main ({reason})" in refused.err
    assert written.code == 1
    assert "Not Found (HTTP 404)" in written.err
    assert allowed.code == 0
