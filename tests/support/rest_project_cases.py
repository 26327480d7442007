"""For every operation on projects a request that is granted and one that is refused."""

from typing import Any

from rest_calls import Call, call

_FIELD = {"name": "Size", "data_type": "single_select", "single_select_options": [{"name": "S", "color": "RED"}]}
_ISSUE = {"type": "Issue", "owner": "acme", "repo": "widgets", "number": 1}


def _cases(templates: str, place: str, owner: str) -> dict[str, tuple[Call, Call]]:
    one, here = f"{templates}/{{project_number}}", f"{place}/1"
    item, values = f"{here}/items/{{{owner}_item}}", {"fields": [{"id": f"{{{owner}_text}}", "value": "Hi"}]}
    wrong: dict[str, Any] = {"fields": [{"id": f"{{{owner}_status}}", "value": "none"}]}
    return {
        f"GET {templates}": (call(f"{place}?q=is:open"), call(place.replace(owner, "nobody"))),
        f"GET {one}": (call(here), call(here, user="eve")),
        f"GET {one}/fields": (call(f"{here}/fields?per_page=50"), call(f"{place}/9/fields")),
        f"POST {one}/fields": (call(f"{here}/fields", _FIELD), call(f"{here}/fields", {**_FIELD, "name": "Status"})),
        f"GET {one}/fields/{{field_id}}": (call(f"{here}/fields/{{{owner}_field}}"), call(f"{here}/fields/1")),
        f"GET {one}/items": (
            call(f"{here}/items?q=is:open&fields={{{owner}_status}}"),
            call(f"{here}/items", user="eve"),
        ),
        f"POST {one}/items": (call(f"{here}/items", _ISSUE), call(f"{here}/items", {**_ISSUE, "number": 99})),
        f"GET {one}/items/{{item_id}}": (call(item), call(f"{here}/items/1")),
        f"PATCH {one}/items/{{item_id}}": (call(item, values), call(item, wrong)),
        f"DELETE {one}/items/{{item_id}}": (call(item), call(item, user="eve")),
        f"GET {one}/views/{{view_number}}/items": (call(f"{here}/views/1/items"), call(f"{here}/views/2/items")),
    }


PROJECT_CASES: dict[str, tuple[Call, Call]] = {
    **_cases("/orgs/{org}/projectsV2", "/orgs/acme/projectsV2", "acme"),
    **_cases("/users/{username}/projectsV2", "/users/ann/projectsV2", "ann"),
    "POST /orgs/{org}/projectsV2/{project_number}/drafts": (
        call("/orgs/acme/projectsV2/1/drafts", {"title": "New"}, "bob"),
        call("/orgs/acme/projectsV2/1/drafts", {}),
    ),
    "POST /user/{user_id}/projectsV2/{project_number}/drafts": (
        call("/user/{ann}/projectsV2/1/drafts", {"title": "New", "body": "Text"}),
        call("/user/{ann}/projectsV2/1/drafts", {"title": "New"}, "bob"),
    ),
    "POST /orgs/{org}/projectsV2/{project_number}/views": (
        call("/orgs/acme/projectsV2/1/views", {"name": "B", "layout": "board", "visible_fields": ["{acme_field}"]}),
        call("/orgs/acme/projectsV2/1/views", {"name": "B", "layout": "wall"}),
    ),
    "POST /users/{user_id}/projectsV2/{project_number}/views": (
        call("/users/{ann}/projectsV2/1/views", {"name": "B", "layout": "table", "sort_by": [["{ann_field}", "asc"]]}),
        call("/users/{ann}/projectsV2/1/views", {"name": "B", "layout": "table", "group_by": [1]}),
    ),
}
