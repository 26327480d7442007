"""The pytest plugin in the tests of somebody else."""

import shutil

import pytest
from gh_client import bundled_gh

QUIET = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist")  # what takes long to load, or writes


def test_a_test_of_somebody_else_needs_three_lines(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import subprocess

        def test_my_tool_opens_an_issue(github_twin):
            command = ["{bundled_gh()}", "repo", "create", "mine", "--public"]
            subprocess.run(command, env=github_twin.environment, check=True)
            assert [entry.mutation for entry in github_twin.world.journal].count(True) == 1
        """
    )

    pytester.runpytest_subprocess(*QUIET).assert_outcomes(passed=1)


def test_every_test_has_a_world_of_its_own_from_its_seed(pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", seed="users: [{login: ann}]\nrepositories: [{name: ann/box, files: {a.txt: hi}}]")
    pytester.makepyfile(
        """
        import json, urllib.request
        import pytest

        pytestmark = pytest.mark.github_seed("seed.yaml")

        def asked(twin, path, method="GET"):
            headers = {"authorization": f"token {twin.token}"}
            request = urllib.request.Request(twin.url + path, headers=headers, method=method)
            with urllib.request.urlopen(request) as answer:
                return answer.read()

        def test_one_deletes_the_repository(github_twin):
            asked(github_twin, "/repos/ann/box", "DELETE")
            assert github_twin.user == "ann"
            assert json.loads(asked(github_twin, "/user/repos")) == []

        def test_another_still_has_it(github_twin):
            assert json.loads(asked(github_twin, "/repos/ann/box"))["name"] == "box"
        """
    )

    pytester.runpytest_inprocess(*QUIET, "--strict-markers").assert_outcomes(passed=2)


def test_people_act_with_the_tokens_that_the_seed_gives_them(pytester: pytest.Pytester) -> None:
    tokens = "[{login: ann, tokens: [{token: t-ann, scopes: [repo]}]}, {login: bob, tokens: [{token: t-bob}]}]"
    pytester.makefile(".yaml", seed=f"users: {tokens}")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.github_seed("seed.yaml")
        def test_tokens(github_twin):
            assert github_twin.token == github_twin.environment["GH_TOKEN"] == "t-ann"
            assert github_twin.environment_of("bob")["GH_TOKEN"] == "t-bob"

        @pytest.mark.github_seed("seed.yaml")
        def test_a_token_that_two_worlds_hold_is_replaced(github_twin):
            server = github_twin.server
            with github_twin.world.fork() as copy:
                server.add(copy)
                token = github_twin.environment_of("ann")["GH_TOKEN"]
                access = server.hosting.open(token)
                server.remove(copy)
            assert token != "t-ann"
            assert access.hosted.world is github_twin.world
            assert access.viewer.scopes == {"repo"}
        """
    )

    pytester.runpytest_inprocess(*QUIET).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "words"),
    [
        ("()", "github_seed takes one path"),
        ("(path='seed.yaml')", "github_seed takes one path"),
        ("(3)", "github_seed takes one path"),
        ("('nowhere.yaml')", "nowhere.yaml"),
        ("('seed.yaml')", "seed.yaml: repositories: nobody/box: "),
    ],
)
def test_a_seed_that_cannot_be_used_is_told_without_a_traceback(
    pytester: pytest.Pytester, marker: str, words: str
) -> None:
    pytester.makefile(".yaml", seed="users: [{login: ann}]\nrepositories: [{name: nobody/box}]")
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.github_seed{marker}
        def test_never_runs(github_world):
            raise AssertionError
        """
    )

    done = pytester.runpytest_inprocess(*QUIET)

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(f"*{words}*")
    assert "pytest_plugin.py" not in done.stdout.str()


@pytest.mark.nightly
def test_gh_is_found_where_no_virtual_environment_is_active(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    assert git is not None
    (pytester.path / "bin").mkdir()
    (pytester.path / "bin" / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(pytester.path / "bin"))
    pytester.makepyfile(
        """
        import subprocess

        def test_my_tool_lists_repositories(github_twin):
            for environment in (github_twin.environment, github_twin.environment_of(github_twin.user)):
                subprocess.run(["gh", "repo", "list"], env=environment, check=True)
        """
    )

    pytester.runpytest_subprocess(*QUIET).assert_outcomes(passed=1)
