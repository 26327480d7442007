"""Worlds that are put away as files: what comes back is what there was, without tokens and secrets."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given, settings
from random_commands import Step, base_world, perform, steps

from ghx_base.files.scratch import ScratchFolder
from ghx_twin.archive import SecretInWorldError, load_world, save_world
from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.issues import comments, labels
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.difference import diff
from ghx_twin.queries import lookup
from ghx_twin.seed.exporting import export_seed
from ghx_twin.state.connection import NotAWorldError
from ghx_twin.state.records import Comment, Token
from ghx_twin.viewer import Viewer
from ghx_twin.world import DATABASE, World

SECRET = "sk-abcdefghijklmnop"


def redact(text: str) -> str:
    return text.replace(SECRET, "***")


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with base_world() as world:
        yield world


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two empty folders: for the base, and for what was forked from it."""
    for name in ("base", "fork"):
        (tmp_path / name).mkdir()
    return tmp_path / "base", tmp_path / "fork"


@settings(max_examples=25)
@given(wanted=steps(), later=steps(most=10))
@pytest.mark.slow
def test_whatever_happened_in_a_fork_comes_back_with_who_did_it(
    base: World, wanted: list[Step], later: list[Step]
) -> None:
    with ScratchFolder() as folder, base.fork() as fork:
        first, second = folder / "base", folder / "fork"
        first.mkdir()
        second.mkdir()
        perform(fork, wanted)
        save_world(base, first)
        save_world(fork, second, base=base)
        with load_world(first) as began, load_world(second, base=first) as again:
            assert diff(began, again) == diff(base, fork)
            assert export_seed(again) == export_seed(fork)
            # And it goes on as the world itself would have.
            assert perform(again, later) == perform(fork, later)
            assert diff(fork, again) == ()


def test_a_reopened_world_is_a_copy_and_its_files_stay(base: World, folders: tuple[Path, Path]) -> None:
    first, second = folders
    save_world(base, first)
    with base.fork() as fork:
        save_world(fork, second, base=base)
    before = {path: path.read_bytes() for path in second.rglob("*") if path.is_file()}

    with load_world(second, base=first) as again, again.acting(None) as act:
        widgets = lookup.repository(again, None, "acme", "widgets")
        issues.create(act, widgets, title="made in the copy")
        contents.put(act, widgets, path="new.txt", content=b"new", message="New")

    assert {path: path.read_bytes() for path in second.rglob("*") if path.is_file()} == before


def test_a_fork_is_put_away_without_the_objects_of_its_base(base: World, folders: tuple[Path, Path]) -> None:
    first, second = folders
    save_world(base, first)
    with base.fork() as fork:
        with fork.acting(None) as act:
            widgets = lookup.repository(fork, None, "acme", "widgets")
            contents.put(act, widgets, path="new.txt", content=b"new", message="New")
        save_world(fork, second, base=base)

    kept, added = ({path.name for path in each.glob("git/*/objects/??/*")} for each in folders)
    assert added
    assert not kept & added


def test_tokens_are_not_put_away(base: World, folders: tuple[Path, Path]) -> None:
    first, second = folders
    token = "ghp_" + "a" * 36
    with base.fork() as parent:
        with parent.acting(None) as act:
            users.create_token(act, lookup.user(parent, "ann"), token=token)
        with parent.fork() as fork:
            with fork.acting(Viewer(user=lookup.user(fork, "bob"))) as act:
                issues.create(act, lookup.repository(fork, None, "acme", "widgets"), title="by bob")
            save_world(parent, first)
            save_world(fork, second, base=parent)

    for folder in folders:
        assert token.encode() not in (folder / DATABASE).read_bytes()
    with load_world(first) as began, load_world(second, base=first) as again:
        assert again.database.all(Token) == []
        # What both remember of the token is still the same, so that only what came later is a difference.
        assert {each.by for each in diff(began, again)} == {"bob"}


def test_secrets_are_replaced_in_texts_and_in_the_memory_of_changes(base: World, folders: tuple[Path, Path]) -> None:
    first, second = folders
    with base.fork() as fork:
        with fork.acting(None) as act:
            issue = lookup.issue_or_pull(fork, lookup.repository(fork, None, "acme", "widgets"), 1)
            comments.create(act, issue, f"my key is {SECRET}, keep it")
        save_world(base, first)
        save_world(fork, second, base=base, redact=redact)

    assert SECRET.encode() not in (second / DATABASE).read_bytes()
    with load_world(second, base=first) as again:
        assert again.database.all(Comment)[-1].body == "my key is ***, keep it"


@pytest.mark.parametrize("where", ["file", "message", "branch", "labels"])
def test_a_secret_that_cannot_be_replaced_keeps_a_world_from_being_put_away(
    where: str, base: World, tmp_path: Path
) -> None:
    with base.fork() as fork:
        widgets = lookup.repository(fork, None, "acme", "widgets")
        with fork.acting(None) as act:
            match where:
                case "file":
                    contents.put(act, widgets, path="key", content=f"x {SECRET}".encode(), message="Key")
                case "message":
                    contents.put(act, widgets, path="key", content=b"x", message=f"With {SECRET}")
                case "branch":
                    refs.create(
                        act, widgets, ref=f"refs/heads/{SECRET}", sha=fork.git(widgets).ref("refs/heads/main") or ""
                    )
                case _:
                    labels.create(act, widgets, name=SECRET)
                    labels.create(act, widgets, name="***")

        with pytest.raises(SecretInWorldError):
            save_world(fork, tmp_path, base=base, redact=redact)


def test_repositories_that_were_made_and_deleted_in_a_fork_come_back_as_they_are(
    base: World, folders: tuple[Path, Path]
) -> None:
    first, second = folders
    save_world(base, first)
    with base.fork() as fork:
        with fork.acting(None) as act:
            widgets, bob = lookup.repository(fork, None, "acme", "widgets"), lookup.user(fork, "bob")
            contents.put(act, widgets, path="new.txt", content=b"new", message="New")
            repositories.fork(act, widgets, owner=bob)
            repositories.delete(act, widgets)
        expected = export_seed(fork)
        save_world(fork, second, base=base)

    with load_world(second, base=first) as again:
        assert export_seed(again) == expected


def test_what_is_no_world_of_this_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAWorldError, match="is not there"):
        load_world(tmp_path)
    with World.create() as world:
        save_world(world, tmp_path)
    place = tmp_path / DATABASE
    content = place.read_bytes()
    place.write_bytes(content[:60] + b"\0\0\0\7" + content[64:])
    with pytest.raises(NotAWorldError, match="another version"):
        load_world(tmp_path)
    place.write_bytes(b"half")
    with pytest.raises(NotAWorldError, match="not the database of a world"):
        load_world(tmp_path)
