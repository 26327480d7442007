"""Workflows that clients start: inputs are checked against the file at the ref, and refused in GitHub's words."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_world import Client
from scripted_world import WORKFLOW, conclusions, push, scripted_world, widgets

from ghx_twin.commands.actions import progress
from ghx_twin.queries import lookup
from ghx_twin.state.records import WorkflowRun
from ghx_twin.world import World

CI = "/repos/octocat/widgets/actions/workflows/ci.yml"


@pytest.fixture(scope="module")
def base() -> Iterator[World]:
    with scripted_world() as made:
        yield made


@pytest.fixture
def world(base: World) -> Iterator[World]:
    with base.fork() as made:
        yield made


def client(world: World, login: str = "octocat") -> Client:
    return Client(world, lookup.user(world, login))


def dispatch(world: World, login: str = "octocat", **body: Any) -> tuple[int, Any]:
    reply = client(world, login).post(f"{CI}/dispatches", body)
    return reply.status, reply.json() if reply.content else None


def newest(world: World) -> WorkflowRun:
    return world.database.all(WorkflowRun, order="id DESC", limit=1)[0]


def test_a_dispatch_starts_a_run_with_the_values_of_its_inputs(world: World) -> None:
    assert dispatch(world, ref="faster", inputs={"who": "you", "dry": True}) == (204, None)

    run = newest(world)
    assert (run.event, run.head_branch, run.title) == ("workflow_dispatch", "faster", "CI")
    assert run.inputs == {"level": "low", "dry": "true", "who": "you"}
    assert conclusions(world, run.head_sha) == {"build": "success", "test": "failure"}


def test_the_run_is_told_where_that_is_asked_for(world: World) -> None:
    status, said = dispatch(world, ref="refs/heads/main", inputs={"who": "you"}, return_run_details=True)

    assert (status, said["workflow_run_id"]) == (200, newest(world).id)
    assert client(world).get(said["run_url"].removeprefix("https://api.github.com")).json()["status"] == "queued"
    assert said["html_url"] == f"https://github.com/octocat/widgets/actions/runs/{newest(world).id}"


def test_a_file_may_give_the_title(world: World) -> None:
    named = f"run-name: Deploy ${{{{ inputs.who }}}} by @${{{{ github.actor }}}}\n{WORKFLOW}"
    push(world, {".github/workflows/ci.yml": named}, branch="named")

    dispatch(world, ref="named", inputs={"who": "v2"})

    assert newest(world).title == "Deploy v2 by @octocat"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"ref": "none", "inputs": {"who": "x"}}, "No ref found for: none"),
        ({"ref": "blob", "inputs": {"who": "x"}}, "No ref found for: blob"),
        ({"ref": "refs/pull/1/head", "inputs": {"who": "x"}}, "No ref found for: refs/pull/1/head"),
        ({"ref": "a..b", "inputs": {"who": "x"}}, "No ref found for: a..b"),
        ({"ref": "main"}, "Required input 'who' not provided"),
        ({"ref": "main", "inputs": {"who": ""}}, "Required input 'who' not provided"),
        ({"ref": "main", "inputs": {"who": "x", "a": 1, "b": 2}}, 'Unexpected inputs provided: ["a", "b"]'),
        (
            {"ref": "main", "inputs": {"who": "x", "level": "top"}},
            "Provided value 'top' for input 'level' not in the list of allowed values",
        ),
        (
            {"ref": "main", "inputs": {"who": "x", "dry": "maybe"}},
            "Provided value 'maybe' for input 'dry' not in the list of allowed values",
        ),
        ({"ref": "silent", "inputs": {}}, "Workflow does not have 'workflow_dispatch' trigger"),
        ({"ref": "broken", "inputs": {}}, "Workflow does not have 'workflow_dispatch' trigger"),
        ({"ref": "gone", "inputs": {}}, "Workflow does not have 'workflow_dispatch' trigger"),
    ],
)
def test_what_the_file_does_not_take_is_refused(world: World, body: dict[str, Any], message: str) -> None:
    push(world, {".github/workflows/ci.yml": "on: push\njobs: {a: {}}\n"}, branch="silent")
    push(world, {".github/workflows/ci.yml": "{"}, branch="broken")
    push(world, {".github/workflows/ci.yml": None}, branch="gone")
    with world.acting(None) as act:
        git = act.git(widgets(world))
        git.set_ref("refs/tags/blob", git.write_blob(b"x"))
    before = newest(world)

    status, said = dispatch(world, **body)

    assert (status, said["message"]) == (422, message)
    assert newest(world) == before


def test_a_disabled_workflow_starts_nothing(world: World) -> None:
    assert client(world).put(f"{CI}/disable").status == 204

    status, said = dispatch(world, ref="main", inputs={"who": "x"})

    assert (status, said["message"]) == (422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    sha = push(world, {"turn.py": "RPM = 33\n"})
    assert conclusions(world, sha) == {}


def test_who_only_reads_starts_nothing(world: World) -> None:
    assert dispatch(world, "reader", ref="main", inputs={"who": "x"})[0] == 403


def test_check_suites_follow_the_runs(world: World) -> None:
    sha, asked = push(world, {"turn.py": "RPM = 33\n"}), client(world)

    (suite,) = asked.get(f"/repos/octocat/widgets/commits/{sha}/check-suites").json()["check_suites"]
    assert (suite["status"], suite["conclusion"], suite["latest_check_runs_count"]) == ("queued", None, 2)
    progress.finish(world)
    again = asked.get(f"/repos/octocat/widgets/check-suites/{suite['id']}").json()
    assert (again["status"], again["conclusion"], again["app"]["slug"]) == ("completed", "success", "github-actions")
    runs = asked.get(f"/repos/octocat/widgets/check-suites/{suite['id']}/check-runs").json()["check_runs"]
    assert [(each["name"], each["conclusion"]) for each in runs] == [("build", "success"), ("test", "success")]
