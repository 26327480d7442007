"""Real `gh` on workflow runs: listed, viewed, run again, cancelled; and what the checks of a pull request say then."""

import pytest
from gh_client import GhClient

from ghx_twin.commands.actions import workflow_runs, workflows
from ghx_twin.queries import lookup
from ghx_twin.world import World

RUN = "101"


@pytest.fixture
def run(github_world: World) -> None:
    """A run in which one of two jobs failed, on the head of #7."""
    home = lookup.repository(github_world, None, "acme", "widgets")
    with github_world.acting(None) as act:
        workflow = workflows.create_or_update(act, home, name="Tests", path=".github/workflows/tests.yml")
        sha = lookup.pull(github_world, home, 7).head_sha
        made = workflow_runs.create(act, workflow, sha=sha, event="pull_request", branch="feature", identity=int(RUN))
        workflow_runs.add_job(act, made, name="unit", conclusion="success")
        workflow_runs.add_job(act, made, name="browser", conclusion="failure")


def jobs(gh: GhClient) -> dict[str, str]:
    seen = gh.json("run", "view", RUN, "--json", "jobs")["jobs"]
    return {each["name"]: each["conclusion"] or each["status"] for each in seen}


@pytest.mark.usefixtures("run")
def test_a_run_is_listed_and_viewed(gh: GhClient) -> None:
    fields = "databaseId,conclusion,status,event,headBranch,workflowName,number"

    listed = {each["databaseId"]: each for each in gh.json("run", "list", "--workflow", "Tests", "--json", fields)}

    assert listed == {
        101: {
            "databaseId": 101, "conclusion": "failure", "status": "completed", "event": "pull_request",
            "headBranch": "feature", "workflowName": "Tests", "number": 1,
        }
    }  # fmt: skip
    viewed = gh.do("run", "view", RUN).out
    assert "Tests" in viewed
    assert "X browser" in viewed
    assert "#7" in viewed
    assert jobs(gh) == {"unit": "success", "browser": "failure"}
    assert [line.split("\t")[0] for line in gh.do("workflow", "list").out.splitlines()] == ["CI", "Tests"]


@pytest.mark.usefixtures("run")
def test_failed_jobs_run_again_and_the_checks_wait_for_them(gh: GhClient) -> None:
    assert "browser\tfail" in gh.run("pr", "checks", "7").out

    gh.do("run", "rerun", RUN, "--failed")

    assert jobs(gh) == {"unit": "success", "browser": "queued"}
    checks = gh.run("pr", "checks", "7").out
    assert "browser\tpending" in checks
    assert "unit\tpass" in checks
    again = gh.run("run", "rerun", RUN)
    assert again.code == 1
    assert "cannot be rerun" in again.err
    gh.do("run", "cancel", RUN)
    assert jobs(gh) == {"unit": "success", "browser": "cancelled"}
    gh.do("run", "rerun", RUN)
    assert jobs(gh) == {"unit": "queued", "browser": "queued"}


@pytest.mark.usefixtures("run")
def test_who_only_reads_runs_nothing(new_gh: GhClient) -> None:
    refused = new_gh.acting_as("reader").run("run", "rerun", RUN)

    assert refused.code == 1
    assert "Must have admin rights to Repository." in refused.err
    assert jobs(new_gh) == {"unit": "success", "browser": "failure"}
