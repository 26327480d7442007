"""Repositories and accounts: names, settings, forks, access, deletion."""

from collections.abc import Iterator

import pytest
from issue_worlds import Village, make_village

from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.issues import comments, reactions
from ghx_twin.queries import lookup
from ghx_twin.refusals import (
    ForbiddenRefusal,
    InvalidRefusal,
    NotFoundRefusal,
    NotImplementedRefusal,
    Refusal,
    RoleRefusal,
)
from ghx_twin.state.records import (
    Collaborator,
    Comment,
    Event,
    Issue,
    Label,
    Reaction,
    Repository,
    Tombstone,
)
from ghx_twin.viewer import EVERY_SCOPE


@pytest.fixture
def village() -> Iterator[Village]:
    made = make_village()
    yield made
    made.world.close()


def message(refusal: Refusal) -> str | None:
    assert isinstance(refusal, InvalidRefusal)
    (error,) = refusal.errors
    return error if isinstance(error, str) else error.message


@pytest.mark.parametrize(
    ("asked", "given"),
    [("my repo", "my-repo"), ("a  b!c", "a-b-c"), ("x.git", "x"), ("größe", "gr-e"), ("a/../b", "a-..-b")],
)
def test_what_a_name_may_not_hold_becomes_a_dash(village: Village, asked: str, given: str) -> None:
    assert village.act("owner", repositories.create, owner=village.acme, name=asked).name == given


@pytest.mark.parametrize("name", ["", "  ", ".", "..", ".git", "x" * 101, "\ud800"])
def test_names_that_cannot_be_are_refused(village: Village, name: str) -> None:
    assert isinstance(village.refusal("owner", repositories.create, owner=village.acme, name=name), InvalidRefusal)


def test_a_name_is_taken_whatever_its_case(village: Village) -> None:
    refusal = village.refusal("member", repositories.create, owner=village.acme, name="Widgets")

    assert message(refusal) == "name already exists on this account"
    assert village.act("member", repositories.create, owner=village.people["member"], name="Widgets").name == "Widgets"


def test_a_readme_is_the_first_commit(village: Village) -> None:
    made = village.act(
        "owner", repositories.create, owner=village.acme, name="docs", description="Words", auto_init=True
    )

    git = village.world.git(made)
    commit = git.commit(git.refs()["refs/heads/main"])
    entry = git.entry(commit.sha, "README.md") if commit else None
    assert commit is not None
    assert entry is not None
    assert (commit.message, commit.author.name, commit.committer.name) == ("Initial commit", "owner", "GitHub")
    assert git.blob(entry.sha) == b"# docs\nWords\n"


def test_people_create_for_themselves_and_for_organisations_they_are_in(village: Village) -> None:
    for owner in (village.acme, village.people["owner"]):
        assert isinstance(village.refusal("stranger", repositories.create, owner=owner, name="x"), ForbiddenRefusal)
    viewer = village.viewer("stranger", frozenset({"public_repo"}))
    with village.world.acting(viewer) as act:
        repositories.create(act, owner=viewer.user, name="open")
    with pytest.raises(ForbiddenRefusal) as caught, village.world.acting(viewer) as act:
        repositories.create(act, owner=viewer.user, name="secret", visibility="private")
    assert caught.value.needed_scopes == ("repo",)


def test_what_the_twin_has_no_files_for_is_said(village: Village) -> None:
    refusal = village.refusal("owner", repositories.create, owner=village.acme, name="x", license_template="mit")

    assert isinstance(refusal, NotImplementedRefusal)


@pytest.mark.parametrize(
    "settings",
    [
        {"visibility": "secret"},
        {"default_branch": "none"},
        {"description": "x" * 351},
        {"homepage": "\ud800"},
        {"topics": ("Not Good",)},
        {"topics": tuple(f"t{number}" for number in range(21))},
        {"allow_merge_commit": False, "allow_squash_merge": False, "allow_rebase_merge": False},
    ],
)
def test_settings_that_cannot_be_are_refused(village: Village, settings: dict[str, object]) -> None:
    assert isinstance(village.refusal("owner", repositories.update, village.widgets, **settings), InvalidRefusal)


def test_only_admins_change_settings(village: Village) -> None:
    refusal = village.refusal("writer", repositories.update, village.widgets, description="mine")

    assert (type(refusal), refusal.message) == (RoleRefusal, "Must have admin rights to Repository.")


def test_the_default_branch_moves_head(village: Village) -> None:
    with village.world.acting(None) as act:
        git = act.git(village.widgets)
        git.set_ref("refs/heads/next", git.refs()["refs/heads/main"])

    village.act("owner", repositories.update, village.widgets, default_branch="next")

    assert village.world.git(village.widgets).head() == "refs/heads/next"


def test_an_old_name_leads_to_the_repository_until_it_is_used_again(village: Village) -> None:
    renamed = village.act("owner", repositories.rename, village.widgets, "gizmos")
    assert lookup.repository(village.world, None, "ACME", "Widgets") == renamed

    again = village.act("owner", repositories.create, owner=village.acme, name="widgets")

    assert lookup.repository(village.world, None, "acme", "widgets") == again
    assert isinstance(village.refusal("owner", repositories.rename, renamed, "WIDGETS"), InvalidRefusal)
    assert village.act("owner", repositories.rename, renamed, "Gizmos").name == "Gizmos"


def test_a_fork_has_the_commits_of_its_parent_and_is_made_once(village: Village) -> None:
    stranger = village.people["stranger"]
    made = village.act("stranger", repositories.fork, village.widgets, owner=stranger)

    assert (made.parent_id, made.name, made.has_issues) == (village.widgets.id, "widgets", False)
    assert village.world.git(made).refs() == village.world.git(village.widgets).refs()
    assert village.act("stranger", repositories.fork, village.widgets, owner=stranger) == made


def test_a_fork_beside_a_repository_of_that_name_gets_another(village: Village) -> None:
    reader = village.people["reader"]
    village.act("reader", repositories.create, owner=reader, name="Widgets")

    assert village.act("reader", repositories.fork, village.widgets, owner=reader).name == "widgets-1"


def test_forks_that_cannot_be_are_refused(village: Village) -> None:
    empty = village.act("owner", repositories.create, owner=village.acme, name="empty")
    secret = village.act("owner", repositories.create, owner=village.acme, name="s", visibility="private")
    stranger = village.people["stranger"]

    assert isinstance(village.refusal("stranger", repositories.fork, empty, owner=stranger), ForbiddenRefusal)
    assert isinstance(village.refusal("stranger", repositories.fork, secret, owner=stranger), NotFoundRefusal)


def test_deleting_takes_an_admin_and_the_scope_for_it(village: Village) -> None:
    assert isinstance(village.refusal("writer", repositories.delete, village.widgets), ForbiddenRefusal)
    viewer = village.viewer("owner", EVERY_SCOPE - {"delete_repo"})
    with pytest.raises(ForbiddenRefusal) as caught, village.world.acting(viewer) as act:
        repositories.delete(act, village.widgets)
    assert (caught.value.message, caught.value.needed_scopes) == (
        "Must have admin rights to Repository.",
        ("delete_repo",),
    )


def test_a_deleted_repository_leaves_nothing_but_its_forks(village: Village) -> None:
    stranger = village.people["stranger"]
    fork = village.act("stranger", repositories.fork, village.widgets, owner=stranger)
    issue, other = village.issue(labels=[village.label("bug")]), village.issue(body="#1")
    village.act("owner", reactions.add, village.act("owner", comments.create, issue, "#2"), "+1")
    village.act("owner", issues.delete, other)

    village.act("owner", repositories.delete, village.widgets)

    database = village.world.database
    assert [database.count(model) for model in (Issue, Comment, Event, Reaction, Collaborator, Tombstone)] == [0] * 6
    assert [one.id for one in database.all(Repository)] == [fork.id]
    assert {label.repository_id for label in database.all(Label)} == {fork.id}
    assert village.now(fork).parent_id is None
    tip = village.world.git(fork).refs()["refs/heads/main"]
    assert village.world.git(fork).commit(tip) is not None
    deleted = [
        (change.table, change.object_id) for change in database.changes() if change.after is None and not change.field
    ]
    assert len(deleted) == len(set(deleted))


def test_a_failed_creation_leaves_no_git_repository(village: Village) -> None:
    refusal = village.refusal("owner", repositories.create, owner=village.acme, name="x", default_branch="a..b")

    assert isinstance(refusal, InvalidRefusal)
    assert village.act("owner", repositories.create, owner=village.acme, name="x", auto_init=True).name == "x"


def test_collaborators_come_change_and_go(village: Village) -> None:
    reader = village.people["reader"]
    village.act("owner", repositories.add_collaborator, village.widgets, reader, "maintain")
    assert village.world.database.one(Collaborator, user_id=reader.id).role == "maintain"  # type: ignore[union-attr]
    assert isinstance(
        village.refusal("reader", repositories.add_collaborator, village.widgets, reader, "admin"), ForbiddenRefusal
    )

    village.act("reader", repositories.remove_collaborator, village.widgets, reader)

    assert village.world.database.one(Collaborator, user_id=reader.id) is None
    assert isinstance(
        village.refusal("owner", repositories.add_collaborator, village.widgets, reader, "king"), InvalidRefusal
    )


def test_a_protection_keeps_the_rules_it_is_not_told_to_change(village: Village) -> None:
    village.act("owner", repositories.protect, village.widgets, pattern="main", required_approvals=2)

    again = village.act("owner", repositories.protect, village.widgets, pattern="main", strict_checks=True)

    assert (again.required_approvals, again.strict_checks) == (2, True)
    assert isinstance(
        village.refusal("owner", repositories.protect, village.widgets, pattern="main", required_approvals=7),
        InvalidRefusal,
    )
    assert isinstance(village.refusal("writer", repositories.unprotect, again), ForbiddenRefusal)
    village.act("owner", repositories.unprotect, again)


@pytest.mark.parametrize("login", ["", "-a", "a-", "a--b", "a b", "x" * 41, "ä"])
def test_logins_are_githubs(village: Village, login: str) -> None:
    with pytest.raises(InvalidRefusal), village.world.acting(None) as act:
        users.create_user(act, login=login)


def test_only_the_maker_adds_accounts_and_tokens(village: Village) -> None:
    owner = village.people["owner"]
    assert isinstance(village.refusal("owner", users.create_user, login="eve"), ForbiddenRefusal)
    assert isinstance(village.refusal("owner", users.create_token, owner, token="t"), ForbiddenRefusal)
    with village.world.acting(None) as act:
        users.create_token(act, owner, token="t")
    with pytest.raises(InvalidRefusal), village.world.acting(None) as act:
        users.create_token(act, owner, token="t")


def test_admins_of_an_organisation_make_teams_and_whoever_joins_one_is_a_member(village: Village) -> None:
    team = village.act("owner", users.create_team, village.acme, name="Core Team!")
    village.act("owner", users.add_team_member, team, village.people["stranger"])

    assert team.slug == "core-team"
    assert village.act("stranger", repositories.create, owner=village.acme, name="mine").owner_id == village.acme.id
    assert isinstance(village.refusal("member", users.create_team, village.acme, name="mob"), ForbiddenRefusal)
    assert isinstance(village.refusal("owner", users.create_team, village.acme, name="core team"), InvalidRefusal)


def test_a_fork_takes_the_next_number_and_a_person_gets_what_they_have(village: Village) -> None:
    """Known by the test suite of dummy_central, which also runs against GitHub."""
    stranger = village.people["stranger"]
    first = village.act("owner", repositories.create, owner=village.acme, name="box-1", auto_init=True)
    village.act("stranger", repositories.create, owner=stranger, name="box-1")

    fork = village.act("stranger", repositories.fork, first, owner=stranger)
    within = village.act("owner", repositories.fork, village.widgets, owner=village.acme)

    assert fork.name == "box-2"
    assert (within.name, within.parent_id) == ("widgets-1", village.widgets.id)
    assert village.act("stranger", repositories.fork, fork, owner=stranger).id == fork.id
