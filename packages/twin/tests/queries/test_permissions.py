"""Roles, scopes and associations."""

from collections.abc import Iterator

import pytest
from issue_worlds import Village, make_village

from ghx_twin.commands import repositories, users
from ghx_twin.queries import lookup, permissions
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.viewer import EVERY_SCOPE


@pytest.fixture
def village() -> Iterator[Village]:
    made = make_village()
    yield made
    made.world.close()


ROLES = {"owner": "admin", "member": "read", "writer": "write", "triager": "triage", "reader": "read"}


@pytest.mark.parametrize(("visibility", "strangers"), [("public", "read"), ("private", "none"), ("internal", "none")])
def test_everyone_has_the_role_they_were_given(village: Village, visibility: str, strangers: str) -> None:
    widgets = village.act("owner", repositories.update, village.widgets, visibility=visibility)

    for login, role in {**ROLES, "stranger": strangers}.items():
        assert permissions.role(village.world, village.viewer(login), widgets) == role
    assert permissions.role(village.world, None, widgets) == "admin"


@pytest.mark.parametrize(
    ("scopes", "public", "private"),
    [
        (frozenset[str](), "read", "none"),
        (frozenset({"public_repo"}), "admin", "none"),
        (frozenset({"repo"}), "admin", "admin"),
        (EVERY_SCOPE, "admin", "admin"),
    ],
)
def test_a_token_never_gives_more_than_its_scopes(
    village: Village, scopes: frozenset[str], public: str, private: str
) -> None:
    viewer = village.viewer("owner", scopes)
    assert permissions.role(village.world, viewer, village.widgets) == public

    secret = village.act("owner", repositories.update, village.widgets, visibility="private")

    assert permissions.role(village.world, viewer, secret) == private


def test_a_team_gives_its_role_to_its_members(village: Village) -> None:
    member = village.people["member"]
    team = village.act("owner", users.create_team, village.acme, name="core")
    village.act("owner", users.add_team_member, team, member)
    village.act("owner", users.add_team_repository, team, village.widgets, "maintain")

    assert permissions.user_role(village.world, member, village.widgets) == "maintain"


def test_associations_tell_how_an_author_stands_to_the_repository(village: Village) -> None:
    own = village.act("reader", repositories.create, owner=village.people["reader"], name="own")
    expected = {"owner": "MEMBER", "member": "MEMBER", "writer": "COLLABORATOR", "stranger": "NONE"}

    for login, association in expected.items():
        assert permissions.author_association(village.world, village.widgets, village.people[login]) == association
    assert permissions.author_association(village.world, own, village.people["reader"]) == "OWNER"


def test_whoever_can_be_assigned_belongs_to_the_repository(village: Village) -> None:
    found = permissions.assignable_users(village.world, village.widgets)

    assert [user.login for user in found] == ["member", "owner", "reader", "triager", "writer"]


def test_names_are_found_in_any_case_and_what_is_not_there_is_named(village: Village) -> None:
    world = village.world

    assert lookup.repository(world, None, "ACME", "WIDGETS") == village.widgets
    assert lookup.full_name(world, village.widgets) == "acme/widgets"
    assert lookup.label(world, village.widgets, "BUG").name == "bug"
    with pytest.raises(NotFoundRefusal, match="Repository with the name 'acme/none'"):
        lookup.repository(world, None, "acme", "none")
    with pytest.raises(NotFoundRefusal, match="PullRequest with the number of 99"):
        lookup.pull(world, village.widgets, 99)
    with pytest.raises(NotFoundRefusal, match="Organization with the login of 'owner'"):
        lookup.organization(world, "owner")
    with pytest.raises(NotFoundRefusal, match="User with the login of 'acme'"):
        lookup.user(world, "acme")


@pytest.mark.parametrize("number", [0, -1, 2**63, -(2**70)])
def test_numbers_no_issue_can_have_are_not_found(village: Village, number: int) -> None:
    with pytest.raises(NotFoundRefusal):
        lookup.issue_or_pull(village.world, village.widgets, number)
    with pytest.raises(NotFoundRefusal):
        lookup.milestone(village.world, village.widgets, number)
    with pytest.raises(NotFoundRefusal):
        lookup.comment(village.world, village.widgets, number)


@pytest.mark.parametrize("text", ["\ud800", "' OR 1=1 --", "\0", "%", ""])
def test_names_nothing_can_have_are_not_found(village: Village, text: str) -> None:
    for find in (lookup.account, lookup.organization):
        with pytest.raises(NotFoundRefusal):
            find(village.world, text)
    with pytest.raises(NotFoundRefusal):
        lookup.repository(village.world, None, "acme", text)
    with pytest.raises(NotFoundRefusal):
        lookup.label(village.world, village.widgets, text)
