"""Comments on commits over REST: who may write, change and delete them."""

from rest_world import Client, Seeded

from ghx_twin.difference import diff
from ghx_twin.state.records import CommitComment

R = "/repos/acme/widgets"


def test_a_comment_is_written_counted_and_listed(ann: Client, world: Seeded) -> None:
    sha = world.shas["feature"]
    with world.world.fork() as before:
        made = world.client("eve").post(
            f"{R}/commits/{sha[:10]}/comments", {"body": "Why?", "path": "a", "position": 1}
        )
        assert made.status == 201
        (new,) = diff(before, world.world)

    assert (new.change, new.kind, new.by) == ("created", "commit_comments", "eve")
    shown = made.json()
    assert (shown["commit_id"], shown["path"], shown["position"], shown["line"]) == (sha, "a", 1, None)
    assert shown["html_url"] == f"https://github.com/acme/widgets/commit/{sha}#commitcomment-{shown['id']}"
    assert ann.get(f"{R}/commits/{sha}/comments").json() == [shown]
    assert ann.get(f"{R}/commits/{sha}").json()["commit"]["comment_count"] == 1
    assert [each["id"] for each in ann.get(f"{R}/comments").json()] == [world.ids["commit_comment"], shown["id"]]


def test_only_authors_and_writers_change_a_comment(ann: Client, world: Seeded) -> None:
    place = f"{R}/comments/{world.ids['commit_comment']}"
    eve = world.client("eve")

    assert (eve.patch(place, {"body": "x"}).status, eve.delete(place).status) == (403, 403)
    assert ann.post(f"{R}/commits/main/comments", {"body": " "}).status == 422
    assert eve.get(f"/repos/eve/widgets/comments/{world.ids['commit_comment']}").status == 404
    assert world.client("bob").patch(place, {"body": "Fine"}).json()["body"] == "Fine"
    assert ann.delete(place).status == 204
    assert world.world.database.all(CommitComment) == []
