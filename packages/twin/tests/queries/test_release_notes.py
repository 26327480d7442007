"""Notes that are generated from merged pull requests."""

from collections.abc import Generator

import pytest
from seeds import world_of

from ghx_twin.commands import releases
from ghx_twin.commands.issues import add_labels
from ghx_twin.commands.pulls import merges, pulls
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.queries import lookup
from ghx_twin.queries.repositories.release_notes import NotesRequest, generate_notes
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

PAGE = "https://github.com/o/x"
SEED = """
users: [{login: o}, {login: ann}, {login: bob}, {login: helper, type: Bot}]
repositories:
  - name: o/x
    collaborators: {ann: write, bob: write, helper: write}
    files: {a.txt: a}
    labels: [{name: bug}, {name: Docs}, {name: skip}]
"""
CATEGORIES = """
changelog:
  exclude: {labels: [SKIP], authors: [helper]}
  categories:
    - {title: Fixes, labels: [bug], exclude: {authors: [bob]}}
    - {title: Words, labels: [docs]}
"""


@pytest.fixture
def world() -> Generator[World]:
    with world_of(SEED) as made:
        yield made


def home_of(world: World) -> Repository:
    return lookup.repository(world, None, "o", "x")


def merge_one(world: World, title: str, author: str = "ann", labels: tuple[str, ...] = ()) -> int:
    """Merge a pull request of one file, and return its number."""
    home, name = home_of(world), title.lower().replace(" ", "-")
    with world.acting(Viewer(user=lookup.user(world, author))) as act:
        tip = world.git(home).ref("refs/heads/main")
        assert tip is not None
        refs.create(act, home, ref=f"refs/heads/{name}", sha=tip)
        contents.put(act, home, path=f"{name}.txt", content=title.encode(), message=title, branch=name)
        pull = pulls.create(act, home, title=title, head=name, base="main")
        issue = lookup.issue_of(world, pull)
        add_labels(act, issue, [lookup.label(world, home, label) for label in labels])
        merges.merge(act, pull)
    return issue.number


def notes(world: World, tag: str, **request: str) -> list[str]:
    wanted = NotesRequest(tag_name=tag, html="https://github.com", **request)
    return generate_notes(world, home_of(world), wanted).splitlines()


def release(world: World, tag: str) -> None:
    with world.acting(None) as act:
        releases.create(act, home_of(world), tag_name=tag)


def configure(world: World, text: str, path: str = ".github/release.yml") -> None:
    with world.acting(None) as act:
        contents.put(act, home_of(world), path=path, content=text.encode(), message="Configure")


def test_notes_list_what_was_merged_since_the_release_before(world: World) -> None:
    first = merge_one(world, "One")
    release(world, "v1")
    second, third = merge_one(world, "Two"), merge_one(world, "Three", "bob")

    assert notes(world, "v1") == [
        "## What's Changed", f"* One by @ann in {PAGE}/pull/{first}", "",
        "## New Contributors", f"* @ann made their first contribution in {PAGE}/pull/{first}", "",
        f"**Full Changelog**: {PAGE}/commits/v1",
    ]  # fmt: skip
    assert notes(world, "v2") == [
        "## What's Changed", f"* Two by @ann in {PAGE}/pull/{second}", f"* Three by @bob in {PAGE}/pull/{third}", "",
        "## New Contributors", f"* @bob made their first contribution in {PAGE}/pull/{third}", "",
        f"**Full Changelog**: {PAGE}/compare/v1...v2",
    ]  # fmt: skip
    release(world, "v2")
    assert notes(world, "v3") == [f"**Full Changelog**: {PAGE}/compare/v2...v3"]
    again = merge_one(world, "Four")
    assert notes(world, "v3") == [
        "## What's Changed", f"* Four by @ann in {PAGE}/pull/{again}", "", "",
        f"**Full Changelog**: {PAGE}/compare/v2...v3",
    ]  # fmt: skip
    assert len([line for line in notes(world, "v3", previous_tag_name="v1") if line.startswith("* ")]) == 4


@pytest.mark.parametrize("path", [".github/release.yml", ".github/release.yaml", "notes.yml"])
def test_the_file_in_the_repository_groups_and_leaves_out(world: World, path: str) -> None:
    configure(world, CATEGORIES, path)
    fix, words = merge_one(world, "Fix", labels=("bug", "Docs")), merge_one(world, "Words", "bob", ("bug", "Docs"))
    for title, author, labels in (("Other", "ann", ()), ("Skipped", "ann", ("skip",)), ("Bump", "helper", ("bug",))):
        merge_one(world, title, author, labels)

    chosen = {"configuration_file_path": path} if path == "notes.yml" else {}

    assert notes(world, "v1", **chosen) == [
        f"<!-- Release notes generated using configuration in {path} at main -->", "",
        "## What's Changed",
        "### Fixes", f"* Fix by @ann in {PAGE}/pull/{fix}",
        "### Words", f"* Words by @bob in {PAGE}/pull/{words}", "",
        "## New Contributors",
        f"* @ann made their first contribution in {PAGE}/pull/{fix}",
        f"* @bob made their first contribution in {PAGE}/pull/{words}", "",
        f"**Full Changelog**: {PAGE}/commits/v1",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["changelog: [", "[]", "changelog: {categories: x, exclude: 3}"])
def test_a_file_that_makes_no_sense_is_as_good_as_none(world: World, text: str) -> None:
    configure(world, text)
    number = merge_one(world, "Bump", "helper")

    assert f"* Bump by @helper[bot] in {PAGE}/pull/{number}" in notes(world, "v1")


@pytest.mark.parametrize("request_", [{"previous_tag_name": "none"}, {"target_commitish": "none"}])
def test_a_range_that_is_not_there_is_refused(world: World, request_: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        notes(world, "v1", **request_)

    assert refused.value.status == 400
