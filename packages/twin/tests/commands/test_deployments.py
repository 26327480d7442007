"""Environments, deployments, variables and secrets: what they refuse, and what goes with what."""

from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands import repositories
from ghx_twin.commands.actions import caches, checks, deployments, variables
from ghx_twin.commands.actions.variables import Home
from ghx_twin.queries.actions.deployments import latest_status
from ghx_twin.refusals import (
    ConflictRefusal,
    ForbiddenRefusal,
    InvalidRefusal,
    NotFoundRefusal,
    NotImplementedRefusal,
    RoleRefusal,
)
from ghx_twin.state.records import (
    ActionsCache,
    Deployment,
    DeploymentStatus,
    Environment,
    Secret,
    Variable,
)


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def deploy(shop: Shop, environment: str = "staging", state: str | None = "success") -> Deployment:
    with shop.acting("bob") as act:
        made = deployments.create(act, shop.repository, ref="main", environment=environment)
        if state:
            deployments.create_status(act, shop.repository, made, state=state)
        return made


def state_of(shop: Shop, deployment: Deployment) -> str | None:
    latest = latest_status(shop.world, deployment)
    return latest.state if latest else None


def test_a_deployment_makes_its_environment_and_ends_the_one_before(shop: Shop) -> None:
    first, second = deploy(shop), deploy(shop)

    assert [each.name for each in shop.world.database.all(Environment)] == ["staging"]
    assert (state_of(shop, first), state_of(shop, second)) == ("inactive", "success")
    live = deploy(shop, "production")
    deploy(shop, "production")
    assert state_of(shop, live) == "success"


def test_only_ended_deployments_are_deleted(shop: Shop) -> None:
    first, second = deploy(shop), deploy(shop)

    with pytest.raises(InvalidRefusal, match="cannot delete an active deployment"), shop.acting("bob") as act:
        deployments.delete(act, shop.repository, second)
    with shop.acting("bob") as act:
        deployments.delete(act, shop.repository, first)
        deployments.delete(act, shop.repository, second)
    assert shop.world.database.all(DeploymentStatus) == []


def test_a_commit_whose_checks_failed_is_not_deployed(shop: Shop) -> None:
    with shop.acting("bob") as act:
        checks.create_status(act, shop.repository, sha=shop.tip("main"), state="failure", context="ci")

    with pytest.raises(ConflictRefusal, match="Commit status checks failed for main"):
        deploy(shop)
    with shop.acting("bob") as act:
        deployments.create(act, shop.repository, ref="main", required_contexts=[])


def test_a_branch_behind_the_default_one_is_not_merged_silently(shop: Shop) -> None:
    shop.branch("old")
    shop.write("main", {"a": "a"})

    with pytest.raises(NotImplementedRefusal), shop.acting("bob") as act:
        deployments.create(act, shop.repository, ref="old")
    with shop.acting("bob") as act:
        deployments.create(act, shop.repository, ref="old", auto_merge=False)


def test_names_of_variables_are_in_capitals_and_unique_at_their_place(shop: Shop) -> None:
    with shop.acting("bob") as act:
        made = variables.create_variable(act, Home(shop.repository), name="level", value="1")
    assert made.name == "LEVEL"
    for name, refusal in (("Level", ConflictRefusal), ("github_x", InvalidRefusal), ("a b", InvalidRefusal)):
        with pytest.raises(refusal), shop.acting("bob") as act:
            variables.create_variable(act, Home(shop.repository), name=name, value="1")


def test_readers_and_members_see_and_change_nothing_of_actions_settings(shop: Shop) -> None:
    acme = shop.people["adm"]
    for login in ("rea", "tri"):
        with pytest.raises(RoleRefusal), shop.acting(login) as act:
            variables.create_variable(act, Home(shop.repository), name="A", value="1")
        with pytest.raises(RoleRefusal), shop.acting(login) as act:
            deployments.put_environment(act, shop.repository, "staging")
    organization = shop.world.database.all(type(acme), login="acme")[0]
    with pytest.raises(NotFoundRefusal), shop.acting("bob") as act:
        variables.put_secret(act, Home(organization), name="A", encrypted_value=None, visibility="all")
    with shop.acting("adm") as act:
        variables.put_secret(act, Home(organization), name="A", encrypted_value=None, visibility="all")


def test_an_archived_repository_takes_no_variables(shop: Shop) -> None:
    shop.setting(archived=True)

    with pytest.raises(ForbiddenRefusal, match="archived"), shop.acting("bob") as act:
        variables.create_variable(act, Home(shop.repository), name="A", value="1")


def test_what_belongs_to_an_environment_or_repository_goes_with_it(shop: Shop) -> None:
    home = shop.repository
    with shop.acting("adm") as act:
        place = deployments.put_environment(act, home, "staging")
        for where in (Home(home), Home(home, place)):
            variables.create_variable(act, where, name="A", value="1")
            variables.put_secret(act, where, name="B", encrypted_value=None)
        caches.create(act, home, key="k", ref="refs/heads/main", version="v", size_in_bytes=1)
    deploy(shop)
    with shop.acting("adm") as act:
        deployments.delete_environment(act, place)
    assert [each.environment_id for each in shop.world.database.all(Variable)] == [None]

    with shop.acting("adm") as act:
        repositories.delete(act, home)

    for model in (Environment, Deployment, DeploymentStatus, Variable, Secret, ActionsCache):
        assert shop.world.database.all(model) == []
