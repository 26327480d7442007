"""Real `gh` on releases: made with files and notes, listed, changed, downloaded and deleted."""

import tarfile
from pathlib import Path

import pytest
from gh_client import GhClient

from ghx_twin.commands.pulls import merges
from ghx_twin.commands.repositories import contents
from ghx_twin.queries import lookup
from ghx_twin.world import World

FIELDS = "tagName,name,body,isDraft,isPrerelease,url,targetCommitish,assets"


@pytest.fixture
def merged(github_world: World) -> None:
    """A merged pull request, and a file that says how notes are grouped."""
    home = lookup.repository(github_world, None, "acme", "widgets")
    rules = b"changelog: {categories: [{title: Fixes, labels: [bug]}, {title: Rest, labels: ['*']}]}\n"
    with github_world.acting(None) as act:
        contents.put(act, home, path=".github/release.yml", content=rules, message="Group the notes")
        merges.merge(act, lookup.pull(github_world, home, 7))


def refs_of(world: World) -> dict[str, str]:
    return world.git(lookup.repository(world, None, "acme", "widgets")).refs("refs/tags/")


@pytest.mark.usefixtures("merged")
def test_a_release_is_made_with_files_and_generated_notes(gh: GhClient, github_world: World) -> None:
    (gh.directory / "app.bin").write_bytes(b"\x00\x01\xff")
    (gh.directory / "notes.md").write_text("By hand.\n")

    told = gh.run("release", "create", "v1.1.0", "app.bin#The app", "--generate-notes", "--target", "main")
    gh.do("release", "create", "v1.2.0-rc1", "--notes-file", "notes.md", "--prerelease", "--title", "Soon")

    assert told.out == "https://github.com/acme/widgets/releases/tag/v1.1.0\n", told
    assert set(refs_of(github_world)) == {"refs/tags/v1.0.0", "refs/tags/v1.1.0", "refs/tags/v1.2.0-rc1"}
    made = gh.json("release", "view", "v1.1.0", "--json", FIELDS)
    assert (made["name"], made["isDraft"], made["targetCommitish"]) == ("v1.1.0", False, "main")
    assert made["body"].splitlines() == [
        "<!-- Release notes generated using configuration in .github/release.yml at main -->",
        "",
        "## What's Changed",
        "### Fixes",
        "* Add b by @hubot in https://github.com/acme/widgets/pull/7",
        "",
        "## New Contributors",
        "* @hubot made their first contribution in https://github.com/acme/widgets/pull/7",
        "",
        "**Full Changelog**: https://github.com/acme/widgets/commits/v1.1.0",
    ]
    assert [(each["name"], each["label"], each["size"]) for each in made["assets"]] == [("app.bin", "The app", 3)]
    soon = gh.json("release", "view", "v1.2.0-rc1", "--json", FIELDS)
    assert (soon["name"], soon["body"], soon["isPrerelease"]) == ("Soon", "By hand.\n", True)
    listed = [line.split("\t")[:3] for line in gh.do("release", "list").out.splitlines()]
    assert listed == [["Soon", "Pre-release", "v1.2.0-rc1"], ["v1.1.0", "Latest", "v1.1.0"]]
    assert "v1.1.0" in gh.do("release", "view").out
    assert gh.json("repo", "view", "--json", "latestRelease")["latestRelease"]["tagName"] == "v1.1.0"
    again = gh.run("release", "create", "v1.1.0", "--notes", "x")
    assert again.code == 1
    assert "tag_name already exists" in again.err


def test_a_draft_is_changed_and_published(gh: GhClient, github_world: World) -> None:
    gh.do("release", "create", "v2.0.0", "--draft", "--title", "Two", "--notes", "n", "--target", "feature")
    assert set(refs_of(github_world)) == {"refs/tags/v1.0.0"}
    assert gh.run("api", "repos/acme/widgets/releases/tags/v2.0.0").code == 1
    assert gh.acting_as("reader").do("release", "list").out == ""
    draft = gh.run("release", "view", "v2.0.0", "--json", "isDraft,name,url")  # its tag is asked for in REST as well
    assert (draft.code, draft.json["isDraft"], draft.json["name"]) == (0, True, "Two")
    assert "/releases/tag/untagged-" in draft.json["url"]

    edited = gh.run("release", "edit", "v2.0.0", "--draft=false", "--title", "Second", "--notes", "Better.")

    assert edited.out == "https://github.com/acme/widgets/releases/tag/v2.0.0\n", edited
    home = lookup.repository(github_world, None, "acme", "widgets")
    assert refs_of(github_world)["refs/tags/v2.0.0"] == github_world.git(home).ref("refs/heads/feature")
    shown = gh.json("release", "view", "v2.0.0", "--json", FIELDS)
    assert (shown["name"], shown["body"], shown["isDraft"]) == ("Second", "Better.", False)


def test_files_are_uploaded_replaced_downloaded_and_deleted(gh: GhClient, tmp_path: Path) -> None:
    gh.do("release", "create", "v1.0.0", "--notes", "n", "--verify-tag")
    for name in ("a.txt", "b.bin"):
        (gh.directory / name).write_bytes(b"\x00\xff" + name.encode())
    gh.do("release", "upload", "v1.0.0", "a.txt", "b.bin")
    (gh.directory / "a.txt").write_text("new")
    twice = gh.run("release", "upload", "v1.0.0", "a.txt")
    assert twice.code == 1
    assert "already exists" in twice.err
    gh.do("release", "upload", "v1.0.0", "a.txt", "--clobber")

    gh.do("release", "download", "v1.0.0", "--dir", str(tmp_path / "all"))
    gh.do("release", "download", "--pattern", "*.bin", "--dir", str(tmp_path / "some"))
    gh.do("release", "download", "v1.0.0", "--archive=tar.gz", "--dir", str(tmp_path / "archive"))

    assert {each.name: each.read_bytes() for each in (tmp_path / "all").iterdir()} == {
        "a.txt": b"new",
        "b.bin": b"\x00\xffb.bin",
    }
    assert [each.name for each in (tmp_path / "some").iterdir()] == ["b.bin"]
    (archive,) = (tmp_path / "archive").iterdir()
    assert archive.name == "widgets-1.0.0.tar.gz"
    with tarfile.open(archive) as packed:
        assert "widgets-1.0.0/src/a.py" in packed.getnames()
    gh.do("release", "delete-asset", "v1.0.0", "a.txt", "--yes")
    left = gh.json("release", "view", "v1.0.0", "--json", "assets")["assets"]
    assert [each["name"] for each in left] == ["b.bin"]


def test_a_release_is_deleted_with_its_tag_or_without(gh: GhClient, github_world: World) -> None:
    gh.do("release", "create", "v1.0.0", "--notes", "n")
    gh.do("release", "create", "v2.0.0", "--notes", "n")

    gh.do("release", "delete", "v1.0.0", "--yes")
    gh.do("release", "delete", "v2.0.0", "--yes", "--cleanup-tag")

    assert set(refs_of(github_world)) == {"refs/tags/v1.0.0"}
    assert gh.do("release", "list").out == ""
    assert "release not found" in gh.run("release", "view", "v1.0.0").err


def test_the_latest_release_is_chosen(new_gh: GhClient) -> None:
    new_gh.do("release", "create", "v2.0.0", "--notes", "n")
    new_gh.do("release", "create", "v1.0.1", "--notes", "n", "--latest=false")
    assert new_gh.json("release", "view", "--json", "tagName") == {"tagName": "v2.0.0"}

    new_gh.do("release", "edit", "v1.0.1", "--latest")

    listed = new_gh.json("release", "list", "--json", "tagName,isLatest,isImmutable")
    assert {each["tagName"]: each["isLatest"] for each in listed} == {"v1.0.1": True, "v2.0.0": False}
    refused = new_gh.run("release", "edit", "v1.0.1", "--latest", "--prerelease")
    assert refused.code == 1
    assert "Latest release cannot be draft or prerelease." in refused.err


def test_who_only_reads_releases_nothing(new_gh: GhClient, github_world: World) -> None:
    refused = new_gh.acting_as("reader").run("release", "create", "v3.0.0", "--notes", "n")

    assert refused.code == 1
    assert set(refs_of(github_world)) == {"refs/tags/v1.0.0"}
