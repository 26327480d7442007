"""A run of a fork's pull request waits for a maintainer, and does then what its file and its script say."""

import pytest
from scripted_world import scripted_world, widgets

from ghx_twin.commands import repositories
from ghx_twin.commands.actions import approval, progress, workflow_runs
from ghx_twin.commands.pulls import pulls
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs as queries
from ghx_twin.refusals import ForbiddenRefusal
from ghx_twin.state.records import Workflow
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


def jobs(world: World, run_id: int) -> dict[str, str | None]:
    run = queries.run(world, widgets(world), run_id)
    return {job.name: job.conclusion for job in queries.jobs(world, queries.latest_attempt(world, run))}


def test_an_approved_run_of_a_fork_is_played_by_its_script() -> None:
    with scripted_world() as world:
        reader, octocat = (Viewer(user=lookup.user(world, login)) for login in ("reader", "octocat"))
        with world.acting(reader) as act:
            fork = repositories.fork(act, widgets(world), owner=reader.user)
            tip = act.git(fork).ref("refs/heads/main")
            assert tip is not None
            refs.create(act, fork, ref="refs/heads/typo", sha=tip)
            old = act.git(fork).entry(tip, "turn.py")
            assert old is not None
            contents.put(act, fork, path="turn.py", content=b"RPM = 33\n", message="Mend", branch="typo", sha=old.sha)
            pull = pulls.create(act, widgets(world), title="Mend", head="reader:typo", base="main")
        with world.acting(None) as act:
            workflow = act.database.one(Workflow, repository_id=widgets(world).id)
            assert workflow is not None
            held = workflow_runs.create(
                act, workflow, sha=pull.head_sha, event="pull_request", branch="typo", conclusion="action_required"
            )
        assert jobs(world, held.id) == {}

        with world.acting(octocat) as act:
            approval.approve(act, held)
        progress.finish(world)

        assert jobs(world, held.id) == {"build": "success", "test": "success"}
        with pytest.raises(ForbiddenRefusal), world.acting(octocat) as act:
            approval.approve(act, held)
