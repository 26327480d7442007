"""A world written down and planted again is the same world, as far as a seed tells."""

import json
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_commands import Step, base_world, perform, steps
from seeds import rich_world, world_of

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.actions import deployments
from ghx_twin.commands.repositories import refs
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup
from ghx_twin.refusals import GoneRefusal
from ghx_twin.seed.building import SeedError, build_world
from ghx_twin.seed.conversations import SeedComment, SeedIssue
from ghx_twin.seed.document import SeedRepository, SeedUser, WorldSeed
from ghx_twin.seed.exporting import export_seed
from ghx_twin.seed.loading import load_seed, seed_text
from ghx_twin.state.records import Deployment, Environment, Pull, RunAttempt, Thread, WorkflowRun
from ghx_twin.world import World

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with base_world() as world:
        yield world


def assert_fixpoint(world: World) -> None:
    written = export_seed(world)
    with world_of(written) as again:
        assert export_seed(again) == written
        assert list(again.storage.refs().values()) == list(world.storage.refs().values())


@settings(max_examples=settings.default.max_examples // 2)
@given(wanted=steps())
def test_any_world_that_commands_can_make_is_the_same_after_an_export(base: World, wanted: list[Step]) -> None:
    with base.fork() as world:
        perform(world, wanted)
        assert_fixpoint(world)


def test_a_world_with_everything_in_it_is_the_same_after_an_export() -> None:
    with rich_world() as world:
        assert_fixpoint(world)


def test_deployments_stay_without_their_environment() -> None:
    with rich_world() as world:
        home = lookup.repository(world, None, "acme", "widgets")
        with world.acting(None) as act:
            for environment in act.database.all(Environment, repository_id=home.id):
                deployments.delete_environment(act, environment)
        assert world.database.all(Deployment, repository_id=home.id)
        assert_fixpoint(world)


def test_workflow_runs_keep_their_ids_attempts_and_jobs(base: World) -> None:
    with base.fork() as world:
        done = perform(world, [("run", 3, 0, 1), ("run", 3, 1, 1), ("delete run", 3, 0, 0), ("rerun", 1, 0, 1)])
        assert done == ["run", "run", "delete run", "rerun"]
        (run,) = world.database.all(WorkflowRun)
        assert_fixpoint(world)
        with world_of(export_seed(world)) as again:
            assert again.database.all(WorkflowRun) == [run]
            assert again.database.all(RunAttempt) == [replace(each, id=ANY) for each in world.database.all(RunAttempt)]


def test_the_text_of_an_export_says_the_same(tmp_path: Path) -> None:
    with rich_world() as world:
        written = export_seed(world)
    file = tmp_path / "seed.yaml"
    file.write_text(seed_text(written), encoding="utf-8")
    assert load_seed(file) == written


@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_text_comes_back_from_a_file(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    talk = SeedIssue(title=text, body=text, comments=(SeedComment(body=text + "\n" + text),))
    seed = WorldSeed(
        users=(SeedUser(login="octo", name=text),), repositories=(SeedRepository(name="o/x", issues=(talk,)),)
    )
    file = tmp_path_factory.mktemp("seed") / "seed.yaml"
    file.write_text(seed_text(seed), encoding="utf-8", newline="")
    assert load_seed(file) == seed


def test_a_long_history_comes_back_from_a_file(tmp_path: Path) -> None:
    lookalike = f"ghx-aside-{'0' * 32}"
    home = SeedRepository(name="o/x", bundle="QUJD" * 5000 + "QQ==", description=lookalike)
    file = tmp_path / "seed.yaml"
    file.write_text(seed_text(WorldSeed(repositories=(home,))), encoding="utf-8")
    assert load_seed(file).repositories == (home,)


def test_numbers_of_deleted_issues_stay_gone() -> None:
    with world_of("{users: [{login: o}], repositories: [{name: o/x, issues: [{title: A}, {title: B}]}]}") as world:
        home = lookup.repository(world, None, "o", "x")
        with world.acting(None) as act:
            issues.delete(act, lookup.issue(world, home, 2))
        assert_fixpoint(world)
        with world_of(export_seed(world)) as again, again.acting(None) as act:
            home = lookup.repository(again, None, "o", "x")
            with pytest.raises(GoneRefusal):
                lookup.issue(again, home, 2)
            assert issues.create(act, home, title="C").number == 3


def test_what_people_said_stays_when_they_may_not_say_it_any_more() -> None:
    with world_of(
        """
        users: [{login: o}, {login: p}]
        repositories: [{name: o/x, collaborators: {p: write}, issues: [{title: A, author: p, assignees: [p]}]}]
        """
    ) as world:
        home = lookup.repository(world, None, "o", "x")
        with world.acting(None) as act:
            repositories.remove_collaborator(act, home, lookup.user(world, "p"))
            repositories.update(act, home, visibility="private", archived=True)
        assert_fixpoint(world)


def test_commits_that_no_branch_has_any_more_stay(base: World) -> None:
    with base.fork() as world:
        perform(world, [("begin thread", 0, 0, 1)])
        home = lookup.repository(world, None, "acme", "widgets")
        git = world.git(home)
        old = git.ref("refs/heads/one")
        with world.acting(None) as act:
            first = git.resolve("main", "main") or ""
            entry = git.write_tree(first, [])
            commit = git.commit(old or "")
            assert commit is not None
            new = git.write_commit(
                tree=git.commit(old or "").tree,  # type: ignore[union-attr]
                parents=(first,),
                message="Forced",
                author=commit.author,
                committer=commit.committer,
            )
            assert entry
            git.set_ref("refs/heads/one", new)
            refs.record_push(act, home, [RefUpdate("refs/heads/one", old, new)])
        written = export_seed(world)
        with world_of(written) as again:
            (thread,) = again.database.all(Thread)
            assert thread.original_commit_sha == old
            assert again.git(lookup.repository(again, None, "acme", "widgets")).kind(old or "") == "commit"
        assert_fixpoint(world)


def test_a_fork_keeps_its_own_branches(base: World) -> None:
    with base.fork() as world:
        perform(world, [("branch", 0, 0, 0), ("delete branch", 3, 3, 1)])
        fork = lookup.repository(world, None, "eve", "widgets")
        assert world.git(fork).ref("refs/heads/one") is None
        with world_of(export_seed(world)) as again:
            copy = lookup.repository(again, None, "eve", "widgets")
            assert again.git(copy).refs() == world.git(fork).refs()
            assert copy.parent_id == lookup.repository(again, None, "acme", "widgets").id


def test_a_pull_request_whose_fork_is_gone_stays_so(base: World) -> None:
    with base.fork() as world:
        perform(world, [("push", 3, 3, 3), ("open pull", 2, 3, 6), ("delete repository", 3, 7, 6)])
        pull = world.database.all(Pull)[-1]
        assert pull.head_repository_id is None
        assert_fixpoint(world)


def test_an_export_without_its_commits_is_refused(base: World) -> None:
    written = export_seed(base)
    emptied = tuple(each.model_copy(update={"bundle": None, "checks": ()}) for each in written.repositories)
    with World.create() as world, pytest.raises(SeedError, match=r"commit [0-9a-f]{40} is not in the bundle"):
        build_world(world, written.model_copy(update={"repositories": emptied}))


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "ghx_twin.cli.main", *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_the_commands_check_export_and_describe(tmp_path: Path) -> None:
    kept, seed = tmp_path / "kept", tmp_path / "seed.yaml"
    with World.create(kept) as world:
        build_world(world, WorldSeed(users=(SeedUser(login="octo"),), repositories=(SeedRepository(name="octo/x"),)))
        written = export_seed(world)
    exported = command("export", "--data-dir", str(kept))
    assert (exported.returncode, exported.stderr) == (0, "")
    seed.write_text(exported.stdout, encoding="utf-8")
    assert load_seed(seed) == written
    assert command("check", str(seed)).stdout == f"{seed}: ok (1 user, 0 organizations, 1 repository)\n"
    assert json.loads(command("schema").stdout)["properties"].keys() >= {"users", "organizations", "repositories"}


def test_a_folder_without_a_world_is_not_exported(tmp_path: Path) -> None:
    done = command("export", "--data-dir", str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
