"""Projects: what is on them, put on them, changed and taken off, as the twin keeps it."""

import pytest
from capability_calls import Ghx
from project_calls import DONE, PROJECT, item_id, status_of_item

from ghx_twin.state.names import display_value
from ghx_twin.state.records import ProjectItemValue

pytestmark = pytest.mark.slow


def status(ghx: Ghx) -> list[str]:
    database = ghx.twin.world.database
    return [display_value(database, value, "value") for value in database.all(ProjectItemValue)]


def test_a_project_is_viewed_with_its_items_and_fields(ghx: Ghx) -> None:
    viewed = ghx.data("project_v2.org.view", org="acme", projectNumber=1)
    assert (viewed["title"], viewed["shortDescription"], viewed["public"]) == ("Roadmap", "What comes next", True)
    items = ghx.data("project_v2.items.list", **PROJECT)["items"]
    assert [(one["contentType"], one["contentNumber"], one["contentTitle"]) for one in items] == [
        ("ISSUE", 3, "A wish"),
        ("PULL_REQUEST", 7, "Add b"),
        ("DRAFT_ISSUE", None, "A draft"),
    ]
    page = ghx.data("project_v2.items.list", **PROJECT, first=2)
    rest = ghx.data("project_v2.items.list", **PROJECT, after=page["pageInfo"]["endCursor"])
    assert [*page["items"], *rest["items"]] == items
    fields = {one["name"]: one for one in ghx.data("project_v2.fields.list", **PROJECT)["items"]}
    assert [one["name"] for one in fields["Status"]["options"]] == ["Todo", "In Progress", "Done"]
    assert fields["Title"]["dataType"] == "TITLE"


def test_an_issue_is_added_given_a_status_cleared_and_removed(ghx: Ghx) -> None:
    added = ghx.data("project_v2.items.issue.add", **PROJECT, issueUrl=f"{ghx.twin.url}/acme/widgets/issues/1")
    assert added["itemType"] == "ISSUE"
    place = {**status_of_item(ghx), "itemId": added["itemId"]}
    ghx.data("project_v2.items.field.update", **place, valueSingleSelectOptionId=DONE)
    assert status(ghx) == ["Todo", "Done"]
    ghx.data("project_v2.items.field.update", **place, clear=True)
    assert status(ghx) == ["Todo"]
    removed = ghx.data("project_v2.items.issue.remove", **PROJECT, itemId=added["itemId"])
    assert removed == {"deletedItemId": added["itemId"]}
    assert len(ghx.data("project_v2.items.list", **PROJECT)["items"]) == 3


def test_what_is_not_there_and_what_does_not_fit_is_told(ghx: Ghx) -> None:
    assert ghx.error("project_v2.org.view", org="acme", projectNumber=9) == "NOT_FOUND"
    assert ghx.error("project_v2.items.list", owner="nobody", projectNumber=1) == "NOT_FOUND"
    nowhere = "https://github.com/acme/widgets/issues/99"
    assert ghx.error("project_v2.items.issue.add", **PROJECT, issueUrl=nowhere) == "NOT_FOUND"
    place = status_of_item(ghx)
    assert ghx.error("project_v2.items.field.update", **place) == "VALIDATION"
    assert ghx.error("project_v2.items.field.update", **place, valueText="x", clear=True) == "VALIDATION"
    assert ghx.error("project_v2.items.field.update", **place, valueText="Done") == "VALIDATION"


def test_who_only_reads_a_project_changes_nothing(ghx: Ghx) -> None:
    reader = ghx.as_user("reader")
    taken = {**PROJECT, "itemId": item_id(ghx)}
    assert reader.error("project_v2.items.issue.remove", **taken) == "AUTH"
    assert reader.error("project_v2.user.view", user="octo", projectNumber=1) == "NOT_FOUND"
