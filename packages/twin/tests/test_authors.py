"""Every change in a sealed world has an author, or is one of the events that GitHub does without a user."""

import ast
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from authors import changes_without_author
from hypothesis import given, settings
from random_commands import Step, base_world, perform, steps
from scripted_world import conclusions, push, scripted_world

from ghx_twin.commands import issues, users
from ghx_twin.commands.actions import progress
from ghx_twin.commands.issues import labels
from ghx_twin.difference import diff
from ghx_twin.queries import lookup
from ghx_twin.state.changes import AutomaticEvent, UnattributedChangeError
from ghx_twin.state.database import Database
from ghx_twin.state.records import RECORDS, Issue, Repository, WorkflowRun
from ghx_twin.viewer import ANONYMOUS, Viewer
from ghx_twin.world import World

SOURCE = Path(__file__).parents[1] / "src" / "ghx_twin"
AT = "2026-05-01T00:00:00Z"
PEOPLE = 3  # of the world of random commands; the next number is its maker


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with base_world() as world:
        yield world


@pytest.fixture
def world(base: World) -> Generator[World]:
    with base.fork() as fork:
        fork.seal()
        yield fork


def widgets(world: World) -> Repository:
    return lookup.repository(world, None, "acme", "widgets")


def ann(world: World) -> Viewer:
    return Viewer(user=lookup.user(world, "ann"))


def test_a_sealed_world_refuses_a_change_without_an_author(world: World) -> None:
    before = world.snapshot()

    with pytest.raises(UnattributedChangeError, match="act as one of its users"), world.acting(None) as act:
        issues.create(act, widgets(world), title="Nobody's")
    with pytest.raises(UnattributedChangeError, match="without a token"), world.acting(ANONYMOUS) as act:
        issues.create(act, widgets(world), title="Anybody's")

    assert world.snapshot() == before


def test_users_change_a_sealed_world_and_its_fork_has_a_maker_again(world: World) -> None:
    with world.acting(ann(world)) as act:
        issues.create(act, widgets(world), title="Ann's")
        with world.acting(None) as inner:  # a part of what Ann does
            issues.create(inner, widgets(world), title="Ann's as well")
    with world.fork() as fork, fork.acting(None) as act:
        assert users.create_user(act, login="dot").id

    changes = [each for each in world.database.changes() if each.table == "issues" and each.field is None]
    assert [each.actor_id for each in changes[-2:]] == [ann(world).id] * 2


@pytest.mark.parametrize("event", AutomaticEvent)
@pytest.mark.parametrize("table", [*(model.table for model in RECORDS), "refs"])
def test_an_event_without_a_user_writes_its_own_records_and_no_others(event: AutomaticEvent, table: str) -> None:
    database = Database.in_memory()

    with suppress(UnattributedChangeError), database.transaction(event, cause_id=7):
        database.note(table, 1, "field", None, "value")

    written = [(each.actor_id, each.cause_id, each.table) for each in database.changes()]
    assert written == ([(None, 7, table)] if table in event.tables else [])
    assert bool(written) == (table in {model.table for model in event.value})
    database.close()


def test_what_an_event_does_is_undone_where_it_writes_more_than_it_may(world: World) -> None:
    before = world.snapshot()
    issue = world.database.all(Issue)[0]

    with pytest.raises(UnattributedChangeError, match="JOB_PROGRESS changed events"):  # noqa: SIM117 - one is refused
        with world.automatic(AutomaticEvent.JOB_PROGRESS, at=AT, cause_id=None) as act:
            issues.close(act, issue)

    assert world.snapshot() == before


def test_another_author_takes_over_with_the_first_as_the_cause(base: World) -> None:
    with base.fork() as world:
        bob = Viewer(user=lookup.user(world, "bob"))
        after = world.database.last_change()
        with world.acting(ann(world)) as act:
            labels.create(act, widgets(world), name="first")
            with act.on_behalf_of(bob) as own:
                made = issues.create(own, widgets(world), title="In Bob's name")
                with own.database.attributed(AutomaticEvent.RUN_START):
                    own.database.note("workflow_runs", 1, "title", None, "CI")
            labels.create(act, widgets(world), name="last")
        told = {
            (each.table, each.field): (each.actor_id, each.cause_id) for each in world.database.changes(after=after)
        }
        found = {each.name: (each.by, each.caused_by) for each in diff(base, world)}
        people = {login: lookup.user(world, login).id for login in ("ann", "bob")}

    assert made.author_id == people["bob"]
    assert told["issues", None] == (people["bob"], people["ann"])
    assert told["workflow_runs", "title"] == (None, people["ann"]), "whoever began it all"
    assert found[f"acme/widgets#{made.number}"] == ("bob", "ann")
    assert found["acme/widgets label last"] == ("ann", None)


@given(wanted=steps())
@settings(max_examples=settings.default.max_examples, deadline=None)
@pytest.mark.slow
def test_whatever_people_do_has_one_of_them_as_its_author(base: World, wanted: list[Step]) -> None:
    with base.fork() as world:
        world.seal()
        after = world.database.last_change()
        perform(world, [(name, actor % PEOPLE, first, second) for name, actor, first, second in wanted])

        assert changes_without_author(world, after=after) == []
        found = [each for each in diff(base, world) if not each.is_bookkeeping]
        assert [each for each in found if each.by is None] == []


def test_runs_begin_and_go_on_in_a_sealed_world() -> None:
    with scripted_world() as world, world.fork() as before:
        world.seal()
        after = world.database.last_change()
        sha = push(world, {"turn.py": "RPM = 33\n"})
        assert set(conclusions(world, sha).values()) == {"success"}

        assert changes_without_author(world, after=after) == []
        octocat = lookup.user(world, "octocat")
        alone = [each for each in world.database.changes(after=after) if each.actor_id is None]
        assert {each.cause_id for each in alone} == {octocat.id}
        run = next(each for each in diff(before, world) if each.kind == WorkflowRun.table)
        assert (run.by, run.caused_by) == (None, "octocat")
        assert progress.is_pending(world) is False


CALLS = {
    # Whoever makes a world: seeds, and the token that `ghx-twin serve` prints.
    "acting(None)": {"seed", "server/tokens.py"},
    "automatic": {"commands/actions/progress.py"},
    "attributed": {"commands/actions/starting.py", "world.py"},
    "transaction": {"world.py"},
}
"""Where the code may write without the user of a request, by the call."""


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_only_a_few_places_write_without_the_user_of_a_request(call: str) -> None:
    name = call.partition("(")[0]
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
        if name == call or (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value is None)
    }

    assert found
    assert {each for each in found if not any(each.startswith(place) for place in CALLS[call])} == set()


def test_no_act_is_copied_with_another_viewer() -> None:
    """It would speak in another's name, and its changes would stay those of the first."""
    found = [
        path
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "replace"
        if any(keyword.arg == "viewer" for keyword in node.keywords)
    ]

    assert found == [SOURCE / "world.py"]
