"""Rulesets over REST: what is no ruleset is refused, and never stored to fail later."""

from typing import Any

import pytest
from rest_world import Seeded

R = "/repos/acme/widgets"
ODD: tuple[Any, ...] = (None, True, 1, 2**70, 1.5, "", "²", ["²"], [[1]], {"a": 1}, [None])


@pytest.mark.parametrize("pattern", ["refs/heads/[z-a]", "refs/heads/" + "a" * 1000])
def test_a_pattern_that_cannot_be_used_is_refused_at_once(world: Seeded, pattern: str) -> None:
    ann = world.client()
    body = {"name": "r", "enforcement": "active", "conditions": {"ref_name": {"include": [pattern], "exclude": []}}}

    assert ann.post(f"{R}/rulesets", body).status == 422
    assert ann.get(f"{R}/rules/branches/main").status == 200


@pytest.mark.parametrize("field", ["type", "parameters"])
def test_odd_rules_are_refused(world: Seeded, field: str) -> None:
    for odd in ODD:
        body = {"name": "r", "enforcement": "active", "rules": [{"type": "pull_request", field: odd}]}
        assert world.client().post(f"{R}/rulesets", body).status == 422, odd


@pytest.mark.parametrize("field", ["actor_type", "actor_id"])
def test_odd_actors_are_refused(world: Seeded, field: str) -> None:
    for odd in ODD:
        actor = {"actor_type": "User", "actor_id": world.people["bob"].id, field: odd}
        body = {"name": "r", "enforcement": "active", "rules": [], "bypass_actors": [actor]}
        assert world.client().post(f"{R}/rulesets", body).status == 422, odd


def test_odd_repositories_of_an_organizations_variable_are_refused(world: Seeded) -> None:
    ann = world.client()
    for odd in (None, True, 2**70, "9" * 30, "9" * 5000, 1.5, "²", [1], {}, "x"):
        body = {"name": "N", "value": "1", "visibility": "selected", "selected_repository_ids": [odd]}
        assert ann.post("/orgs/acme/actions/variables", body).status == 422, odd
