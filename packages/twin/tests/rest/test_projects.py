"""Projects over REST: their values, pages, filters, and who may do what."""

import re
from typing import Any

import pytest
from rest_world import Client, Seeded

from ghx_twin.viewer import EVERY_SCOPE

BOARD = "/orgs/acme/projectsV2/1"


def titles(client: Client, query: str = "") -> list[str]:
    found = client.get(f"{BOARD}/items?{query}").json()
    return [one["fields"][0]["value"]["raw"] for one in found]


def test_an_item_holds_values_of_every_type(ann: Client) -> None:
    fields = {one["name"]: one["id"] for one in ann.get(f"{BOARD}/fields?per_page=50").json()}
    wanted = ",".join(str(identity) for identity in fields.values())

    item = next(one for one in ann.get(f"{BOARD}/items?fields={wanted}").json() if one["content_type"] == "Issue")

    values: dict[str, Any] = {one["name"]: one["value"] for one in item["fields"]}
    assert (values["Title"]["raw"], values["Title"]["number"]) == ("On a project", 1)
    assert [one["login"] for one in values["Assignees"]] == ["ann"]
    assert values["Repository"]["full_name"] == "acme/planned"
    assert values["My text"] == {"raw": "soon", "html": "soon"}
    assert (values["My number"], values["My date"]) == (2, "2026-02-01")
    assert values["My single_select"]["name"]["raw"] == "Small"
    assert values["My iteration"]["title"]["raw"] == "My iteration 1"
    assert (values["Status"], values["Labels"], values["Parent issue"]) == (None, [], None)


def test_values_are_set_and_cleared_all_or_none(world: Seeded, ann: Client) -> None:
    item, text, status = (world.ids[f"acme_{name}"] for name in ("item", "text", "status"))
    address = f"{BOARD}/items/{item}?fields={text}"

    changed = ann.patch(address, {"fields": [{"id": text, "value": "Hi"}, {"id": status, "value": "98236657"}]})
    assert changed.json()["fields"] == [
        {"id": text, "name": "My text", "data_type": "text", "value": {"raw": "Hi", "html": "Hi"}}
    ]
    refused = ann.patch(address, {"fields": [{"id": text, "value": "No"}, {"id": status, "value": "none"}]})
    assert refused.status == 422
    assert refused.json()["message"] == "The single select option Id does not belong to the field"
    assert ann.get(address).json()["fields"][0]["value"]["raw"] == "Hi"
    assert ann.patch(address, {"fields": [{"id": text, "value": None}]}).json()["fields"][0]["value"] is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Draft", "On a project"]),
        ("q=is:issue", ["On a project"]),
        ("q=is:draft", ["Draft"]),
        ("q=-is:draft", ["On a project"]),
        ("q=assignee:@me", ["On a project"]),
        ("q=no:assignee", ["Draft"]),
        ("q=my-single_select:Small", ["On a project"]),
        ("q=repo:acme/planned+project", ["On a project"]),
        ("q=status:Done", []),
    ],
)
def test_items_are_filtered(ann: Client, query: str, expected: list[str]) -> None:
    assert titles(ann, query) == expected


def test_the_link_header_leads_through_the_pages_and_back(ann: Client) -> None:
    first = ann.get(f"{BOARD}/fields?per_page=8")
    links = dict(re.findall(r'<https://api.github.com([^>]+)>; rel="(\w+)"', first.headers["Link"]))
    (address,) = links
    second = ann.get(address)

    names = [one["name"] for one in (*first.json(), *second.json())]
    assert (len(names), len(set(names)), "next" in second.headers["Link"]) == (15, 15, False)
    back = re.search(r'<https://api.github.com([^>]+)>; rel="prev"', second.headers["Link"])
    assert back is not None
    assert ann.get(back[1]).json() == first.json()


def test_a_project_is_seen_by_members_and_changed_with_the_scope(world: Seeded) -> None:
    assert world.client("eve").get(BOARD).status == 404
    assert world.client("eve").get("/orgs/acme/projectsV2").json() == []
    reader = world.client("bob", scopes=EVERY_SCOPE - {"project"} | {"read:project"})
    assert reader.get(BOARD).json()["title"] == "Roadmap"
    refused = reader.post(f"{BOARD}/drafts", {"title": "New"})
    assert (refused.status, refused.headers["X-Accepted-OAuth-Scopes"]) == (403, "project")
    blind = world.client("bob", scopes=EVERY_SCOPE - {"project"}).get(BOARD)
    assert (blind.status, blind.headers["X-Accepted-OAuth-Scopes"]) == (403, "read:project")


def test_the_timeline_of_an_issue_tells_of_projects_to_those_who_see_them(world: Seeded, ann: Client) -> None:
    issue = {"type": "Issue", "owner": "acme", "repo": "widgets", "number": 1}
    made = ann.post(f"{BOARD}/items", issue).json()
    ann.delete(f"{BOARD}/items/{made['id']}")

    told = [one["event"] for one in ann.get("/repos/acme/widgets/issues/1/timeline?per_page=100").json()]
    assert told[-2:] == ["added_to_project_v2", "removed_from_project_v2"]
    seen = world.client("eve").get("/repos/acme/widgets/issues/1/timeline?per_page=100").json()
    assert not any("project" in one["event"] for one in seen)
    events = ann.get("/repos/acme/widgets/issues/1/events?per_page=100").json()
    assert [one["event"] for one in events][-2:] == told[-2:]
    for address in ("/repos/acme/widgets/issues/1/events?per_page=100", "/repos/acme/widgets/issues/events"):
        assert not any("project" in one["event"] for one in world.client("eve").get(address).json())
    assert world.client("eve").get(f"/repos/acme/widgets/issues/events/{events[-1]['id']}").status == 404
