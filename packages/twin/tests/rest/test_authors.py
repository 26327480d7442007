"""Every operation that changes a world is the doing of whoever asked for it."""

import pytest
from authors import changes_without_author
from rest_calls import ask_as_written
from rest_cases import CASES
from rest_world import Seeded

from ghx_twin.difference import diff
from ghx_twin.rest.operations import OPERATIONS


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS if operation.mutates])
def test_what_an_operation_changes_has_the_user_who_asked_as_its_author(
    name: str, parent: Seeded, world: Seeded
) -> None:
    call = CASES[name][0]
    asker, before = world.people[call.user], parent.world.database.last_change()
    world.world.seal()

    assert ask_as_written(world, name, call).status < 400

    assert changes_without_author(world.world, after=before) == []
    found = [each for each in diff(parent.world, world.world) if not each.is_bookkeeping]
    assert {(each.by, each.caused_by) for each in found} <= {(asker.login, None)}
