"""Clients that try again write fifty comments through rate limits and failures, each once."""

import subprocess
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from githubkit import GitHub
from githubkit.exception import GitHubException
from githubkit.retry import RETRY_DEFAULT, RetryOption
from node_packages import NODE, NotObtainableError, node_modules

from ghx_twin.faults import Fault
from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.state.records import Comment

PACKAGES = ("@octokit/core@7.0.6", "@octokit/plugin-retry@8.0.3", "@octokit/plugin-throttling@11.0.3")
ALL = [f"Comment {number}" for number in range(1, 51)]
COMMENTS = "/repos/acme/widgets/issues/1/comments"


def trouble(*, after: bool = False) -> Sequence[Fault]:
    """Return two secondary rate limits and five failures, all of them for the writing of comments."""
    limits = [
        Fault(method="POST", path=COMMENTS, skip=skip, times=1, rate_limit="secondary", wait_s=1) for skip in (9, 29)
    ]
    return [
        *limits,
        Fault(method="POST", path=COMMENTS, skip=3, times=5, probability=0.2, seed=3, status=502, after=after),
    ]


def new_comments(twin: GitHubTwin, before: int) -> list[str]:
    return [each.body for each in twin.world.database.all(Comment)][before:]


def write_by_githubkit(twin: GitHubTwin) -> None:
    def decide(error: GitHubException, count: int) -> RetryOption:
        return RetryOption(
            RETRY_DEFAULT(error, count).do_retry, timedelta(milliseconds=1)
        )  # its decisions, not its pauses

    with GitHub(twin.token, base_url=f"{twin.url}/", auto_retry=decide) as client:
        for body in ALL:
            client.rest.issues.create_comment("acme", "widgets", 1, body=body)


def test_githubkit_writes_each_comment_once(github_twin: GitHubTwin) -> None:
    before = github_twin.world.database.count(Comment)
    github_twin.world.faults.add(*trouble())

    write_by_githubkit(github_twin)

    assert new_comments(github_twin, before) == ALL
    assert sum(each.fault is not None for each in github_twin.world.journal) == 7


def test_a_client_that_repeats_blindly_writes_twice_what_was_made_before_its_answer_was_lost(
    github_twin: GitHubTwin,
) -> None:
    before = github_twin.world.database.count(Comment)
    github_twin.world.faults.add(*trouble(after=True))

    write_by_githubkit(github_twin)

    assert len(new_comments(github_twin, before)) == 55


@pytest.mark.nightly
def test_octokit_with_its_plugins_writes_each_comment_once(github_twin: GitHubTwin) -> None:
    try:
        modules = node_modules(*PACKAGES)
    except NotObtainableError as error:
        pytest.skip(str(error))
    before = github_twin.world.database.count(Comment)
    github_twin.world.faults.add(*trouble())

    done = subprocess.run(
        [NODE, Path(__file__).with_name("octokit_comments.cjs")],
        env={**github_twin.environment, "NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert (done.returncode, done.stdout) == (0, "50\n"), done.stderr
    assert new_comments(github_twin, before) == ALL
    assert sum(each.fault is not None for each in github_twin.world.journal) == 7
