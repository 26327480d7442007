"""Harvests a whole world: accounts, repositories with their settings, labels and milestones.

Kept: people, settings, history to the commit, checks, workflow runs, conversations with their states, authors and
times. Not kept: the entries of timelines (planting writes new ones), database ids (but those of workflow runs), former
names of repositories, where moved issues went, and the world's clock.
"""

import base64
from typing import Any

from ghx_bench.twin.git.bundles import bundle
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.seed.conversations import SeedPull
from ghx_bench.twin.seed.document import (
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
from ghx_bench.twin.seed.harvesting.checks import harvest_checks, harvest_workflows
from ghx_bench.twin.seed.harvesting.conversations import harvest_issues, harvest_pulls
from ghx_bench.twin.state.records import (
    Collaborator,
    Label,
    Membership,
    Milestone,
    Protection,
    Repository,
    Team,
    TeamMember,
    TeamRepository,
    Token,
    Tombstone,
    User,
)
from ghx_bench.twin.world import World


def harvest(world: World) -> WorldSeed:
    """Return the seed of a world."""
    with world.database.held():  # or a request between two tables would tear the seed apart
        accounts = world.database.all(User)
        people = tuple(_user(world, account) for account in accounts if account.type != "Organization")
        groups = tuple(_organization(world, account) for account in accounts if account.type == "Organization")
        homes = tuple(_repository(world, repository) for repository in world.database.all(Repository))
    return WorldSeed(users=people, organizations=groups, repositories=homes)


def _user(world: World, user: User) -> SeedUser:
    tokens = world.database.all(Token, user_id=user.id)
    profile = ("login", "type", "name", "email", "bio", "company", "location", "blog", "site_admin")
    return SeedUser.model_validate(
        {
            **{name: getattr(user, name) for name in profile},
            "tokens": tuple(SeedToken(token=token.token, scopes=token.scopes) for token in tokens),
            "at": user.created_at,
        }
    )


def _organization(world: World, organization: User) -> SeedOrganization:
    members = world.database.all(Membership, organization_id=organization.id)
    return SeedOrganization.model_validate(
        {
            **{name: getattr(organization, name) for name in ("login", "name", "email", "bio", "location", "blog")},
            "members": {_login(world, member.user_id): member.role for member in members},
            "teams": tuple(_team(world, team) for team in world.database.all(Team, organization_id=organization.id)),
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
    checks = tuple(harvest_checks(world, repository))
    workflows = tuple(harvest_workflows(world, repository))
    reported = {each.commit for each in (*checks, *(run for workflow in workflows for run in workflow.runs))}
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


def _login(world: World, identity: int) -> str:
    return lookup.user_by_id(world, identity).login
