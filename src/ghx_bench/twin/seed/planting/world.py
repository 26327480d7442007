"""Plants a whole seed: accounts, repositories with their settings, labels and milestones."""

from typing import Any

from ghx_bench.twin.commands import apps, commit_comments, issue_types, labels, milestones, repositories, users
from ghx_bench.twin.commands.kernel import reload
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.seed.document import (
    SeedApp,
    SeedCommitComment,
    SeedIssueType,
    SeedMilestone,
    SeedOrganization,
    SeedRepository,
    SeedUser,
    WorldSeed,
)
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.planting.checks import plant_checks, plant_scripts, plant_workflows
from ghx_bench.twin.seed.planting.conversations import date_conversations, plant_conversations, relate_issues
from ghx_bench.twin.seed.planting.history import find_commit, plant_history
from ghx_bench.twin.seed.planting.releases import plant_releases
from ghx_bench.twin.seed.planting.repository import PlantedRepository
from ghx_bench.twin.state.records import App, IssueType, Label, Repository, Tombstone, User
from ghx_bench.twin.world import Act, World


def plant(world: World, seed: WorldSeed) -> None:
    """Fill a world; users first, then repositories with their history, then what people said.

    Raises `SeedError` for what GitHub would refuse; what was planted before that stays, so use a new world.
    """
    for user in seed.users:
        with within(f"users: {user.login}"):
            _plant_user(world, user)
    for organization in seed.organizations:
        with within(f"organizations: {organization.login}"):
            _plant_organization(world, organization)
    for app in seed.apps:  # before anything that their bots have done
        with within(f"apps: {app.slug}"):
            _plant_app(world, app)
    planted: list[PlantedRepository] = []
    for repository in seed.repositories:
        with within(f"repositories: {repository.name}"):
            planted.append(_plant_repository(world, repository))
    for app in seed.apps:  # once the repositories are there that it is for
        with within(f"apps: {app.slug}"):
            _plant_installations(world, app)
    # Each step is done in every repository before the next one begins: parents, blockers and mentions cross
    # repositories, settings such as `archived` would refuse the conversations, and everything before moves the times.
    for step in (
        plant_conversations, relate_issues, plant_releases, _apply_settings, plant_scripts, _set_times_and_numbers,
    ):  # fmt: skip
        for repo in planted:
            with within(f"repositories: {repo.seed.name}"):
                step(repo)


def _plant_user(world: World, user: SeedUser) -> None:
    with world.acting(None, at=user.at) as act:
        record = users.create_user(act, **user.model_dump(exclude={"tokens", "at"}))
        for token in user.tokens:
            users.create_token(act, record, token=token.token, scopes=token.scopes)


def _plant_organization(world: World, seed: SeedOrganization) -> None:
    with world.acting(None, at=seed.at) as act:
        left = {"email", "members", "teams", "issue_types", "at"}
        record = users.create_organization(act, **seed.model_dump(exclude=left))
        if seed.issue_types is not None:
            _plant_issue_types(act, record, seed.issue_types)
        if seed.email is not None:
            users.update_user(act, record, email=seed.email)
        for login, role in seed.members.items():
            with within(f"members: {login}"):
                users.add_member(act, record, lookup.user(world, login), role)
        for team in seed.teams:
            with within(f"teams: {team.name}"):
                made = users.create_team(act, record, **team.model_dump(exclude={"members"}))
                for login in team.members:
                    users.add_team_member(act, made, lookup.user(world, login))


def _plant_app(world: World, seed: SeedApp) -> None:
    left = {"id", "owner", "installations", "at"}
    with world.acting(None, at=seed.at) as act:
        owner = lookup.account(world, seed.owner)
        apps.create(act, owner=owner, identity=seed.id, **seed.model_dump(exclude=left))


def _plant_installations(world: World, seed: SeedApp) -> None:
    app = world.database.one(App, slug=seed.slug)
    assert app is not None  # noqa: S101 - it was planted before
    for each in seed.installations:
        with within(f"installations: {each.account}"), world.acting(None, at=each.at) as act:
            account = lookup.account(world, each.account)
            names = [name.split("/", 1) for name in each.repositories or ()]
            homes = [lookup.repository(world, None, owner, name) for owner, name in names]
            installation = apps.install(
                act,
                app,
                account,
                permissions=each.permissions,
                repositories=None if each.repositories is None else homes,
                identity=each.id,
            )
            for token in each.tokens:
                apps.create_token(act, app, installation, token=token)


def _plant_issue_types(act: Act, organization: User, seeds: tuple[SeedIssueType, ...]) -> None:
    for first in act.database.all(IssueType, organization_id=organization.id):
        issue_types.delete(act, first)
    for seed in seeds:
        with within(f"issue_types: {seed.name!r}"):
            issue_types.create(act, organization, **seed.model_dump())


def _plant_repository(world: World, seed: SeedRepository) -> PlantedRepository:
    owner = lookup.account(world, seed.name.partition("/")[0])
    with world.acting(None, at=seed.at) as act:
        repo = PlantedRepository(world, _create(act, owner, seed), seed)
        for login, role in seed.collaborators.items():
            with within(f"collaborators: {login}"):
                repositories.add_collaborator(act, repo.record, lookup.user(world, login), role)
        for slug, role in seed.teams.items():
            with within(f"teams: {slug}"):
                team = lookup.team(world, lookup.organization(world, owner.login), slug)
                users.add_team_repository(act, team, repo.record, role)
        _plant_labels(act, repo)
    plant_history(repo)
    plant_workflows(repo)
    plant_checks(repo)
    for milestone in seed.milestones:
        with within(f"milestones: {milestone.title!r}"):
            _plant_milestone(repo, milestone)
    for comment in seed.commit_comments:
        with within(f"commit_comments: {comment.commit}"):
            _plant_commit_comment(repo, comment)
    return repo


def _create(act: Act, owner: User, seed: SeedRepository) -> Repository:
    name = seed.name.partition("/")[2]
    parent = None if seed.fork_of is None else lookup.repository(act.world, None, *seed.fork_of.split("/"))
    # An export carries the fork's own history and settings, which forking would overwrite with the parent's.
    if parent is not None and not seed.exported:
        made = repositories.fork(act, parent, owner=owner, name=name)
        if made.name != name:
            raise InvalidRefusal(f"{owner.login} has a fork of {seed.fork_of} already, {owner.login}/{made.name}")
        return made
    made = repositories.create(
        act,
        owner=owner,
        name=name,
        description=seed.description,
        visibility=seed.visibility,
        default_branch=seed.default_branch,
        homepage=seed.homepage,
        default_labels=seed.labels is None,
    )
    return act.database.update(made, parent_id=parent.id) if parent else made


def _plant_labels(act: Act, repo: PlantedRepository) -> None:
    if repo.seed.labels is None:
        return
    for label in act.database.all(Label, repository_id=repo.record.id):  # a fork begins with GitHub's nine
        labels.delete(act, label)
    for label in repo.seed.labels:
        with within(f"labels: {label.name!r}"):
            labels.create(act, repo.record, name=label.name, color=label.color, description=label.description)


def _plant_milestone(repo: PlantedRepository, seed: SeedMilestone) -> None:
    if seed.number is not None:
        with repo.world.acting(None) as act:
            current = repo.current(act)
            if seed.number < current.next_milestone_number:
                raise InvalidRefusal(f"number {seed.number} is taken; list milestones in the order of their numbers")
            act.database.update(current, next_milestone_number=seed.number)
    with repo.acting_as(seed.creator or repo.steward, at=seed.at) as act:
        made = milestones.create(act, repo.record, title=seed.title, description=seed.description, due_on=seed.due_on)
    if seed.state == "closed":
        with repo.world.acting(None, at=seed.closed_at) as act:
            milestones.update(act, made, state="closed")


def _plant_commit_comment(repo: PlantedRepository, seed: SeedCommitComment) -> None:
    with repo.acting_as(seed.author or repo.steward, at=seed.at) as act:
        made = commit_comments.create(
            act,
            repo.record,
            sha=find_commit(repo, seed.commit),
            **seed.model_dump(include={"body", "path", "position", "line"}),
        )
        if seed.updated_at is not None:
            act.database.update(made, updated_at=seed.updated_at)


def _apply_settings(repo: PlantedRepository) -> None:
    """Set what would have refused the planting: rules for branches, switched-off features, the archive."""
    seed = repo.seed
    with repo.world.acting(None) as act:
        for rule in seed.protection:
            with within(f"protection: {rule.pattern}"):
                repositories.protect(act, repo.record, **rule.model_dump())
        current = repo.current(act)
        # A fork takes from its parent what the seed leaves out; elsewhere, and in an export, the default is meant.
        stated = seed.model_fields_set if seed.fork_of is not None and not seed.exported else _SETTINGS
        wanted = {name: getattr(seed, name) for name in _SETTINGS if name in stated}
        changes: dict[str, Any] = {name: value for name, value in wanted.items() if value != getattr(current, name)}
        if changes:
            repositories.update(act, current, **changes)
        for number in seed.gone_numbers:
            act.database.insert(Tombstone, repository_id=current.id, number=number)


def _set_times_and_numbers(repo: PlantedRepository) -> None:
    """Set the times and numbers that planting itself moves."""
    date_conversations(repo)
    seed = repo.seed
    with repo.world.acting(None) as act:
        current = reload(act, repo.record)
        _refuse_taken(current, seed)
        fields = {name: getattr(seed, name) for name in ("updated_at", "pushed_at", "next_number")}
        fields["next_milestone_number"] = seed.next_milestone_number
        act.database.update(current, **{name: value for name, value in fields.items() if value is not None})


def _refuse_taken(current: Repository, seed: SeedRepository) -> None:
    for name in ("next_number", "next_milestone_number"):
        wanted, free = getattr(seed, name), getattr(current, name)
        if wanted is not None and wanted < free:
            raise InvalidRefusal(f"{name}: {wanted} is taken; the first free one is {free}")


_SETTINGS = (
    "description", "homepage", "visibility", "default_branch", "topics", "has_issues", "has_wiki", "has_projects",
    "has_downloads", "has_discussions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge",
    "allow_auto_merge", "allow_update_branch", "allow_forking", "delete_branch_on_merge",
    "web_commit_signoff_required", "is_template", "archived",
)  # fmt: skip
