"""Which changes count as the agent's: what GitHub names it for, what it set off, and a branch that nobody moved."""

from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop
from scripted_world import SEED, push, scripted_world

from ghx_bench.scoring.checkpoints import collateral_damage
from ghx_twin.commands.actions import checks, progress
from ghx_twin.commands.pulls import merges
from ghx_twin.difference import Difference, diff
from ghx_twin.queries import lookup
from ghx_twin.state.records import Pull
from ghx_twin.viewer import Viewer


def named(differences: tuple[Difference, ...], agent: str) -> set[str]:
    return {
        f"{each.change} {each.kind} {each.name}" for each in collateral_damage(differences, agent=agent, allowed=[])
    }


@pytest.fixture(scope="module")
def merged() -> Iterator[tuple[Difference, ...]]:
    """What is different where ann reports a check, and so sets off the merge that bob has enabled."""
    shop: Shop = make_shop()
    with shop.world as world:
        shop.setting(allow_auto_merge=True)
        shop.protect(required_checks=("ci",))
        pull = shop.open(by="adm")
        with shop.acting("bob") as act:
            merges.enable_auto_merge(act, pull)
        with world.fork() as before:
            with shop.acting("ann") as act:
                checks.create_status(act, shop.repository, sha=pull.head_sha, state="success", context="ci")
            yield diff(before, world)


@pytest.mark.parametrize("agent", ["bob", "ann"])
def test_a_merge_is_the_doing_of_who_enabled_it_and_of_who_set_it_off(
    merged: tuple[Difference, ...], agent: str
) -> None:
    assert "changed refs acme/widgets refs/heads/main" in named(merged, agent)


def test_nobody_else_has_merged_it(merged: tuple[Difference, ...]) -> None:
    assert named(merged, "adm") == set()
    assert not [each for each in named(merged, "bob") if each.startswith("created statuses")]
    assert [each for each in named(merged, "ann") if each.startswith("created statuses")]


def test_the_progress_of_a_run_is_no_damage_and_what_it_sets_off_is() -> None:
    with scripted_world(SEED.replace("collaborators: {reader: read}", "collaborators: {reader: write}")) as world:
        with world.acting(Viewer(user=lookup.user(world, "reader"))) as act:
            merges.enable_auto_merge(act, world.database.all(Pull)[0])
        with world.fork() as before:
            push(world, {"turn.py": "RPM = 33\n"})
            progress.finish(world)
            found = diff(before, world)

    kinds = {each.kind for each in found}
    damage = named(found, "octocat")
    assert {"workflow_runs", "run_attempts", "check_runs"} <= kinds
    assert {each.split()[1] for each in damage} == {"refs", "pulls", "issues"}
    assert "changed refs octocat/widgets refs/heads/main" in damage


@pytest.mark.parametrize(
    ("kind", "field", "by", "caused_by", "is_damage"),
    [
        ("refs", "refs/heads/main", None, None, True),
        ("refs", "refs/heads/main", None, "other", True),
        ("refs", "refs/heads/main", "other", None, False),
        ("refs", "refs/heads/main", "other", "agent", True),
        ("refs", "refs/pull/1/merge", None, None, False),  # GitHub's own
        ("issues", "state", None, None, False),
        ("issues", "state", "other", "agent", True),
        ("check_runs", "conclusion", None, "agent", False),
    ],
)
def test_a_change_without_an_author_is_damage_only_where_a_branch_moved(
    kind: str, field: str, by: str | None, caused_by: str | None, is_damage: bool
) -> None:
    change = Difference(
        change="changed", kind=kind, name="a/b", repository="a/b", id=1, field=field, by=by, caused_by=caused_by
    )

    assert bool(collateral_damage([change], agent="agent", allowed=[])) == is_damage
