import os
from pathlib import Path

import pytest

from ghx_base.documents import (
    Document,
    DocumentError,
    Position,
    parse_document,
    read_document,
)

JSON = Path("a.json")
YAML = Path("a.yaml")


def parse(text: str | bytes, path: Path = YAML) -> Document:
    return parse_document(text.encode() if isinstance(text, str) else text, path=path)


def complaints(text: str | bytes, path: Path = YAML) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        parse(text, path)
    return str(caught.value).splitlines()


def refusal(path: Path | str, **options: int) -> str:
    with pytest.raises(DocumentError) as caught:
        read_document(path, **options)
    assert len(caught.value.problems) == 1
    return str(caught.value)


@pytest.mark.parametrize("name", ["c.json", "c.yaml", "c.yml", "c.JSON", "c.Yaml"])
def test_the_suffix_tells_the_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"a": [1, 2.5, "x", null, true]}')

    document = read_document(path)

    assert document.value == {"a": [1, 2.5, "x", None, True]}
    assert document.format == ("json" if "json" in name.lower() else "yaml")
    assert document.path == path


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')

    assert read_document(path).position("/a") == Position(1, 7)


def test_a_missing_file_is_told_with_the_file_that_was_probably_meant(tmp_path: Path) -> None:
    (tmp_path / "eval.config.yaml").write_text("a: 1")
    path = tmp_path / "eval.config.yml"

    meant = str(tmp_path / "eval.config.yaml")
    assert refusal(path) == f"{path}: there is no such file; did you mean {meant!r}?"


def test_a_missing_file_without_neighbours_is_just_missing(tmp_path: Path) -> None:
    assert refusal(tmp_path / "x.yaml") == f"{tmp_path}/x.yaml: there is no such file"


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "nowhere"

    assert refusal(folder / "x.yaml") == (
        f"{folder}/x.yaml: there is no such file; there is no folder {str(folder)!r} either"
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: this is a folder; name a file in it"


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)

    assert refusal(path) == f"{path}: this is not a regular file"


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text("a: 1")

    def refuse(*_: object, **__: object) -> None:  # the superuser, who often runs tests, may read everything
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    assert refusal(path) == f"{path}: no permission to read this file"


def test_other_troubles_of_the_disk_are_told_in_its_own_words(tmp_path: Path) -> None:
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)

    assert refusal(loop) == f"{loop}: the file cannot be read: Too many levels of symbolic links"


def test_a_name_that_no_file_can_have_is_told() -> None:
    assert refusal("a\0b.yaml") == "a\\x00b.yaml: this cannot be the name of a file"


def test_a_large_file_is_refused_without_being_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(50_000_000)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the file was opened")

    monkeypatch.setattr(Path, "open", refuse)

    assert refusal(path) == f"{path}: the file has 50.0 MB, more than the 5.0 MB allowed; split it"


def test_the_limit_is_the_callers(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("[1,2,3]")

    assert read_document(path, max_bytes=7).value == [1, 2, 3]
    assert refusal(path, max_bytes=6) == f"{path}: the file has 7 bytes, more than the 6 bytes allowed; split it"


def test_a_file_that_grows_while_it_is_read_is_read_whole_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.json"
    path.write_text("[1]")
    before = path.stat()
    path.write_text("[1, 2, 3, 4, 5]")
    monkeypatch.setattr(Path, "stat", lambda _: before)

    assert read_document(path, max_bytes=15).value == [1, 2, 3, 4, 5]
    assert "allowed" in refusal(path, max_bytes=14)
    assert "allowed" in refusal(path, max_bytes=3)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("a = 1")

    assert refusal(path) == f"{path}: a file name must end in one of '.json', '.yaml', '.yml'"


@pytest.mark.parametrize("path", [JSON, YAML])
@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff"])
def test_an_empty_file_is_empty_in_any_format(text: str, path: Path) -> None:
    assert complaints(text, path) == [f"{path}: the file is empty"]


@pytest.mark.parametrize("path", [JSON, YAML])
def test_what_is_not_utf8_is_told_with_its_byte(path: Path) -> None:
    assert complaints("[é,\n é".encode() + b"\xff]", path) == [
        f"{path}:2:3: this is not UTF-8: byte 0xff at offset 8; save it as UTF-8"
    ]
    assert complaints("{}".encode("utf-16"), path) == [
        f"{path}:1:1: this is not UTF-8: byte 0xff at offset 0; it looks like UTF-16; save it as UTF-8"
    ]
