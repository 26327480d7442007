"""Index of the domain `workflow`."""

from ghx_tools.capabilities.entries import ANYTHING, Entry, mutation, query

_PAGES = "[first] [after]"
_RUN = "owner name runId"

ENTRIES: tuple[Entry, ...] = (
    mutation(
        "workflow.dispatch",
        "workflows",
        "owner name workflowId ref [inputs]",
        "Start a workflow on a branch or tag, with inputs; its file must have the trigger workflow_dispatch.",
        reach=ANYTHING,  # a new run, whose checks are on a commit
    ),
    query(
        "workflow.job.logs.raw",
        "job_logs",
        "owner name jobId",
        "Read the log of a job as it is; of a long one the last 50,000 characters.",
    ),
    query(
        "workflow.job.logs.view",
        "job_logs",
        "owner name jobId [failedSteps] [lastLines] [search] [context]",
        "Count errors and warnings in the log of a job and name the steps that failed; give of its lines only those "
        "asked for: of failed steps, the last ones, those with a term.",
    ),
    query("workflow.list", "workflows", f"owner name {_PAGES}", "List the workflows of a repository."),
    query(
        "workflow.run.artifacts.list",
        "artifacts",
        f"{_RUN} {_PAGES}",
        "List what a workflow run has stored as artifacts.",
    ),
    mutation(
        "workflow.run.cancel",
        "runs",
        _RUN,
        "Cancel a workflow run that has not ended.",
        reach=ANYTHING,  # the run is for a commit, and so for every pull request that has it
    ),
    mutation(
        "workflow.run.rerun.all",
        "reruns",
        _RUN,
        "Run all jobs of a workflow run again.",
        reach=ANYTHING,  # as for run.cancel
    ),
    mutation(
        "workflow.run.rerun.failed",
        "reruns",
        _RUN,
        "Run only the failed jobs of a workflow run again.",
        reach=ANYTHING,  # as for run.cancel
    ),
    query("workflow.run.view", "runs", _RUN, "Read a workflow run with its jobs."),
    query(
        "workflow.runs.list",
        "runs",
        f"owner name {_PAGES} [branch] [event] [status]",
        "List workflow runs, newest first: all, or those of a branch, an event or a status.",
    ),
    query("workflow.view", "workflows", "owner name workflowId", "Read a workflow, by its id or the name of its file."),
)
