"""The pytest plugin in the tests of somebody else."""

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
