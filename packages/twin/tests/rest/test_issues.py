"""Issues, labels, comments and their lists over REST."""

import pytest
from rest_world import Client, Seeded

R = "/repos/acme/widgets"


def numbers(client: Client, query: str) -> list[int]:
    return [issue["number"] for issue in client.get(f"{R}/issues?{query}").json()]


def test_lists_hold_pull_requests_and_mark_them(ann: Client, world: Seeded) -> None:
    shown = {issue["number"]: issue for issue in ann.get(f"{R}/issues?state=all").json()}

    assert "pull_request" in shown[world.ids["pull"]]
    assert "pull_request" not in shown[world.ids["issue"]]
    assert shown[world.ids["pull"]]["pull_request"]["url"].endswith(f"/pulls/{world.ids['pull']}")


def test_filters_narrow_the_list(ann: Client, world: Seeded) -> None:
    issue, closed = world.ids["issue"], world.ids["closed_issue"]

    assert issue in numbers(ann, "")
    assert closed not in numbers(ann, "")
    assert closed in numbers(ann, "state=closed")
    assert numbers(ann, "labels=AREA/ui%20kit") == [issue]
    assert numbers(ann, "labels=area/ui%20kit,bug") == []
    assert numbers(ann, "assignee=bob") == [issue]
    assert issue not in numbers(ann, "assignee=none&state=all")
    assert numbers(ann, "milestone=1") == [issue]
    assert numbers(ann, "mentioned=bob") == [issue]
    assert numbers(ann, "creator=eve") == []
    assert numbers(ann, "since=2050-01-01T00:00:00Z") == []
    assert numbers(ann, "state=all&sort=created&direction=asc")[0] == issue


def test_what_readers_may_not_set_is_dropped_without_a_word(world: Seeded) -> None:
    made = world.client("eve").post(f"{R}/issues", {"title": "x", "labels": ["bug"], "assignees": ["bob"]})

    assert made.status == 201
    assert (made.json()["labels"], made.json()["assignees"]) == ([], [])
    assert made.headers["Location"] == made.json()["url"]


def test_an_update_changes_only_what_it_names(ann: Client, world: Seeded) -> None:
    path = f"{R}/issues/{world.ids['issue']}"
    before = ann.get(path).json()

    changed = ann.patch(path, {"labels": ["bug", {"name": "new one"}], "body": None}).json()

    assert [label["name"] for label in changed["labels"]] == ["bug", "new one"]
    assert changed["body"] is None
    kept = ("title", "milestone", "state")
    assert [changed[name] for name in kept] == [before[name] for name in kept]
    assert [user["login"] for user in changed["assignees"]] == ["bob"]


def test_closing_and_reopening_keep_their_reasons(ann: Client, world: Seeded) -> None:
    path = f"{R}/issues/{world.ids['issue']}"

    closed = ann.patch(path, {"state": "closed", "state_reason": "not_planned"}).json()
    opened = ann.patch(path, {"state": "open"}).json()

    assert (closed["state"], closed["state_reason"], closed["closed_by"]["login"]) == ("closed", "not_planned", "ann")
    assert (opened["state"], opened["state_reason"], opened["closed_at"]) == ("open", "reopened", None)


def test_a_pull_request_is_closed_through_its_issue(ann: Client, world: Seeded) -> None:
    number = world.ids["pull"]

    assert ann.patch(f"{R}/issues/{number}", {"state": "closed"}).json()["state"] == "closed"
    assert ann.get(f"{R}/pulls/{number}").json()["state"] == "closed"


def test_labels_can_be_given_in_three_forms(ann: Client, world: Seeded) -> None:
    path = f"{R}/issues/{world.ids['issue']}/labels"
    names = lambda reply: [label["name"] for label in reply.json()]  # noqa: E731 - three uses below

    assert names(ann.put(path, {"labels": ["bug"]})) == ["bug"]
    assert names(ann.post(path, ["question"])) == ["bug", "question"]
    assert names(ann.delete(f"{path}/bug")) == ["question"]
    gone = ann.delete(f"{path}/bug")
    assert (gone.status, gone.json()["message"]) == (404, "Label does not exist")


def test_a_label_that_exists_is_told_as_clients_expect(ann: Client) -> None:
    reply = ann.post(f"{R}/labels", {"name": "Bug", "color": "ff0000"})

    assert reply.status == 422
    assert reply.json()["message"] == "Validation Failed"
    assert reply.json()["errors"] == [{"resource": "Label", "code": "already_exists", "field": "name"}]


def test_the_same_reaction_twice_is_one(ann: Client, world: Seeded) -> None:
    path = f"{R}/issues/{world.ids['issue']}/reactions"

    assert [ann.post(path, {"content": "eyes"}).status for _ in range(2)] == [201, 200]
    assert ann.get(f"{R}/issues/{world.ids['issue']}").json()["reactions"]["eyes"] == 1


@pytest.mark.parametrize("kind", ["full", "html", "text"])
def test_rendered_markdown_is_not_made_up_and_nothing_is_written(ann: Client, world: Seeded, kind: str) -> None:
    accept, before = f"application/vnd.github.{kind}+json", world.world.database.last_change()

    read = ann.get(f"{R}/issues/comments/{world.ids['comment']}", accept=accept)
    written = ann.ask("POST", f"{R}/issues", {"title": "T", "body": "**b**"}, accept=accept)

    assert {read.status, written.status} == {501}
    assert f"vnd.github.{kind}+json" in read.json()["message"]
    assert world.world.database.last_change() == before
    assert ann.get("/user", accept=accept).status == 200


def test_a_reference_from_where_the_viewer_may_not_look_is_not_told(ann: Client, world: Seeded) -> None:
    number = world.ids["closed_issue"]
    ann.post("/repos/ann/secret/issues", {"title": "Hush", "body": f"See acme/widgets#{number}"})

    told = {
        login: [one["event"] for one in world.client(login).get(f"{R}/issues/{number}/timeline").json()]
        for login in ("ann", "eve")
    }

    assert "cross-referenced" in told["ann"]
    assert "cross-referenced" not in told["eve"]


def test_the_timeline_tells_everything_in_order(ann: Client, world: Seeded) -> None:
    found = ann.get(f"{R}/issues/{world.ids['issue']}/timeline").json()
    names = [entry["event"] for entry in found]

    assert {"labeled", "assigned", "milestoned", "mentioned", "commented", "cross-referenced"} <= set(names)
    times = [entry["created_at"] for entry in found]
    assert times == sorted(times)
    events = [entry["event"] for entry in ann.get(f"{R}/issues/{world.ids['issue']}/events").json()]
    assert "cross-referenced" not in events


def test_a_bot_carries_its_mark(ann: Client) -> None:
    shown = ann.get("/users/robot%5Bbot%5D").json()

    assert (shown["login"], shown["type"]) == ("robot[bot]", "Bot")
    assert shown["html_url"] == "https://github.com/apps/robot"


def test_search_finds_what_it_should(ann: Client, world: Seeded) -> None:
    found = ann.get("/search/issues?q=repo:acme/widgets+is:issue+is:open+label:%22area/ui+kit%22").json()

    assert [item["number"] for item in found["items"]] == [world.ids["issue"]]
    assert found["total_count"] == 1
    matched = ann.get(
        "/search/code?q=value_5+repo:acme/widgets", accept="application/vnd.github.text-match+json"
    ).json()
    assert matched["items"][0]["path"] == "src/app.py"
    assert "value_5" in matched["items"][0]["text_matches"][0]["fragment"]
    assert ann.get("/search/issues?q=x&page=11&per_page=100").status == 422


def test_issues_are_listed_by_type_and_found_by_what_blocks_them(world: Seeded) -> None:
    ann, ids = world.client(), world.ids

    def numbers(path: str) -> list[int]:
        found = ann.get(path).json()
        return [one["number"] for one in (found if isinstance(found, list) else found["items"])]

    assert numbers("/repos/acme/widgets/issues?type=bug") == [ids["parent_issue"]]
    assert ids["parent_issue"] not in numbers("/repos/acme/widgets/issues?type=none")
    assert numbers("/search/issues?q=repo:acme/widgets+type:bug") == [ids["parent_issue"]]
    assert numbers("/search/issues?q=repo:acme/widgets+is:blocked") == [ids["sub_issue"]]
    assert numbers("/search/issues?q=repo:acme/widgets+is:blocking") == [ids["last_sub_issue"]]
