"""Folders in one file: what goes in comes out, and nothing that comes out leads elsewhere."""

import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_base.files.folder_files import BadFolderFileError, leads_out, pack_folder, read_member, unpack_folder


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return what is in a folder: the modes of its files, links and folders, and what they hold."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        held = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder).as_posix()] = (stat.S_IFMT(mode) | mode & 0o100, held)
    return found


def test_a_folder_comes_out_as_it_went_in(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep/er").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "deep/er/file").write_bytes(b"\0\xff")
    (source / "a \\ b: ü").write_text("odd")
    (source / "tool").write_text("#!/bin/sh\n")
    (source / "tool").chmod(0o700)
    (source / "deep/link").symlink_to("../tool")

    pack_folder(source, tmp_path / "file.zip")
    pack_folder(source, tmp_path / "again.zip")
    unpack_folder(tmp_path / "file.zip", tmp_path / "copy")

    assert contents(tmp_path / "copy") == contents(source)
    assert (tmp_path / "file.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()
    assert read_member(tmp_path / "file.zip", "deep/er/file") == b"\0\xff"


def test_a_folder_that_cannot_be_read_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "place.zip").write_text("old")

    with pytest.raises(FileNotFoundError):
        pack_folder(tmp_path / "nowhere", tmp_path / "place.zip")

    assert (tmp_path / "place.zip").read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["place.zip"]


def _link(name: str, target: str) -> tuple[zipfile.ZipInfo, str]:
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return entry, target


@pytest.mark.parametrize(
    "entries",
    [
        [("../evil", "x")],
        [("/evil", "x")],
        [("a/../../evil", "x")],
        [("a//evil", "x")],
        [_link("evil", "/etc")],
        [_link("a/evil", "../..")],
        # Each of these stays inside by its own words, and both together do not.
        [_link("here", "."), _link("up", "here/.."), ("up/evil", "x")],
    ],
)
def test_what_would_lead_out_of_the_folder_is_not_written(
    entries: list[tuple[zipfile.ZipInfo | str, str]], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "file.zip", "w") as archive:
        for name, text in entries:
            archive.writestr(name, text)
    (tmp_path / "inside").mkdir()

    with pytest.raises(BadFolderFileError):
        unpack_folder(tmp_path / "file.zip", tmp_path / "inside/folder")

    assert not [path for path in tmp_path.rglob("evil") if not path.is_relative_to(tmp_path / "inside/folder/up")]


@pytest.mark.parametrize("content", [b"", b"half", b"PK\x05\x06"])
def test_what_is_no_file_of_ours_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file.zip").write_bytes(content)

    with pytest.raises(BadFolderFileError):
        unpack_folder(tmp_path / "file.zip", tmp_path / "folder")
    with pytest.raises(BadFolderFileError):
        read_member(tmp_path / "file.zip", "x")


@given(
    name=st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4),
    steps=st.lists(st.sampled_from(["..", "a", "."])),
)
def test_a_link_leads_out_exactly_if_it_climbs_above_its_folder(name: list[str], steps: list[str]) -> None:
    lowest = level = len(name) - 1
    for step in steps:
        level += {"..": -1, "a": 1, ".": 0}[step]
        lowest = min(lowest, level)

    assert leads_out("/".join(name), "/".join(steps)) is (lowest < 0)
