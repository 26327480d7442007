"""Harvests a whole world: accounts, repositories with their settings, labels, milestones, checks and workflow runs.

Kept: people, settings, history to the commit, checks, workflow runs, releases with their files, conversations with
their states, authors and times. Not kept: the entries of timelines (planting writes new ones), database ids (but those
of workflow runs), former names of repositories, where moved issues went, and the world's clock.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ghx_bench.twin.git.bundles import bundle
from ghx_bench.twin.queries import lookup, workflow_runs
from ghx_bench.twin.seed.checks import (
    SeedArtifact,
    SeedAttempt,
    SeedCommitCheck,
    SeedJob,
    SeedRun,
    SeedStep,
    SeedWorkflow,
)
from ghx_bench.twin.seed.conversations import SeedPull
from ghx_bench.twin.seed.document import (
    SeedApp,
    SeedCommitComment,
    SeedInstallation,
    SeedIssueType,
    SeedLabel,
    SeedMilestone,
    SeedOrganization,
    SeedProtection,
    SeedRepository,
    SeedTeam,
    SeedToken,
    SeedUser,
    WorldSeed,
)
from ghx_bench.twin.seed.format import SeedFile
from ghx_bench.twin.seed.harvesting.conversations import harvest_issues, harvest_pulls
from ghx_bench.twin.seed.harvesting.releases import harvest_releases
from ghx_bench.twin.seed.workflow_scripts import SeedAnnotation
from ghx_bench.twin.state.records import (
    Annotation,
    App,
    Artifact,
    CheckRun,
    Collaborator,
    CommitComment,
    Installation,
    IssueType,
    Label,
    Membership,
    Milestone,
    Protection,
    Repository,
    RunAttempt,
    Status,
    Step,
    Team,
    TeamMember,
    TeamRepository,
    Token,
    Tombstone,
    User,
    Workflow,
    WorkflowRun,
)
from ghx_bench.twin.world import World


def harvest(world: World) -> WorldSeed:
    """Return the seed of a world."""
    with world.database.held():  # or a request between two tables would tear the seed apart
        accounts = world.database.all(User)
        people = tuple(_user(world, account) for account in accounts if account.type != "Organization")
        groups = tuple(_organization(world, account) for account in accounts if account.type == "Organization")
        homes = tuple(_repository(world, repository) for repository in world.database.all(Repository))
        apps = tuple(_app(world, app) for app in world.database.all(App))
    return WorldSeed(users=people, organizations=groups, apps=apps, repositories=homes)


def _user(world: World, user: User) -> SeedUser:
    tokens = world.database.all(Token, user_id=user.id, installation_id=None)
    profile = ("login", "type", "name", "email", "bio", "company", "location", "blog", "site_admin")
    return SeedUser.model_validate(
        {
            **{name: getattr(user, name) for name in profile},
            "tokens": tuple(SeedToken(token=token.token, scopes=token.scopes) for token in tokens),
            "at": user.created_at,
        }
    )


def _app(world: World, app: App) -> SeedApp:
    same = ("id", "slug", "name", "description", "client_id", "public_key", "permissions", "events")
    found = world.database.all(Installation, app_id=app.id)
    return SeedApp.model_validate(
        {
            **{name: getattr(app, name) for name in same},
            "owner": _login(world, app.owner_id),
            "installations": tuple(_installation(world, one) for one in found),
            "at": app.created_at,
        }
    )


def _installation(world: World, installation: Installation) -> SeedInstallation:
    # Tokens that were asked for expire within the hour: only those without an end are of the world.
    tokens = world.database.all(Token, installation_id=installation.id, expires_at=None)
    homes = (world.database.get(Repository, identity) for identity in installation.repository_ids or ())
    names = tuple(lookup.full_name(world, home) for home in homes if home is not None)
    return SeedInstallation.model_validate(
        {
            "id": installation.id,
            "account": _login(world, installation.account_id),
            "permissions": dict(installation.permissions),
            "repositories": None if installation.repository_ids is None else names,
            "tokens": tuple(token.token for token in tokens),
            "at": installation.created_at,
        }
    )


def _organization(world: World, organization: User) -> SeedOrganization:
    members = world.database.all(Membership, organization_id=organization.id)
    return SeedOrganization.model_validate(
        {
            **{name: getattr(organization, name) for name in ("login", "name", "email", "bio", "location", "blog")},
            "members": {_login(world, member.user_id): member.role for member in members},
            "teams": tuple(_team(world, team) for team in world.database.all(Team, organization_id=organization.id)),
            "issue_types": tuple(
                SeedIssueType(**{name: getattr(one, name) for name in SeedIssueType.model_fields})
                for one in world.database.all(IssueType, organization_id=organization.id)
            ),
            "at": organization.created_at,
        }
    )


def _team(world: World, team: Team) -> SeedTeam:
    members = world.database.all(TeamMember, team_id=team.id)
    return SeedTeam.model_validate(
        {
            **{name: getattr(team, name) for name in ("name", "slug", "description", "privacy")},
            "members": tuple(_login(world, member.user_id) for member in members),
        }
    )


_SAME = (
    "description", "homepage", "visibility", "default_branch", "topics", "has_issues", "has_wiki", "has_projects",
    "has_downloads", "has_discussions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge",
    "allow_auto_merge", "allow_update_branch", "allow_forking", "delete_branch_on_merge",
    "web_commit_signoff_required", "archived", "is_template", "updated_at", "pushed_at", "next_number",
    "next_milestone_number",
)  # fmt: skip


def _repository(world: World, repository: Repository) -> SeedRepository:
    parent = world.database.get(Repository, repository.parent_id)
    pulls = tuple(harvest_pulls(world, repository))
    checks = tuple(_checks(world, repository))
    workflows = tuple(_workflows(world, repository))
    comments = tuple(_commit_comments(world, repository))
    reported = {each.commit for each in (*checks, *comments, *(run for workflow in workflows for run in workflow.runs))}
    history = bundle(world.git(repository), also=_commits_of(pulls) | reported)
    return SeedRepository.model_validate(
        {
            **{name: getattr(repository, name) for name in _SAME},
            **_belongings(world, repository),
            "name": lookup.full_name(world, repository),
            "fork_of": None if parent is None else lookup.full_name(world, parent),
            "exported": True,  # planting then restores what has happened and asks for no role
            "bundle": base64.b64encode(history).decode() if history else None,
            "checks": checks,
            "workflows": workflows,
            "issues": tuple(harvest_issues(world, repository)),
            "pulls": pulls,
            "commit_comments": comments,
            "releases": tuple(harvest_releases(world, repository)),
            "at": repository.created_at,
        }
    )


def _belongings(world: World, repository: Repository) -> dict[str, Any]:
    database, home = world.database, repository.id
    roles = {_login(world, each.user_id): each.role for each in database.all(Collaborator, repository_id=home)}
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
        "gone_numbers": tuple(each.number for each in database.all(Tombstone, order="number", repository_id=home)),
    }


def _commits_of(pulls: tuple[SeedPull, ...]) -> set[str]:
    """Return the commits that pull requests speak of, which need not be on any branch any more."""
    found: set[str | None] = set()
    for pull in pulls:
        if pull.outcome is not None:
            found |= {pull.outcome.head_sha, pull.outcome.base_sha, pull.outcome.merge_commit_sha}
        found |= {review.commit_sha for review in pull.reviews}
        places = (thread.place for thread in pull.threads if thread.place is not None)
        found |= {sha for place in places for sha in (place.commit_sha, place.original_commit_sha)}
    return {sha for sha in found if sha is not None}


def _milestone(world: World, milestone: Milestone) -> SeedMilestone:
    same = ("number", "title", "description", "state", "due_on", "closed_at")
    return SeedMilestone.model_validate(
        {
            **{name: getattr(milestone, name) for name in same},
            "creator": _login(world, milestone.creator_id),
            "at": milestone.created_at,
        }
    )


def _commit_comments(world: World, repository: Repository) -> Iterator[SeedCommitComment]:
    for comment in world.database.all(CommitComment, repository_id=repository.id):
        yield SeedCommitComment.model_validate(
            {
                **{name: getattr(comment, name) for name in ("body", "path", "position", "line", "updated_at")},
                "commit": comment.commit_sha,
                "author": _login(world, comment.author_id),
                "at": comment.created_at,
            }
        )


def _checks(world: World, repository: Repository) -> Iterator[SeedCommitCheck]:
    """Yield check runs that are no jobs, then statuses, each in the order they were reported."""
    for run in world.database.all(CheckRun, repository_id=repository.id, attempt_id=None):
        creator = None if run.creator_id is None else _login(world, run.creator_id)
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


def _login(world: World, identity: int) -> str:
    return lookup.user_by_id(world, identity).login
