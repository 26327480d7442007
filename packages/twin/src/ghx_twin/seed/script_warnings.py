"""What in the scripts of a seed fits no workflow file of its repository, and so may be misspelt."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ghx_base.problems import did_you_mean, one_line
from ghx_twin.queries import lookup
from ghx_twin.queries.actions.workflow_files import JobDefinition, files_on_branches
from ghx_twin.seed.checks import SeedWorkflow
from ghx_twin.seed.document import WorldSeed
from ghx_twin.seed.workflow_scripts import SeedScriptJob
from ghx_twin.state.records import Repository, Workflow
from ghx_twin.world import World

_EVENTS = frozenset({
    "branch_protection_rule", "check_run", "check_suite", "create", "delete", "deployment", "deployment_status",
    "discussion", "discussion_comment", "fork", "gollum", "image_version", "issue_comment", "issues", "label",
    "merge_group", "milestone", "page_build", "public", "pull_request", "pull_request_review",
    "pull_request_review_comment", "pull_request_target", "push", "registry_package", "release", "repository_dispatch",
    "schedule", "status", "watch", "workflow_call", "workflow_dispatch", "workflow_run",
})  # fmt: skip
_ANY_JOB = "*"


def script_warnings(world: World, seed: WorldSeed) -> Iterator[str]:
    """Yield a line for each path, event, job and step of scripts that no branch of the world has.

    They are no errors: a scenario may ask for a workflow, a job or a step that is yet to be written.
    """
    for repository in seed.repositories:
        # An export has jobs in its scripts that its files may have lost since.
        scripted = [each for each in repository.workflows if each.script is not None and not repository.exported]
        for workflow in scripted:
            home = lookup.repository(world, None, *repository.name.split("/", 1))
            place = f"repositories: {repository.name}: workflows: {workflow.name!r}"
            yield from (one_line(f"{place}: {each}") for each in _warnings(world, home, workflow))


def _warnings(world: World, home: Repository, seed: SeedWorkflow) -> Iterator[str]:
    workflows = world.database.all(Workflow, repository_id=home.id)
    path = seed.path or next(each.path for each in workflows if each.name == seed.name)
    files = files_on_branches(world.git(home), path)
    if not files:
        # By their names alone: the folder makes every path look like every other.
        others = [PurePosixPath(each.path).name for each in workflows if each.path != path]
        yield f"path: no branch has a workflow at {path!r}; {did_you_mean(PurePosixPath(path).name, others)}"
        return
    for event in dict.fromkeys(event for file in files for event in file.triggers if event not in _EVENTS):
        yield f"on: GitHub has no event {event!r}; {did_you_mean(event, _EVENTS, otherwise='nothing sets it off')}"
    jobs = [job for file in files for job in file.jobs]
    for key, said in seed.script.jobs.items() if seed.script else ():
        matching = [job for job in jobs if key in {_ANY_JOB, job.key, job.name}]
        if matching:
            yield from _step_warnings(key, said, matching)
        else:
            names = dict.fromkeys(text for job in jobs for text in (job.key, job.name))
            yield f"script: {path} has no job {key!r}; {did_you_mean(key, names)}"


def _step_warnings(key: str, job_seed: SeedScriptJob, jobs: Sequence[JobDefinition]) -> Iterator[str]:
    names = dict.fromkeys(step.name for job in jobs for step in job.steps)
    ends = (each.step for each in (*job_seed.rules, job_seed.otherwise) if each.step is not None)
    for name in dict.fromkeys((*(step.name for step in job_seed.steps), *ends)):
        if name not in names:
            yield f"script: job {key!r} has no step {name!r}; {did_you_mean(name, names)}"
