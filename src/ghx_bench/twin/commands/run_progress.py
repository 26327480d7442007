"""How far an attempt at a workflow run is, kept in step with its jobs."""

from ghx_bench.twin.queries import workflow_runs
from ghx_bench.twin.state.records import RunAttempt
from ghx_bench.twin.world import Act


def update_attempt(act: Act, attempt_id: int | None) -> None:
    """Sum up the jobs of an attempt after one of them was added or changed; a check run without one has none."""
    attempt = act.database.get(RunAttempt, attempt_id)
    if attempt is None:
        return
    status, conclusion = workflow_runs.sum_up_jobs(workflow_runs.jobs(act.world, attempt))
    act.database.update(attempt, status=status, conclusion=conclusion, updated_at=act.now)
