"""Releases over GraphQL: lists, tags, files, the latest, and who sees drafts."""

from typing import Any

import pytest
from graphql_world import Town

from ghx_twin.commands import releases
from ghx_twin.state.records import Release, ReleaseAsset

_RELEASE = (
    "id databaseId tagName name description isDraft isPrerelease isLatest immutable createdAt publishedAt "
    "updatedAt url author { login } tag { name prefix } tagCommit { oid } repository { name } "
    "releaseAssets(first: 9) { totalCount nodes { id name size contentType downloadUrl url downloadCount "
    "uploadedBy { login } release { tagName } } }"
)


@pytest.fixture(autouse=True)
def released(town: Town) -> dict[str, Release]:
    """Three releases, of which one is a draft."""
    with town.acting("octo") as act:
        first = releases.create(act, town.repository, tag_name="v1", name="B", body="Notes.")
        releases.upload_asset(act, first, name="a.txt", content=b"abc", content_type="text/plain")
        second = releases.create(act, town.repository, tag_name="v2", name="A", prerelease=True)
        draft = releases.create(act, town.repository, tag_name="v3", draft=True)
    return {"v1": first, "v2": second, "v3": draft}


def ask(town: Town, selection: str, by: str = "octo") -> Any:
    return town.ask(f'{{ repository(owner: "acme", name: "widgets") {{ {selection} }} }}', by=by).data["repository"]


def test_a_release_shows_its_tag_and_its_files(town: Town, released: dict[str, Release]) -> None:
    shown = ask(town, f'release(tagName: "v1") {{ {_RELEASE} }}')["release"]

    assert (shown["tagName"], shown["name"], shown["description"]) == ("v1", "B", "Notes.")
    assert (shown["isDraft"], shown["isPrerelease"], shown["isLatest"], shown["immutable"]) == (
        False,
        False,
        True,
        False,
    )
    assert shown["databaseId"] == released["v1"].id
    assert shown["url"] == "https://github.com/acme/widgets/releases/tag/v1"
    assert (shown["author"], shown["repository"]) == ({"login": "octo"}, {"name": "widgets"})
    assert (shown["tag"], shown["tagCommit"]) == ({"name": "v1", "prefix": "refs/tags/"}, {"oid": town.tip()})
    (asset,) = shown["releaseAssets"]["nodes"]
    assert (asset["name"], asset["size"], asset["contentType"]) == ("a.txt", 3, "text/plain")
    assert asset["downloadUrl"] == "https://github.com/acme/widgets/releases/download/v1/a.txt"
    assert (asset["uploadedBy"], asset["release"]) == ({"login": "octo"}, {"tagName": "v1"})
    assert ask(town, 'release(tagName: "v1") { releaseAssets(first: 1, name: "b") { totalCount } }') == {
        "release": {"releaseAssets": {"totalCount": 0}}
    }


@pytest.mark.parametrize(
    ("order", "tags"),
    [
        ("", ["v1", "v2", "v3"]),
        (", orderBy: {field: CREATED_AT, direction: DESC}", ["v3", "v2", "v1"]),
        (", orderBy: {field: NAME, direction: ASC}", ["v3", "v2", "v1"]),
    ],
)
def test_releases_are_listed_in_an_order(town: Town, order: str, tags: list[str]) -> None:
    shown = ask(town, f"releases(first: 9{order}) {{ nodes {{ tagName }} totalCount }} latestRelease {{ tagName }}")

    assert [each["tagName"] for each in shown["releases"]["nodes"]] == tags
    assert shown["latestRelease"] == {"tagName": "v1"}


def test_drafts_are_seen_by_those_who_can_push(town: Town, released: dict[str, Release]) -> None:
    query = 'releases(first: 9) { totalCount } release(tagName: "v3") { isDraft tag { name } tagCommit { oid } url }'
    own, strange = ask(town, query), ask(town, query, by="ann")

    assert (own["releases"]["totalCount"], strange["releases"]["totalCount"]) == (3, 2)
    assert strange["release"] is None
    assert (own["release"]["isDraft"], own["release"]["tag"], own["release"]["tagCommit"]) == (True, None, None)
    assert "/releases/tag/untagged-" in own["release"]["url"]
    for by, is_seen in (("octo", True), ("ann", False)):
        answer = town.ask("query($id: ID!) { node(id: $id) { id } }", {"id": town.id(released["v3"])}, by=by)
        assert (answer.body["data"]["node"] is not None) == is_seen


def test_releases_and_their_files_are_nodes(town: Town, released: dict[str, Release]) -> None:
    (asset,) = town.world.database.all(ReleaseAsset)
    for record, kind in ((released["v1"], "Release"), (asset, "ReleaseAsset")):
        answer = town.ask("query($id: ID!) { node(id: $id) { __typename id } }", {"id": town.id(record)})
        assert answer.data["node"] == {"__typename": kind, "id": town.id(record)}
