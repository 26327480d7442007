"""Plants a repository: settings, roles, labels, milestones, comments on commits and releases."""

from typing import Any

from ghx_twin.commands import releases, repositories, restoring, users
from ghx_twin.commands.issues import labels, milestones
from ghx_twin.commands.kernel import reload
from ghx_twin.commands.repositories import commit_comments
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.seed.building.checks import build_checks, build_workflows
from ghx_twin.seed.building.conversations import date_conversations
from ghx_twin.seed.building.deployments import build_deployments
from ghx_twin.seed.building.history import build_history, decode_content, find_commit
from ghx_twin.seed.building.repository_build import RepositoryBuild
from ghx_twin.seed.building.rulesets import build_rulesets
from ghx_twin.seed.document import SeedCommitComment, SeedMilestone, SeedRepository
from ghx_twin.seed.mistakes import error_place
from ghx_twin.seed.releases import SeedAsset, SeedRelease
from ghx_twin.state.records import Label, Release, Repository, Tombstone, User
from ghx_twin.world import Act, World

_SETTINGS = (
    "description", "homepage", "visibility", "default_branch", "topics", "has_issues", "has_wiki", "has_projects",
    "has_downloads", "has_discussions", "allow_merge_commit", "allow_squash_merge", "allow_rebase_merge",
    "allow_auto_merge", "allow_update_branch", "allow_forking", "delete_branch_on_merge",
    "web_commit_signoff_required", "is_template", "archived",
)  # fmt: skip


def build_repository(world: World, seed: SeedRepository) -> RepositoryBuild:
    """Create a repository with its roles, labels, history, checks, deployments, milestones and comments on commits."""
    owner = lookup.account(world, seed.name.partition("/")[0])
    with world.acting(None, at=seed.at) as act:
        repo = RepositoryBuild(world, _create(act, owner, seed), seed)
        for login, role in seed.collaborators.items():
            with error_place(f"collaborators: {login}"):
                repositories.add_collaborator(act, repo.record, lookup.user(world, login), role)
        for slug, role in seed.teams.items():
            with error_place(f"teams: {slug}"):
                team = lookup.team(world, lookup.organization(world, owner.login), slug)
                users.add_team_repository(act, team, repo.record, role)
        _build_labels(act, repo)
    build_history(repo)
    build_workflows(repo)
    build_checks(repo)
    build_deployments(repo)
    for milestone in seed.milestones:
        with error_place(f"milestones: {milestone.title!r}"):
            _build_milestone(repo, milestone)
    for comment in seed.commit_comments:
        with error_place(f"commit_comments: {comment.commit}"):
            _build_commit_comment(repo, comment)
    return repo


def _create(act: Act, owner: User, seed: SeedRepository) -> Repository:
    name = seed.name.partition("/")[2]
    parent = None if seed.fork_of is None else lookup.repository(act.world, None, *seed.fork_of.split("/"))
    # An export carries the fork's own history and settings, which forking would overwrite with the parent's.
    if parent is not None and not seed.exported:
        fork = repositories.fork(act, parent, owner=owner, name=name)
        if fork.name != name:
            raise InvalidRefusal(f"{owner.login} has a fork of {seed.fork_of} already, {owner.login}/{fork.name}")
        # A fork begins without issues, which would be refused; all other settings wait until everything is built.
        says_so = seed.has_issues and "has_issues" in seed.model_fields_set
        return act.database.update(fork, has_issues=True) if says_so else fork
    fork = repositories.create(
        act,
        owner=owner,
        name=name,
        description=seed.description,
        visibility=seed.visibility,
        default_branch=seed.default_branch,
        homepage=seed.homepage,
        default_labels=seed.labels is None,
    )
    return act.database.update(fork, parent_id=parent.id) if parent else fork


def _build_labels(act: Act, repo: RepositoryBuild) -> None:
    if repo.seed.labels is None:
        return
    for label in act.database.all(Label, repository_id=repo.record.id):  # a fork begins with GitHub's nine
        labels.delete(act, label)
    for label in repo.seed.labels:
        with error_place(f"labels: {label.name!r}"):
            labels.create(act, repo.record, name=label.name, color=label.color, description=label.description)


def _build_milestone(repo: RepositoryBuild, seed: SeedMilestone) -> None:
    if seed.number is not None:
        with repo.world.acting(None) as act:
            current = repo.current(act)
            if seed.number < current.next_milestone_number:
                raise InvalidRefusal(f"number {seed.number} is taken; list milestones in the order of their numbers")
            act.database.update(current, next_milestone_number=seed.number)
    with repo.acting_as(seed.creator or repo.steward, at=seed.at) as act:
        record = milestones.create(act, repo.record, title=seed.title, description=seed.description, due_on=seed.due_on)
    if seed.state == "closed":
        with repo.world.acting(None, at=seed.closed_at) as act:
            milestones.update(act, record, state="closed")


def _build_commit_comment(repo: RepositoryBuild, seed: SeedCommitComment) -> None:
    with repo.acting_as(seed.author or repo.steward, at=seed.at) as act:
        record = commit_comments.create(
            act,
            repo.record,
            sha=find_commit(repo, seed.commit),
            **seed.model_dump(include={"body", "path", "position", "line"}),
        )
        if seed.updated_at is not None:
            act.database.update(record, updated_at=seed.updated_at)


def build_releases(repo: RepositoryBuild) -> None:
    """Make the releases of a repository, with the tags that do not exist yet."""
    for release in repo.seed.releases:
        with error_place(f"releases: {release.tag_name}"):
            _build_release(repo, release)


def _build_release(repo: RepositoryBuild, seed: SeedRelease) -> None:
    author = seed.author or repo.steward
    same = seed.model_dump(include={"tag_name", "name", "body", "draft", "prerelease"})
    target = seed.target_commitish or repo.record.default_branch
    with repo.acting_as(author, at=seed.published_at or seed.updated_at) as act:
        if repo.seed.exported:  # the branch it was made at may be gone
            is_latest = seed.make_latest and not seed.draft
            release = restoring.add_release(act, repo.record, **same, target_commitish=target, is_latest=is_latest)
        else:
            choice = None if seed.make_latest else "false"
            release = releases.create(act, repo.current(act), **same, target_commitish=target, make_latest=choice)
    for asset in seed.assets:
        with error_place(f"assets: {asset.name}"):
            _build_asset(repo, release, asset, author)
    times = {name: getattr(seed, name) for name in ("created_at", "published_at", "updated_at")}
    stated = {name: moment for name, moment in times.items() if moment is not None}
    if stated:
        with repo.world.acting(None) as act:
            act.database.update(release, **stated)


def _build_asset(repo: RepositoryBuild, release: Release, seed: SeedAsset, author: str) -> None:
    with repo.acting_as(seed.uploader or author, at=seed.at) as act:
        asset = releases.upload_asset(
            act,
            release,
            content=decode_content("content", seed.content, seed.encoding),
            **seed.model_dump(include={"name", "content_type", "label"}),
        )
        if seed.updated_at is not None:
            act.database.update(asset, updated_at=seed.updated_at)


def apply_settings(repo: RepositoryBuild) -> None:
    """Set what would have refused the planting: rules for branches, switched-off features, the archive."""
    seed = repo.seed
    build_rulesets(repo.world, repo.record, seed.rulesets)
    with repo.world.acting(None) as act:
        for rule in seed.protection:
            with error_place(f"protection: {rule.pattern}"):
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


def set_times_and_numbers(repo: RepositoryBuild) -> None:
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
        new_value, free = getattr(seed, name), getattr(current, name)
        if new_value is not None and new_value < free:
            raise InvalidRefusal(f"{name}: {new_value} is taken; the first free one is {free}")
