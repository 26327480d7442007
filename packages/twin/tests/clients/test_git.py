"""Real `git` against the twin: clones, pushes, refusals."""

import random
import re
from pathlib import Path

import pytest
from gh_client import Done, GhClient

from ghx_twin.commands import repositories
from ghx_twin.queries import lookup
from ghx_twin.state.records import Pull, Repository
from ghx_twin.world import World

ADDRESS = "https://github.com/acme/widgets.git"


def widgets_of(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def pull_of(world: World) -> Pull:
    return lookup.pull(world, widgets_of(world), 7)


def tips(gh: GhClient) -> dict[str, str]:
    return gh.twin.world.git(widgets_of(gh.twin.world)).refs()


@pytest.fixture
def git(new_gh: GhClient) -> GhClient:
    """A client in a clone; these tests run `git` in it, not `gh`."""
    return new_gh


def commit(git: GhClient, path: str, content: bytes, message: str = "Change") -> str:
    target = git.directory / path
    target.write_bytes(content)
    git.git("add", path)
    git.git("commit", "--quiet", "-m", message)
    return git.git("rev-parse", "HEAD").out.strip()


def push(git: GhClient, *arguments: str) -> Done:
    return git.execute("git", "push", *arguments)


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS,
        ADDRESS.removesuffix(".git"),
        "git@github.com:acme/widgets.git",
        "ssh://git@github.com/acme/widgets.git",
        "https://github.com/ACME/Widgets",
    ],
)
def test_every_address_of_a_repository_can_be_cloned(git: GhClient, address: str, tmp_path: Path) -> None:
    git.git("clone", "--quiet", address, str(tmp_path / "again"))

    assert (tmp_path / "again" / "README.md").read_text().startswith("# Widgets")


def test_the_address_of_the_server_itself_can_be_cloned(git: GhClient, tmp_path: Path) -> None:
    git.git("clone", "--quiet", f"{git.twin.url}/acme/widgets.git", str(tmp_path / "again"))

    assert (tmp_path / "again" / "src" / "a.py").exists()


def test_a_shallow_clone_has_one_commit_and_can_be_deepened(git: GhClient, tmp_path: Path) -> None:
    git.git("clone", "--quiet", "--depth", "1", ADDRESS, str(tmp_path / "shallow"))
    here = git.inside(tmp_path / "shallow")

    assert here.git("rev-list", "--count", "HEAD").out == "1\n"
    here.git("fetch", "--quiet", "--unshallow")
    assert here.git("rev-list", "--count", "HEAD").out == "2\n"


def test_a_partial_clone_fetches_blobs_when_it_needs_them(git: GhClient, tmp_path: Path) -> None:
    git.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", ADDRESS, str(tmp_path / "partial"))

    assert git.inside(tmp_path / "partial").git("show", "HEAD:src/a.py").out.startswith("def a():")


def test_a_push_moves_the_branch_and_its_pull_request(git: GhClient) -> None:
    git.git("checkout", "--quiet", "feature")
    sha = commit(git, "more.md", b"more\n")

    assert push(git, "--quiet").code == 0

    assert tips(git)["refs/heads/feature"] == sha
    assert pull_of(git.twin.world).head_sha == sha
    assert tips(git)["refs/pull/7/head"] == sha


def test_a_push_that_is_no_fast_forward_needs_force(git: GhClient) -> None:
    git.git("checkout", "--quiet", "feature")
    git.git("commit", "--quiet", "--amend", "-m", "Add b differently")
    sha = git.git("rev-parse", "HEAD").out.strip()

    refused = push(git)
    forced = push(git, "--force-with-lease")

    assert refused.code == 1
    assert "non-fast-forward" in refused.err
    assert forced.code == 0
    assert pull_of(git.twin.world).head_sha == sha
    assert any(entry.mutation for entry in forced.requests)


def test_a_protected_branch_refuses_what_it_is_protected_from(git: GhClient) -> None:
    with git.twin.world.acting(None) as act:
        repositories.protect(act, widgets_of(git.twin.world), pattern="main", required_approvals=1, enforce_admins=True)
    before = tips(git)["refs/heads/main"]
    commit(git, "more.md", b"more\n")

    refused = push(git)

    assert refused.code == 1
    assert "GH006: Protected branch update failed for refs/heads/main" in refused.err
    assert re.search(r"! \[remote rejected\] main -> main \(protected branch hook declined\)", refused.err)
    assert tips(git)["refs/heads/main"] == before


def test_a_branch_and_a_tag_are_pushed_and_deleted(git: GhClient) -> None:
    git.git("tag", "-a", "v2", "-m", "Two")
    assert push(git, "origin", "main:refs/heads/deep/new", "v2").code == 0
    assert {"refs/heads/deep/new", "refs/tags/v2"} <= set(tips(git))

    assert push(git, "origin", "--delete", "topic", "v1.0.0").code == 0
    assert not {"refs/heads/topic", "refs/tags/v1.0.0"} & set(tips(git))


def test_the_head_of_a_pull_request_is_fetched_by_its_number(git: GhClient) -> None:
    git.git("fetch", "--quiet", "origin", "refs/pull/7/head:pr-7")

    assert git.git("rev-parse", "pr-7").out.strip() == pull_of(git.twin.world).head_sha
    git.git("fetch", "--quiet", "origin", "pull/7/merge")


def test_refs_of_pull_requests_are_not_pushed_to(git: GhClient) -> None:
    before = tips(git)["refs/pull/7/head"]

    assert push(git, "--force", "origin", "main:refs/pull/7/head").code == 1
    assert tips(git)["refs/pull/7/head"] == before


def test_five_megabytes_are_pushed_and_cloned_again(git: GhClient, tmp_path: Path) -> None:
    content = random.Random(5).randbytes(5 * 1024 * 1024)
    sha = commit(git, "big.bin", content)

    assert push(git, "--quiet").code == 0

    assert tips(git)["refs/heads/main"] == sha
    git.git("clone", "--quiet", ADDRESS, str(tmp_path / "again"))
    assert (tmp_path / "again" / "big.bin").read_bytes() == content


def test_closing_words_in_a_pushed_commit_close_the_issue(git: GhClient) -> None:
    commit(git, "fix.md", b"fixed\n", "Fix it\n\nCloses #3")

    assert push(git, "--quiet").code == 0

    assert lookup.issue(git.twin.world, widgets_of(git.twin.world), 3).state == "closed"


def test_pushing_the_head_of_a_pull_request_into_its_base_merges_it(git: GhClient) -> None:
    git.git("merge", "--quiet", "--no-ff", "-m", "Merge by hand", "origin/feature")

    assert push(git, "--quiet").code == 0

    pull = pull_of(git.twin.world)
    assert pull.merged_at is not None


def test_a_token_in_the_address_opens_a_private_repository_and_a_wrong_one_is_401(git: GhClient) -> None:
    host = git.twin.url.removeprefix("http://")

    def listed(token: str) -> Done:
        return git.execute("git", "ls-remote", f"http://x:{token}@{host}/acme/secret", GIT_CONFIG_GLOBAL="/dev/null")

    refused = listed("nobody")
    assert listed(git.twin.token).code == 0
    assert refused.code == 128
    assert "Authentication failed" in refused.err


def test_a_reader_may_fetch_and_not_push(git: GhClient) -> None:
    reader = git.acting_as("reader")
    commit(reader, "mine.md", b"mine\n")

    refused = push(reader)

    assert reader.execute("git", "fetch").code == 0
    assert refused.code == 128
    assert "403" in refused.err
    assert "Permission to acme/widgets.git denied to reader." in refused.err


def test_a_private_repository_is_not_found_by_strangers(git: GhClient) -> None:
    refused = git.acting_as("stranger").execute("git", "ls-remote", "https://github.com/acme/secret.git")

    assert refused.code == 128
    assert "not found" in refused.err.lower()


def test_an_empty_repository_is_cloned_and_filled(git: GhClient, tmp_path: Path) -> None:
    git.do("repo", "create", "octo/empty", "--public")
    git.git("clone", "--quiet", "https://github.com/octo/empty.git", str(tmp_path / "empty"))
    here = git.inside(tmp_path / "empty")

    sha = commit(here, "first.md", b"first\n")

    assert push(here, "--quiet", "origin", "HEAD").code == 0
    repository = lookup.repository(git.twin.world, None, "octo", "empty")
    assert git.twin.world.git(repository).refs()["refs/heads/main"] == sha


def test_a_new_branch_comes_with_the_address_of_its_pull_request(git: GhClient) -> None:
    """Known by public transcripts of agents, ten of them."""
    commit(git, "new.txt", b"x\n")

    first, again = push(git, "origin", "HEAD:refs/heads/topic-2/new"), push(git, "origin", "HEAD:refs/heads/main")

    assert "remote: Create a pull request for 'topic-2/new' on GitHub by visiting:" in first.err
    assert "/acme/widgets/pull/new/topic-2/new" in first.err
    assert "Create a pull request" not in again.err
