"""What a seed says is what the world holds."""

import inspect
from collections.abc import Generator
from pathlib import Path

import pytest
from pydantic import BaseModel
from seeds import RICH, rich_world, world_of

from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import user_role
from ghx_twin.queries.pulls.reviews import visible_reviews
from ghx_twin.seed.checks import (
    SeedArtifact,
    SeedAttempt,
    SeedCheck,
    SeedCommitCheck,
    SeedJob,
    SeedRun,
    SeedStep,
    SeedWorkflow,
)
from ghx_twin.seed.conversations import SeedComment, SeedIssue, SeedPull, SeedReview, SeedThread
from ghx_twin.seed.document import (
    SeedApp,
    SeedCommit,
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
from ghx_twin.seed.exporting import export_seed
from ghx_twin.seed.format import SeedFile
from ghx_twin.seed.loading import load_seed
from ghx_twin.seed.releases import SeedAsset, SeedRelease
from ghx_twin.seed.repeats import SeedRepeat
from ghx_twin.seed.workflow_scripts import (
    SeedAnnotation,
    SeedCondition,
    SeedOutcome,
    SeedRule,
    SeedScript,
    SeedScriptJob,
    SeedScriptStep,
    SeedYamlValue,
)
from ghx_twin.state.records import (
    Assignee,
    CheckRun,
    Comment,
    Dependency,
    Event,
    Issue,
    Label,
    Milestone,
    Protection,
    Pull,
    Reaction,
    Release,
    ReleaseAsset,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    Status,
    Team,
    TeamMember,
    Thread,
    Token,
    User,
)
from ghx_twin.viewer import EVERY_SCOPE, Viewer
from ghx_twin.world import World

WRITTEN_BY_PEOPLE = (
    WorldSeed, SeedUser, SeedToken, SeedOrganization, SeedTeam, SeedRepository, SeedFile, SeedCommit, SeedLabel,
    SeedMilestone, SeedProtection, SeedCommitCheck, SeedCheck, SeedIssue, SeedPull, SeedComment, SeedReview, SeedThread,
    SeedWorkflow, SeedRun, SeedAttempt, SeedJob, SeedStep, SeedArtifact, SeedAnnotation, SeedScript, SeedScriptJob,
    SeedScriptStep, SeedRule, SeedOutcome, SeedCondition, SeedYamlValue,
    SeedRelease, SeedAsset, SeedCommitComment,
    SeedApp, SeedInstallation, SeedIssueType, SeedRepeat,
)  # fmt: skip
WRITTEN_BY_EXPORTS = {"exported", "bundle", "gone_numbers", "outcome", "place", "review", "commit_sha"}


@pytest.fixture(scope="module")
def world() -> Generator[World]:
    with rich_world() as made:
        yield made


@pytest.fixture
def widgets(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def text(world: World, repository: Repository, path: str, ref: str = "trunk") -> str:
    git = world.git(repository)
    entry = git.entry(git.resolve(ref, "trunk") or "", path)
    assert entry is not None
    return (git.blob(entry.sha) or b"").decode("latin-1")


def login(world: World, identity: int | None) -> str:
    return lookup.user_by_id(world, identity or 0).login


def home_of(model: type[BaseModel], key: str) -> str:
    """Return the model that a key is declared in: what issues and pull requests share needs one of them only."""
    return next(each.__name__ for each in reversed(model.mro()) if key in inspect.get_annotations(each))


def used_keys(part: object) -> Generator[tuple[str, str]]:
    if isinstance(part, BaseModel):
        for name in part.model_fields_set:
            yield home_of(type(part), name), name
            yield from used_keys(getattr(part, name))
    elif isinstance(part, dict):
        for value in part.values():
            yield from used_keys(value)
    elif isinstance(part, tuple):
        for value in part:
            yield from used_keys(value)


def test_the_rich_seed_uses_every_key_that_people_write() -> None:
    used = set(used_keys(load_seed(RICH)))
    known = {(home_of(model, key), key) for model in WRITTEN_BY_PEOPLE for key in model.model_fields}
    assert {(model, key) for model, key in known - used if key not in WRITTEN_BY_EXPORTS} == set()


def test_people_have_their_profiles_and_tokens(world: World) -> None:
    octo = lookup.user(world, "octo")
    assert (octo.name, octo.email, octo.bio, octo.company) == ("Octo Cat", "octo@example.com", "Likes fish", "Acme")
    assert (octo.location, octo.blog, octo.site_admin) == ("The sea", "https://octo.example", True)
    assert octo.created_at == "2020-02-03T04:05:06Z"
    assert lookup.user(world, "ci-runner").type == "Bot"
    scopes = {token.token: token.scopes for token in world.database.all(Token, user_id=octo.id)}
    assert scopes["t-weak"] == ("public_repo",)
    assert set(scopes["t-octo"]) == EVERY_SCOPE


def test_releases_have_tags_files_and_times(world: World) -> None:
    home = lookup.repository(world, None, "acme", "widgets")
    first, backport, candidate, draft = world.database.all(Release, repository_id=home.id)
    assert (first.name, first.body, first.is_latest) == ("One", "The first one.", True)
    times = (first.created_at, first.published_at, first.updated_at)
    assert times == ("2021-02-01T00:00:00Z", "2021-02-02T00:00:00Z", "2021-02-03T00:00:00Z")
    assert not any((backport.is_latest, candidate.is_latest, draft.is_latest))
    git = world.git(home)
    assert git.ref("refs/tags/v0.9.1") == git.ref("refs/heads/feature")
    assert git.ref("refs/tags/v2.0") is None
    notes, app = world.database.all(ReleaseAsset, release_id=first.id)
    assert (notes.name, notes.label, notes.content_type) == ("notes.txt", "Notes", "text/plain")
    assert (notes.created_at, notes.updated_at) == ("2021-02-02T00:00:00Z", "2021-02-03T00:00:00Z")
    assert (git.blob(notes.blob_sha), git.blob(app.blob_sha)) == (b"Read me\n", b"\x00\xff")


def test_organizations_have_members_and_teams(world: World) -> None:
    acme = lookup.organization(world, "acme")
    assert (acme.name, acme.email, acme.bio) == ("Acme", "acme@example.com", "Makers of widgets")
    core, eyes = world.database.all(Team, organization_id=acme.id)
    assert (core.slug, eyes.slug, eyes.description, eyes.privacy) == ("core-team", "eyes", "They look", "secret")
    members = world.database.all(TeamMember, team_id=core.id)
    assert [login(world, each.user_id) for each in members] == ["octo", "hubot"]


def test_repositories_have_their_settings(world: World, widgets: Repository) -> None:
    seed = load_seed(RICH).repositories[0]
    settings = [name for name in type(seed).model_fields if name in Repository.__slots__]
    assert len(settings) > 20
    for name in set(settings) - {"name", "milestones", "labels"}:
        assert getattr(widgets, name) == getattr(seed, name), name
    assert widgets.created_at == "2021-01-01T00:00:00Z"


def test_roles_come_from_collaborators_teams_and_ownership(world: World, widgets: Repository) -> None:
    roles = {user.login: user_role(world, user, widgets) for user in world.database.all(User)}
    assert (roles["octo"], roles["hubot"], roles["agent_1"]) == ("admin", "maintain", "read")
    hidden = lookup.repository(world, None, "acme", "secrets")
    assert user_role(world, lookup.user(world, "agent_1"), hidden) == "none"
    assert user_role(world, lookup.user(world, "hubot"), hidden) in {"triage", "maintain"}


def test_files_have_their_content_and_mode(world: World, widgets: Repository) -> None:
    git = world.git(widgets)
    tip = git.resolve("trunk", "trunk") or ""
    first = git.resolve("v0.9", "trunk") or ""
    assert text(world, widgets, "README.md") == "# Widgets\n"
    assert {path: git.entry(tip, path).mode for path in ("run.sh", "latest")} == {
        "run.sh": "100755",
        "latest": "120000",
    }  # type: ignore[union-attr]
    assert git.entry(tip, "pixel.bin") is None
    assert git.blob(git.entry(first, "pixel.bin").sha) == b"\x00\x01\x02\xff"  # type: ignore[union-attr]


def test_history_has_its_authors_times_and_branching_points(world: World, widgets: Repository) -> None:
    git = world.git(widgets)
    feature = git.commit(git.ref("refs/heads/feature") or "")
    stacked = git.commit(git.ref("refs/heads/stacked") or "")
    assert feature is not None
    assert stacked is not None
    assert (feature.message, feature.author.name, feature.author.utc) == ("Turn twice", "hubot", "2021-06-01T00:00:00Z")
    assert stacked.parents == (feature.sha,)


def test_labels_replace_the_nine_and_milestones_have_numbers(world: World, widgets: Repository) -> None:
    labels = world.database.all(Label, repository_id=widgets.id)
    assert [(label.name, label.color, label.description) for label in labels] == [
        ("bug", "d73a4a", "Something is wrong"),
        ("Needs Work", "ededed", None),
    ]
    soon, done = world.database.all(Milestone, repository_id=widgets.id)
    assert (soon.number, soon.title, soon.description, soon.due_on) == (
        2,
        "Soon",
        "The next one",
        "2030-01-01T00:00:00Z",
    )
    assert (login(world, soon.creator_id), soon.created_at) == ("hubot", "2021-02-01T00:00:00Z")
    assert (done.number, done.state, done.closed_at) == (3, "closed", "2021-03-01T00:00:00Z")


def test_an_issue_has_everything_that_was_said_of_it(world: World, widgets: Repository) -> None:
    issue = lookup.issue(world, widgets, 1)
    assert (issue.title, issue.body, login(world, issue.author_id)) == ("A crash", "It crashes", "agent_1")
    assert (issue.created_at, issue.updated_at) == ("2022-01-01T00:00:00Z", "2022-06-01T00:00:00Z")
    assert issue.pinned
    assignees = world.database.all(Assignee, issue_id=issue.id)
    assert [login(world, each.user_id) for each in assignees] == ["octo", "hubot"]
    assert issue.milestone_id == lookup.milestone(world, widgets, 2).id
    reactions = world.database.all(Reaction, subject_kind="issues", subject_id=issue.id)
    assert [(each.content, login(world, each.user_id)) for each in reactions] == [
        ("+1", "octo"),
        ("+1", "hubot"),
        ("eyes", "agent_1"),
    ]


def test_comments_have_authors_times_and_reasons(world: World, widgets: Repository) -> None:
    first, second, third = world.database.all(Comment, issue_id=lookup.issue(world, widgets, 1).id)
    assert (first.created_at, first.updated_at) == ("2022-01-02T00:00:00Z", "2022-01-03T00:00:00Z")
    assert (login(world, second.author_id), second.minimized_reason) == ("hubot", "spam")
    assert login(world, third.author_id) == "agent_1"


def test_closed_and_reopened_issues_say_why(world: World, widgets: Repository) -> None:
    old, again = (lookup.issue(world, widgets, number) for number in (2, 3))
    assert (old.state, old.state_reason, old.closed_at) == ("closed", "duplicate", "2022-03-01T00:00:00Z")
    assert (login(world, old.closed_by_id), old.locked, old.lock_reason) == ("hubot", True, "resolved")
    assert (again.state, again.state_reason, again.closed_at) == ("open", "reopened", None)


def test_issues_are_part_of_others_and_wait_for_others(world: World, widgets: Repository) -> None:
    first, third = (lookup.issue(world, widgets, number) for number in (1, 3))
    hidden = lookup.issue(world, lookup.repository(world, None, "acme", "secrets"), 1)
    assert third.parent_id == first.id
    blocking = [each.blocking_id for each in world.database.all(Dependency, issue_id=third.id)]
    assert blocking == [first.id, hidden.id]


def test_what_has_no_number_gets_the_next_one_and_then_the_seed_says_which_is_next(
    world: World, widgets: Repository
) -> None:
    found = world.database.one(Issue, repository_id=widgets.id, title="Without a number")
    assert found is not None
    assert (found.number, widgets.next_number, widgets.next_milestone_number) == (21, 40, 9)


def test_a_pull_request_has_its_branches_requests_and_checks(world: World, widgets: Repository) -> None:
    pull = lookup.pull(world, widgets, 7)
    assert (pull.head_ref, pull.base_ref, pull.draft) == ("feature", "trunk", False)
    assert pull.head_sha == world.git(widgets).ref("refs/pull/7/head")
    requests = world.database.all(ReviewRequest, pull_id=pull.id)
    assert [(each.user_id is None, each.team_id is None) for each in requests] == [(True, False)]  # octo has reviewed
    (run,) = world.database.all(CheckRun, head_sha=pull.head_sha)
    assert (run.name, run.status, run.conclusion) == ("build", "in_progress", None)
    (status,) = world.database.all(Status, sha=pull.head_sha)
    assert (status.context, status.state, status.description) == ("lint", "success", "Clean")
    assert (login(world, status.creator_id), status.created_at) == ("ci-runner", "2022-04-02T00:00:00Z")


def test_checks_on_commits_say_all_they_can(world: World, widgets: Repository) -> None:
    (run,) = world.database.all(CheckRun, name="nightly")
    assert run.head_sha == world.git(widgets).resolve("v1.0", "trunk")
    assert (run.title, run.summary) == ("Broken", "It broke")
    assert (run.details_url, run.started_at, run.completed_at) == (
        "https://ci.example/1",
        "2021-07-01T00:00:00Z",
        "2021-07-01T00:01:00Z",
    )


def test_reviews_are_in_every_state_and_pending_ones_are_seen_by_their_author_only(
    world: World, widgets: Repository
) -> None:
    pull = lookup.pull(world, widgets, 7)
    every = world.database.all(Review, pull_id=pull.id)
    assert {review.state for review in every} == {"COMMENTED", "CHANGES_REQUESTED", "APPROVED", "DISMISSED", "PENDING"}
    outside = next(review for review in every if review.body == "A look from outside")
    assert outside.submitted_at == "2022-04-03T00:00:00Z"
    assert world.database.count(Reaction, subject_kind="reviews", subject_id=outside.id) == 1
    seen = {
        name: [review.body for review in visible_reviews(world, Viewer(user=lookup.user(world, name)), pull)]
        for name in ("agent_1", "octo")
    }
    assert "Not sent yet" in seen["agent_1"]
    assert "Not sent yet" not in seen["octo"]


def test_threads_have_places_answers_and_resolutions(world: World, widgets: Repository) -> None:
    threads = world.database.all(Thread, pull_id=lookup.pull(world, widgets, 7).id)
    places = {(each.path, each.line, each.start_line, each.side, each.subject_type) for each in threads}
    assert places == {
        ("src/widget.py", 2, None, "RIGHT", "line"),
        ("src/widget.py", 2, None, "LEFT", "line"),
        ("src/new.py", 3, 1, "RIGHT", "line"),
        ("src/new.py", None, None, "RIGHT", "file"),
        ("src/new.py", 1, None, "RIGHT", "line"),
    }
    talk = world.database.all(ReviewComment, thread_id=threads[0].id)
    assert [(login(world, each.author_id), each.body) for each in talk] == [
        ("agent_1", "Why twice?"),
        ("hubot", "Because"),
        ("octo", "I see"),
    ]
    assert login(world, threads[0].resolved_by_id) == "hubot"
    assert talk[1].created_at == "2022-04-04T00:00:00Z"


def test_three_ways_to_merge_leave_what_they_leave_on_github(world: World, widgets: Repository) -> None:
    git = world.git(widgets)
    merged = {number: lookup.pull(world, widgets, number) for number in (10, 11, 12)}
    parents = {number: len(git.commit(pull.merge_commit_sha or "").parents) for number, pull in merged.items()}  # type: ignore[union-attr]
    assert parents == {10: 2, 11: 1, 12: 1}
    assert (merged[10].merged_at, login(world, merged[10].merged_by_id)) == ("2022-05-01T00:00:00Z", "octo")
    assert [text(world, widgets, f"{name}.txt") for name in ("one", "two", "three")] == ["one", "two", "three"]


def test_a_declined_a_draft_and_a_stacked_pull_request(world: World, widgets: Repository) -> None:
    declined = lookup.issue_or_pull(world, widgets, 13)
    assert (declined.state, login(world, declined.closed_by_id)) == ("closed", "hubot")
    assert lookup.pull(world, widgets, 13).merged_at is None
    stacked = lookup.pull(world, widgets, 8)
    assert (stacked.draft, stacked.base_ref) == (True, "feature")


def test_a_pull_request_comes_from_a_fork(world: World, widgets: Repository) -> None:
    fork = lookup.repository(world, None, "agent_1", "widgets")
    pull = lookup.pull(world, widgets, 20)
    assert fork.parent_id == widgets.id
    assert (pull.head_repository_id, pull.head_ref, pull.maintainer_can_modify) == (fork.id, "patch", True)
    assert pull.head_sha == world.git(fork).ref("refs/heads/patch") == world.git(widgets).ref("refs/pull/20/head")
    assert (fork.default_branch, fork.has_issues, fork.description) == ("trunk", False, "Widgets")


def test_a_fork_that_says_so_has_issues() -> None:
    text = """
        version: 1
        users: [{login: a}, {login: b}]
        repositories:
          - {name: a/x, files: {f: x}}
          - {name: b/x, fork_of: a/x, has_issues: true, issues: [{title: Of the fork}]}
    """
    with world_of(text) as world:
        fork = lookup.repository(world, None, "b", "x")

        assert fork.has_issues
        assert [each.title for each in world.database.all(Issue, repository_id=fork.id)] == ["Of the fork"]


def test_protection_and_archives_hold_after_planting_only(world: World, widgets: Repository) -> None:
    (rule,) = world.database.all(Protection, repository_id=widgets.id)
    seed = load_seed(RICH).repositories[0].protection[0]
    assert {name: getattr(rule, name) for name in type(seed).model_fields} == seed.model_dump()
    attic = lookup.repository(world, None, "octo", "attic")
    assert attic.archived
    assert world.database.count(Issue, repository_id=attic.id) == 1


def test_the_same_seed_makes_the_same_world_to_the_byte() -> None:
    with rich_world() as one, rich_world() as two:
        assert one.snapshot() == two.snapshot()


def test_times_stay_in_the_past_while_the_clock_goes_on() -> None:
    with world_of(
        """
        users: [{login: octo}]
        repositories:
          - name: octo/a
            issues:
              - title: Old
                at: 2001-01-01T00:00:00Z
                labels: [bug]
                comments: [{body: x, at: 2001-01-02T00:00:00Z}]
              - title: New
        """
    ) as world:
        old, new = world.database.all(Issue)
        assert (old.created_at, old.updated_at) == ("2001-01-01T00:00:00Z", "2001-01-02T00:00:00Z")
        assert new.created_at.startswith("2026-01-01T00:00:")


def test_a_time_in_the_future_moves_the_clock() -> None:
    with world_of("users: [{login: octo, at: 2040-01-01T00:00:00Z}, {login: hubot}]") as world:
        assert lookup.user(world, "hubot").created_at == "2040-01-01T00:00:01Z"


def test_an_empty_seed_makes_an_empty_world() -> None:
    with world_of(WorldSeed()) as world:
        assert world.database.all(User) == []


def test_numbers_given_out_of_order_are_planted_in_order() -> None:
    with world_of(
        """
        users: [{login: octo}]
        repositories: [{name: octo/a, issues: [{number: 5, title: five}, {number: 2, title: two}, {title: six}]}]
        """
    ) as world:
        assert [(issue.number, issue.title) for issue in world.database.all(Issue)] == [
            (2, "two"),
            (5, "five"),
            (6, "six"),
        ]


def test_a_repository_without_files_is_empty() -> None:
    with world_of("{users: [{login: octo}], repositories: [{name: octo/a}]}") as world:
        made = lookup.repository(world, None, "octo", "a")
        assert world.storage.refs() == {made.id: {"HEAD": "ref: refs/heads/main"}}
        assert world.database.count(Label, repository_id=made.id) == 9
        assert world.database.all(Pull) == []


def test_seeds_are_read_from_json_as_well(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text('{"version": 1, "users": [{"login": "octo"}]}', encoding="utf-8")
    assert load_seed(file).users[0].login == "octo"


@pytest.mark.parametrize(
    ("people", "steward"),
    [
        ("members: {ann: member, bob: admin, eve: admin}", "bob"),
        ("members: {ann: member}", "eve"),  # an administrator by the repository's own list
    ],
)
def test_what_nobody_is_named_for_is_done_by_an_administrator_and_never_by_an_organization(
    people: str, steward: str
) -> None:
    seed = f"""
    users: [{{login: ann}}, {{login: bob}}, {{login: eve}}]
    organizations: [{{login: acme, {people}}}]
    repositories:
      - name: acme/widgets
        collaborators: {{ann: write, eve: admin}}
        files: {{a.txt: "a"}}
        history: [{{branch: work, message: Work, files: {{b.txt: "b"}}}}]
        milestones: [{{title: One}}]
        issues: [{{title: Closed, state: closed, labels: [bug], milestone: One, comments: [{{body: Done}}]}}]
        pulls:
          - title: Merged
            head: work
            state: merged
            checks: [{{name: build, kind: status, conclusion: success}}]
    """
    with world_of(seed) as made:
        home = lookup.repository(made, None, "acme", "widgets")
        git = made.git(home)
        commit = git.commit(git.ref("refs/heads/main") or "")
        actors = {event.actor_id for event in made.database.all(Event)}
        authors = {one.author_id for model in (Issue, Comment) for one in made.database.all(model)}
        others = {made.database.all(Pull)[0].merged_by_id, made.database.all(Milestone)[0].creator_id}
        creators = {status.creator_id for status in made.database.all(Status)}

        assert {login(made, identity) for identity in actors | authors | others | creators} == {steward}
        assert commit is not None
        assert commit.author.name == steward


def test_an_organization_without_anybody_does_things_itself() -> None:
    with world_of("organizations: [{login: acme}]\nrepositories: [{name: acme/box, issues: [{title: One}]}]") as made:
        assert login(made, made.database.all(Issue)[0].author_id) == "acme"


def test_who_has_reviewed_is_asked_no_longer() -> None:
    seed = """
    users: [{login: octo}, {login: hubot}, {login: cat}]
    repositories:
      - name: octo/x
        collaborators: {hubot: write, cat: write}
        files: {a.txt: a}
        history: [{branch: work, message: Work, files: {b.txt: b}}]
        pulls:
          - title: Work
            head: work
            reviewers: [hubot, cat]
            reviews: [{author: hubot, state: APPROVED}, {author: cat, state: PENDING, body: Hm}]
    """
    with world_of(seed) as world, world_of(export_seed(world)) as again:
        for each in (world, again):
            asked = [lookup.user_by_id(each, one.user_id).login for one in each.database.all(ReviewRequest)]
            assert asked == ["cat"]
