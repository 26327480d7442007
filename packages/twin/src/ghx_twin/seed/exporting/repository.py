"""Harvests a repository: settings, labels, milestones, history, checks, workflow runs, releases, conversations."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ghx_twin.git.bundles import bundle
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.seed.checks import (
    SeedArtifact,
    SeedAttempt,
    SeedCommitCheck,
    SeedJob,
    SeedRun,
    SeedStep,
    SeedWorkflow,
)
from ghx_twin.seed.conversations import SeedPull
from ghx_twin.seed.document import SeedCommitComment, SeedLabel, SeedMilestone, SeedProtection, SeedRepository
from ghx_twin.seed.exporting.conversations import export_issues, export_pulls
from ghx_twin.seed.exporting.deployments import export_deployments
from ghx_twin.seed.exporting.rulesets import export_rulesets
from ghx_twin.seed.format import SeedFile
from ghx_twin.seed.releases import SeedAsset, SeedRelease
from ghx_twin.seed.workflow_scripts import SeedAnnotation
from ghx_twin.state.records import (
    Annotation,
    Artifact,
    CheckRun,
    Collaborator,
    CommitComment,
    Deployment,
    Label,
    Milestone,
    Protection,
    Release,
    ReleaseAsset,
    Repository,
    RunAttempt,
    Status,
    Step,
    Team,
    TeamRepository,
    Tombstone,
    Workflow,
    WorkflowRun,
)
from ghx_twin.world import World

_SAME = (
    "description", "homepage", "visibility", "default_branch", "topics", "has_issues", "has_wiki", "has_projects",
    "has_downloads", "has_discussions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge",
    "allow_auto_merge", "allow_update_branch", "allow_forking", "delete_branch_on_merge",
    "web_commit_signoff_required", "archived", "is_template", "updated_at", "pushed_at", "next_number",
    "next_milestone_number",
)  # fmt: skip
_OF_RELEASE = (
    "tag_name", "target_commitish", "name", "body", "draft", "prerelease", "created_at", "published_at", "updated_at",
)  # fmt: skip


def export_repository(world: World, repository: Repository) -> SeedRepository:
    """Return the seed of a repository with everything in it."""
    parent = world.database.get(Repository, repository.parent_id)
    pulls = tuple(export_pulls(world, repository))
    checks = tuple(_checks(world, repository))
    workflows = tuple(_workflows(world, repository))
    comments = tuple(_commit_comments(world, repository))
    reported = {each.commit for each in (*checks, *comments, *(run for workflow in workflows for run in workflow.runs))}
    deployed = {each.sha for each in world.database.all(Deployment, repository_id=repository.id)}
    history = bundle(world.git(repository), also=_commits_of(pulls) | reported | deployed)
    return SeedRepository.model_validate(
        {
            **{name: getattr(repository, name) for name in _SAME},
            **_belongings(world, repository),
            "name": lookup.full_name(world, repository),
            "fork_of": None if parent is None else lookup.full_name(world, parent),
            "exported": True,  # building then restores what has happened and asks for no role
            "bundle": base64.b64encode(history).decode() if history else None,
            "checks": checks,
            "workflows": workflows,
            "issues": tuple(export_issues(world, repository)),
            "pulls": pulls,
            "commit_comments": comments,
            "releases": tuple(_releases(world, repository)),
            "at": repository.created_at,
        }
    )


def _belongings(world: World, repository: Repository) -> dict[str, Any]:
    database, home = world.database, repository.id
    roles = {
        lookup.user_by_id(world, each.user_id).login: each.role
        for each in database.all(Collaborator, repository_id=home)
    }
    teams = [(database.get(Team, each.team_id), each.role) for each in database.all(TeamRepository, repository_id=home)]
    return {
        "collaborators": roles,
        "teams": {team.slug: role for team, role in teams if team},
        "labels": tuple(
            SeedLabel(name=label.name, color=label.color, description=label.description)
            for label in database.all(Label, repository_id=home)
        ),
        "milestones": tuple(
            _milestone(world, each) for each in database.all(Milestone, order="number", repository_id=home)
        ),
        "protection": tuple(
            SeedProtection(**{name: getattr(rule, name) for name in SeedProtection.model_fields})
            for rule in database.all(Protection, repository_id=home)
        ),
        "rulesets": export_rulesets(world, repository_id=home),
        **export_deployments(world, repository),
        "gone_numbers": tuple(each.number for each in database.all(Tombstone, order="number", repository_id=home)),
    }


def _commits_of(pulls: tuple[SeedPull, ...]) -> set[str]:
    """Return the commits that pull requests speak of, which need not be on any branch any more."""
    commits: set[str | None] = set()
    for pull in pulls:
        if pull.outcome is not None:
            commits |= {pull.outcome.head_sha, pull.outcome.base_sha, pull.outcome.merge_commit_sha}
        commits |= {review.commit_sha for review in pull.reviews}
        places = (thread.place for thread in pull.threads if thread.place is not None)
        commits |= {sha for place in places for sha in (place.commit_sha, place.original_commit_sha)}
    return {sha for sha in commits if sha is not None}


def _milestone(world: World, milestone: Milestone) -> SeedMilestone:
    same = ("number", "title", "description", "state", "due_on", "closed_at")
    return SeedMilestone.model_validate(
        {
            **{name: getattr(milestone, name) for name in same},
            "creator": lookup.user_by_id(world, milestone.creator_id).login,
            "at": milestone.created_at,
        }
    )


def _commit_comments(world: World, repository: Repository) -> Iterator[SeedCommitComment]:
    for comment in world.database.all(CommitComment, repository_id=repository.id):
        yield SeedCommitComment.model_validate(
            {
                **{name: getattr(comment, name) for name in ("body", "path", "position", "line", "updated_at")},
                "commit": comment.commit_sha,
                "author": lookup.user_by_id(world, comment.author_id).login,
                "at": comment.created_at,
            }
        )


def _releases(world: World, repository: Repository) -> Iterator[SeedRelease]:
    """Yield the releases of a repository, oldest first."""
    for release in world.database.all(Release, repository_id=repository.id):
        yield SeedRelease.model_validate(
            {
                **{name: getattr(release, name) for name in _OF_RELEASE},
                "make_latest": release.is_latest,
                "author": lookup.user_by_id(world, release.author_id).login,
                "assets": tuple(
                    _asset(world, repository, each) for each in world.database.all(ReleaseAsset, release_id=release.id)
                ),
            }
        )


def _asset(world: World, repository: Repository, asset: ReleaseAsset) -> SeedAsset:
    content = world.git(repository).blob(asset.blob_sha) or b""
    try:
        text, encoding = content.decode(), "utf-8"
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(content).decode(), "base64"
    return SeedAsset.model_validate(
        {
            **{name: getattr(asset, name) for name in ("name", "content_type", "label", "updated_at")},
            "content": text,
            "encoding": encoding,
            "uploader": lookup.user_by_id(world, asset.uploader_id).login,
            "at": asset.created_at,
        }
    )


def _checks(world: World, repository: Repository) -> Iterator[SeedCommitCheck]:
    """Yield check runs that are no jobs, then statuses, each in the order they were reported."""
    for run in world.database.all(CheckRun, repository_id=repository.id, attempt_id=None):
        creator = None if run.creator_id is None else lookup.user_by_id(world, run.creator_id).login
        yield SeedCommitCheck.model_validate({**_check_run(run), "commit": run.head_sha, "creator": creator})
    for status in world.database.all(Status, repository_id=repository.id):
        yield SeedCommitCheck(
            kind="status",
            name=status.context,
            conclusion=status.state,
            description=status.description,
            url=status.target_url,
            commit=status.sha,
            creator=lookup.user_by_id(world, status.creator_id).login,
            at=status.created_at,
        )


def _workflows(world: World, repository: Repository) -> Iterator[SeedWorkflow]:
    """Yield workflows with their runs, each in the order they were made."""
    database = world.database
    for workflow in database.all(Workflow, repository_id=repository.id):
        runs = database.all(WorkflowRun, workflow_id=workflow.id)
        yield SeedWorkflow.model_validate(
            {
                **{name: getattr(workflow, name) for name in ("name", "path", "state", "script", "updated_at")},
                "at": workflow.created_at,
                "runs": tuple(_run(world, run) for run in runs),
            }
        )


def _run(world: World, run: WorkflowRun) -> SeedRun:
    first, *others = world.database.all(RunAttempt, order="number", run_id=run.id)
    return SeedRun.model_validate(
        {
            **_attempt(world, first),
            **{name: getattr(run, name) for name in ("id", "number", "event", "title", "inputs")},
            "commit": run.head_sha,
            "branch": run.head_branch,
            "artifacts": tuple(map(_artifact, world.database.all(Artifact, run_id=run.id))),
            "reruns": tuple(SeedAttempt.model_validate(_attempt(world, each)) for each in others),
        }
    )


def _attempt(world: World, attempt: RunAttempt) -> dict[str, Any]:
    jobs = tuple(_job(world, job) for job in workflow_runs.jobs(world, attempt))
    return {
        "actor": lookup.user_by_id(world, attempt.actor_id).login,
        "jobs": jobs,
        "conclusion": None if jobs else attempt.conclusion,  # with jobs it follows from theirs
        "logs": attempt.logs,
        "at": attempt.started_at,
        "updated_at": attempt.updated_at,
    }


def _job(world: World, job: CheckRun) -> SeedJob:
    steps = world.database.all(Step, order="number", job_id=job.id)
    annotations = world.database.all(Annotation, check_run_id=job.id)
    return SeedJob.model_validate(
        {
            **_check_run(job),
            "steps": tuple(
                SeedStep.model_validate(
                    {
                        **{name: getattr(step, name) for name in ("name", "status", "conclusion", "log")},
                        "at": step.started_at,
                        "completed_at": step.completed_at,
                    }
                )
                for step in steps
            ),
            "annotations": tuple(
                SeedAnnotation.model_validate({name: getattr(each, name) for name in SeedAnnotation.model_fields})
                for each in annotations
            ),
        }
    )


def _artifact(artifact: Artifact) -> SeedArtifact:
    files = {path: SeedFile(content=content, encoding="base64") for path, content in artifact.files.items()}
    return SeedArtifact.model_validate(
        {
            **{name: getattr(artifact, name) for name in ("name", "expired", "updated_at", "expires_at")},
            "files": files,
            "at": artifact.created_at,
        }
    )


def _check_run(run: CheckRun) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in ("name", "status", "conclusion", "title", "summary")},
        "url": run.details_url,
        "at": _utc(run.started_at),
        "completed_at": _utc(run.completed_at),
    }


def _utc(text: str | None) -> str | None:
    """Return a time in GitHub's spelling; tools report times in any ISO 8601 form, and texts that are none."""
    try:
        moment = datetime.fromisoformat(text or "")
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):  # no time, or one before the year 1 in UTC
        return None
