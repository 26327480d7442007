"""Lists that the database filters and sorts: what comes, and in which order."""

import pytest
from graphql_world import Town

from ghx_twin.commands import repositories, users
from ghx_twin.commands.issues import labels, milestones
from ghx_twin.state.records import Repository

LABELS = ("ZEBRA", "été", "Été 2", "apple", "Banana")
DUE = {"one": "2026-03-01T00:00:00Z", "Two": None, "THREE": "2026-02-01T00:00:00Z", "four": None}


@pytest.fixture
def home(town: Town) -> Repository:
    with town.world.acting(None) as act:
        owner = users.create_user(act, login="zoe")
        made = repositories.create(act, owner=owner, name="orders")
        for label in act.database.all(labels.Label, repository_id=made.id):
            labels.delete(act, label)
        for name in LABELS:
            labels.create(act, made, name=name, description="Sommer" if name == "apple" else None)
        for title, due in DUE.items():
            milestones.create(act, made, title=title, due_on=due, state="closed" if title == "one" else "open")
    return made


def names(town: Town, field: str, name: str) -> list[str]:
    asked = f"{field} {{ totalCount nodes {{ {name} }} }}"
    found = town.ask(f'{{ repository(owner: "zoe", name: "orders") {{ {asked} }} }}')
    (connection,) = found.data["repository"].values()
    assert connection["totalCount"] == len(connection["nodes"])
    return [one[name] for one in connection["nodes"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", list(LABELS)),
        ("orderBy: {field: NAME, direction: ASC}", ["apple", "Banana", "ZEBRA", "été", "Été 2"]),
        ("orderBy: {field: NAME, direction: DESC}", ["Été 2", "été", "ZEBRA", "Banana", "apple"]),
        ("orderBy: {field: CREATED_AT, direction: DESC}", list(LABELS)),  # all at once
        ('query: "ÉTÉ"', ["été", "Été 2"]),
        ('query: "SOMMER"', ["apple"]),
        ('query: "%"', []),
    ],
)
@pytest.mark.usefixtures("home")
def test_labels(town: Town, arguments: str, expected: list[str]) -> None:
    assert names(town, f"labels(first: 10, {arguments})", "name") == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", ["one", "Two", "THREE", "four"]),
        ("states: [OPEN]", ["Two", "THREE", "four"]),
        ("states: [OPEN, CLOSED], orderBy: {field: DUE_DATE, direction: ASC}", ["THREE", "one", "Two", "four"]),
        ("orderBy: {field: DUE_DATE, direction: DESC}", ["four", "Two", "one", "THREE"]),
        ("orderBy: {field: NUMBER, direction: DESC}", ["four", "THREE", "Two", "one"]),
        ('query: "T"', ["Two", "THREE"]),
    ],
)
@pytest.mark.usefixtures("home")
def test_milestones(town: Town, arguments: str, expected: list[str]) -> None:
    assert names(town, f"milestones(first: 10, {arguments})", "title") == expected
