"""Releases over REST: which are seen, which is the latest, what happens to tags, and what is refused."""

import hashlib
from typing import Any

import pytest
from rest_world import Client, Reply, Seeded

from ghx_twin.commands import repositories
from ghx_twin.difference import diff
from ghx_twin.queries import lookup
from ghx_twin.state.records import Release, ReleaseAsset
from ghx_twin.world import World

R = "/repos/acme/widgets"
NOT_VALID = {"resource": "Release", "code": "custom", "field": "tag_name", "message": "tag_name is not a valid tag"}
NOT_WELL_FORMED = {**NOT_VALID, "message": "tag_name is not well-formed"}
NEEDS_TAG = {"resource": "Release", "code": "custom", "message": "Published releases must have a valid tag"}
NO_TARGET = {"resource": "Release", "code": "invalid", "field": "target_commitish"}
NOT_LATEST = {"resource": "Release", "code": "custom", "message": "Latest release cannot be draft or prerelease."}


def make(client: Client, tag: str, **body: Any) -> dict[str, Any]:
    reply = client.post(f"{R}/releases", {"tag_name": tag, **body})
    assert reply.status == 201, reply.text
    return reply.json()


def change(client: Client, release: dict[str, Any], **body: Any) -> dict[str, Any]:
    reply = client.patch(f"{R}/releases/{release['id']}", body)
    assert reply.status == 200, reply.text
    return reply.json()


def latest(client: Client) -> str | None:
    reply = client.get(f"{R}/releases/latest")
    return reply.json()["tag_name"] if reply.status == 200 else None


def upload(client: Client, release: int, name: str, content: bytes = b"x") -> Reply:
    return client.ask("POST", f"{R}/releases/{release}/assets?name={name}", raw=content)


def test_drafts_are_seen_by_those_who_can_push(world: Seeded) -> None:
    def tags(login: str) -> list[str]:
        return [each["tag_name"] for each in world.client(login).get(f"{R}/releases").json()]

    assert tags("bob") == ["next", "v1"]
    assert tags("eve") == ["v1"]
    assert world.client("eve").get(f"{R}/releases/{world.ids['draft']}").status == 404
    assert world.client("bob").get(f"{R}/releases/tags/next").status == 404


def test_publishing_makes_the_tag_at_the_target(ann: Client) -> None:
    draft = make(ann, "v2", draft=True, target_commitish="feature/x")
    assert ann.get(f"{R}/git/ref/tags/v2").status == 404
    assert (draft["published_at"], draft["tarball_url"]) == (None, None)
    assert "/releases/tag/untagged-" in draft["html_url"]

    published = change(ann, draft, draft=False)

    ref = ann.get(f"{R}/git/ref/tags/v2").json()["object"]
    tip = ann.get(f"{R}/commits/feature/x").json()
    assert (ref["type"], ref["sha"]) == ("commit", tip["sha"])
    assert published["created_at"] == tip["commit"]["committer"]["date"]
    assert published["published_at"] > published["created_at"]
    assert published["html_url"] == "https://github.com/acme/widgets/releases/tag/v2"


def test_a_release_of_a_tag_that_is_there_leaves_it(ann: Client, world: Seeded) -> None:
    assert ann.get(f"{R}/git/ref/tags/v1").json()["object"]["sha"] == world.shas["tag"]
    assert ann.get(f"{R}/releases/tags/v1").json()["target_commitish"] == "main"


def test_the_newest_published_release_is_the_latest_unless_told_otherwise(ann: Client) -> None:
    second = make(ann, "v2")
    assert latest(ann) == "v2"
    make(ann, "v1.5", make_latest="false")
    candidate = make(ann, "v3-rc", prerelease=True)
    assert latest(ann) == "v2"
    change(ann, candidate, prerelease=False)
    assert latest(ann) == "v3-rc"
    change(ann, second, make_latest="true")
    assert latest(ann) == "v2"
    change(ann, second, name="Renamed")
    assert latest(ann) == "v2"
    change(ann, second, make_latest="legacy")
    assert latest(ann) == "v2"  # all are of the same commit, and it has the highest version
    ann.delete(f"{R}/releases/{second['id']}")
    assert latest(ann) == "v1.5"


def test_who_deletes_the_tag_of_a_release_makes_it_a_draft(ann: Client, world: Seeded) -> None:
    assert ann.delete(f"{R}/git/refs/tags/v1").status == 204

    shown = ann.get(f"{R}/releases/{world.ids['release']}").json()

    assert (shown["draft"], shown["published_at"]) == (True, None)
    assert latest(ann) is None


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"tag_name": "v1"}, [{"resource": "Release", "code": "already_exists", "field": "tag_name"}]),
        ({"tag_name": "v2", "target_commitish": "none"}, [NOT_VALID, NEEDS_TAG, NO_TARGET]),
        ({"tag_name": "v2", "target_commitish": "refs/tags/v1"}, [NOT_VALID, NEEDS_TAG, NO_TARGET]),
        ({"tag_name": "v2", "target_commitish": "none", "draft": True}, [NO_TARGET]),
        ({"tag_name": "a b"}, [NOT_VALID, NOT_WELL_FORMED, NEEDS_TAG]),
        ({"tag_name": "a b", "draft": True}, [NOT_WELL_FORMED]),
        ({"tag_name": "v2", "prerelease": True, "make_latest": "true"}, [NOT_LATEST]),
    ],
)
def test_what_cannot_be_released_is_refused(ann: Client, body: dict[str, Any], errors: list[dict[str, str]]) -> None:
    reply = ann.post(f"{R}/releases", body)

    assert (reply.status, reply.json()["errors"]) == (422, errors)


def test_other_refusals_say_why(ann: Client, world: Seeded) -> None:
    draft = world.ids["draft"]
    empty = ann.post("/repos/ann/empty/releases", {"tag_name": "v1"})
    assert empty.json()["errors"] == [{"resource": "Release", "code": "custom", "message": "Repository is empty."}]
    assert ann.post(f"{R}/releases", {}).json()["message"] == 'Invalid request.\n\n"tag_name" wasn\'t supplied.'
    assert ann.patch(f"{R}/releases/{draft}", {"make_latest": "true"}).json()["errors"] == [NOT_LATEST]
    assert ann.patch(f"{R}/releases/{draft}", {"tag_name": "v1", "draft": False}).status == 422
    assert ann.post(f"{R}/releases", {"tag_name": "v2", "discussion_category_name": "News"}).status == 501
    assert world.client("eve").post(f"{R}/releases", {"tag_name": "v2"}).status == 403
    assert world.client("eve").post("/repos/ann/secret/releases", {"tag_name": "v2"}).status == 404
    with world.world.acting(None) as act:
        repositories.update(act, lookup.repository(world.world, None, "acme", "widgets"), archived=True)
    refused = ann.post(f"{R}/releases", {"tag_name": "v2"})
    assert (refused.status, refused.json()["message"]) == (403, "Repository was archived so is read-only.")


def test_a_tag_may_have_slashes(ann: Client) -> None:
    make(ann, "pkg/v2")

    assert ann.get(f"{R}/releases/tags/pkg/v2").json()["tag_name"] == "pkg/v2"
    assert ann.get(f"{R}/releases/tags/pkg%2Fv2").json()["html_url"].endswith("/releases/tag/pkg/v2")


def test_a_file_is_uploaded_and_comes_back(ann: Client, world: Seeded) -> None:
    content = bytes(range(256))
    made = upload(ann, world.ids["release"], "a%20b%C3%A9!.tar.gz", content).json()

    assert made["name"] == "a.b.tar.gz"
    assert (made["size"], made["state"], made["label"]) == (256, "uploaded", None)
    assert made["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    place = made["url"].removeprefix("https://api.github.com")
    assert ann.get(place, accept="application/octet-stream").content == content
    assert ann.get(place).json() == made
    assert made in ann.get(f"{R}/releases/{world.ids['release']}").json()["assets"]


def test_files_that_cannot_be_are_refused(ann: Client, world: Seeded) -> None:
    release, place = world.ids["release"], f"{R}/releases/assets/{world.ids['asset']}"
    taken = upload(ann, release, "app.bin")
    nameless = ann.ask("POST", f"{R}/releases/{release}/assets", raw=b"x")

    assert taken.json()["errors"] == [{"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}]
    assert nameless.json()["errors"] == [{"resource": "ReleaseAsset", "code": "missing_field", "field": "name"}]
    assert upload(ann, release, "empty", b"").status == 400
    assert upload(world.client("eve"), release, "x").status == 403
    assert world.client("eve").delete(place).status == 403
    assert world.client("eve").patch(place, {"name": "x"}).status == 403
    assert ann.get(place, accept="image/png").status == 415


def test_what_happens_to_releases_is_in_the_difference(ann: Client, world: Seeded) -> None:
    with world.world.fork() as before:
        upload(ann, world.ids["release"], "b.bin", b"b")
        ann.patch(f"{R}/releases/{world.ids['release']}", {"body": "Changed."})
        seen = {(each.change, each.kind, each.name, each.field, each.by) for each in diff(before, world.world)}

    name = "acme/widgets release v1"
    assert ("created", "release_assets", f"{name} asset b.bin", None, "ann") in seen
    assert ("changed", "releases", name, "body", "ann") in seen


def test_no_longer_being_the_latest_counts_unless_another_release_is(ann: Client, world: Seeded) -> None:
    def told(before: World) -> list[tuple[str, bool]]:
        found = diff(before, world.world)
        return [(each.name.rpartition(" ")[2], each.is_bookkeeping) for each in found if each.field == "is_latest"]

    with world.world.fork() as before:
        second = make(ann, "v2")
        assert told(before) == []
    with world.world.fork() as before:
        change(ann, second, make_latest="false")
        assert told(before) == [("v2", False)]


def test_files_belong_to_a_world_and_go_with_their_release(ann: Client, world: Seeded) -> None:
    place = f"{R}/releases/assets/{world.ids['asset']}"
    with world.world.fork() as fork:
        other = Client(fork, world.people["ann"])
        assert other.delete(f"{R}/releases/{world.ids['release']}").status == 204
        assert fork.database.all(ReleaseAsset) == []
        assert upload(other, world.ids["draft"], "new", b"only here").status == 201
        assert ann.get(place, accept="application/octet-stream").content == b"\x00\xff"
    assert ann.delete(R).status == 204
    assert (world.world.database.all(Release), world.world.database.all(ReleaseAsset)) == ([], [])
