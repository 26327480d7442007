"""Projects of a seed: planted as they are written, and complained about where they cannot be."""

import pytest
from seeds import rich_world, world_of

from ghx_twin.commands import projects as commands
from ghx_twin.difference import diff
from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.seed.building import SeedError
from ghx_twin.seed.exporting import export_seed
from ghx_twin.state.names import display_value, object_name
from ghx_twin.state.records import Project, ProjectItemValue, ProjectWorkflow

SMALL = """
users: [{login: octo}]
repositories: [{name: octo/widgets, issues: [{title: A}]}]
projects:
  - {owner: octo, title: Board, items: [{content: octo/widgets#1, values: {Status: Todo}}]}
"""


def test_a_project_is_planted_with_all_that_is_on_it() -> None:
    with rich_world() as world:
        acme = lookup.organization(world, "acme")
        board = projects.find(world, None, acme, 2)
        items = projects.items_of(world.database, board, archived=None)
        assert (board.title, board.public, board.template, board.closed_at) == (
            "Roadmap",
            True,
            True,
            "2022-08-01T00:00:00Z",
        )
        assert [object_name(world.database, one).partition(" item ")[2] for one in items] == [
            "acme/widgets#1",
            "draft issue Think",
            "acme/widgets#7",
        ]
        held = world.database.all(ProjectItemValue, item_id=items[0].id)
        assert [display_value(world.database, one, "value") for one in held][:3] == ["Next", "S", "2.5"]
        assert items[2].archived_at == "2022-07-01T00:00:00Z"
        assert [one.enabled for one in world.database.all(ProjectWorkflow, project_id=board.id)] == [False, True]
        assert acme.next_project_number == 5


def test_an_export_of_projects_is_the_same_world() -> None:
    with rich_world() as world:
        written = export_seed(world)
        with world_of(written) as again:
            assert export_seed(again).projects == written.projects
            assert len(written.projects) == world.database.count(Project) == 2


def test_a_changed_value_and_a_new_item_are_differences_with_names() -> None:
    with world_of(SMALL) as world, world.fork() as changed:
        board = projects.find(changed, None, lookup.user(changed, "octo"), 1)
        (item,) = projects.items_of(changed.database, board)
        status = projects.field_by_name(changed.database, board, "Status")
        assert status is not None
        with changed.acting(None) as act:
            commands.set_value(act, item, status, "98236657")
        found = [one for one in diff(world, changed) if one.kind == "project_item_values" and one.field == "value"]
        assert [(one.name, one.before, one.after) for one in found] == [
            ("octo project 1 item octo/widgets#1 Status", "Todo", "Done")
        ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("Status: Todo", "Status: Later", "values: Status: 'Later' is not one of Todo, In Progress, Done"),
        ("Status: Todo", "Stage: Todo", "values: Stage: the project has no field 'Stage'"),
        ("widgets#1", "widgets#9", "Could not resolve to an issue or pull request with the number of 9."),
        ("title: Board", "title: ' '", "title is missing"),
    ],
)
def test_what_cannot_be_planted_is_named(old: str, new: str, complaint: str) -> None:
    with pytest.raises(SeedError) as caught:
        world_of(SMALL.replace(old, new))
    assert str(caught.value).startswith("projects: octo ")
    assert complaint in str(caught.value)
