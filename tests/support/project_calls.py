"""A call of every capability of the project_v2 domain that goes well in the world of the tests."""

from collections.abc import Mapping
from typing import Any

from capability_calls import Call, Ghx

PROJECT = {"owner": "acme", "projectNumber": 1}
DONE = "98236657"  # the option of Status, the same in every project


def item_id(ghx: Ghx) -> str:
    return ghx.data("project_v2.items.list", **PROJECT)["items"][0]["id"]


def status_of_item(ghx: Ghx) -> dict[str, Any]:
    fields = ghx.data("project_v2.fields.list", **PROJECT)["items"]
    return {
        "projectId": ghx.data("project_v2.org.view", org="acme", projectNumber=1)["id"],
        "itemId": item_id(ghx),
        "fieldId": next(field["id"] for field in fields if field["name"] == "Status"),
    }


PROJECT_CALLS: Mapping[str, Call] = {
    "project_v2.fields.list": PROJECT,
    "project_v2.items.field.update": lambda ghx: {**status_of_item(ghx), "valueSingleSelectOptionId": DONE},
    "project_v2.items.issue.add": {**PROJECT, "issueUrl": "https://github.com/acme/widgets/issues/1"},
    "project_v2.items.issue.remove": lambda ghx: {**PROJECT, "itemId": item_id(ghx)},
    "project_v2.items.list": PROJECT,
    "project_v2.org.view": {"org": "acme", "projectNumber": 1},
    "project_v2.user.view": {"user": "octo", "projectNumber": 1},
}
