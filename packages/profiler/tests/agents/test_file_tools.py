"""The tools for files: what they do in their folder, and that they never leave it."""

import os
from pathlib import Path
from typing import Any

import pytest

from ghx_profiler.agents.tools.file_tools import FileTools
from ghx_profiler.recorder import TraceRecorder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("s3cret")
    return folder


def call(work: Path, name: str, **arguments: Any) -> tuple[str, bool]:
    answer = FileTools(work, TraceRecorder()).call(name, arguments)
    return answer.text, answer.failed


def test_a_file_is_written_with_its_folders_read_and_edited(work: Path) -> None:
    assert call(work, "write_file", path="a/b/notes.md", content="one\r\ntwo\nthree\n") == ("15 bytes written", False)
    assert call(work, "read_file", path="a/b/notes.md") == ("one\r\ntwo\nthree\n", False)
    assert call(work, "read_file", path="a/b/notes.md", first_line=2, line_count=1) == ("two\n(1 more lines)\n", False)
    assert call(work, "edit_file", path=str(work / "a/b/notes.md"), old="three", new="3") == ("edited", False)
    assert (work / "a/b/notes.md").read_bytes() == b"one\r\ntwo\n3\n"
    assert call(work, "write_file", path="a/b/notes.md", content="x") == ("1 bytes written", False)
    assert (work / "a/b/notes.md").read_text() == "x"


def test_a_call_is_in_the_trace_with_its_failure(work: Path) -> None:
    recorder = TraceRecorder()
    tools = FileTools(work, recorder)
    tools.call("write_file", '{"path": "a", "content": "hello"}')
    tools.call("read_file", {"path": "b"})

    written, read = recorder.trace().tool_calls
    assert (written.name, written.success, written.output) == ("write_file", True, "5 bytes written")
    assert (read.name, read.success, read.error) == ("read_file", False, "No such file or directory")


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "link.txt", "out/secret.txt", "a/../../secret.txt", "", ".", "pipe", "sub"]
)
@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file"])
def test_what_is_not_a_file_of_the_folder_is_refused(work: Path, name: str, path: str) -> None:
    (work / "link.txt").symlink_to("../secret.txt")
    (work / "out").symlink_to("..")
    (work / "sub").mkdir()
    os.mkfifo(work / "pipe")
    more = {"read_file": {}, "write_file": {"content": "x"}, "edit_file": {"old": "s3cret", "new": "x"}}[name]

    text, failed = call(work, name, path=path, **more)

    assert failed
    assert "s3cret" not in text
    assert (work.parent / "secret.txt").read_text() == "s3cret"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {"path": "binary"}, "the file is no text"),
        ("read_file", {"path": "large"}, "the file has more than 4,000,000 bytes"),
        (
            "edit_file",
            {"path": "text", "old": "x", "new": "y"},
            "`old` must occur once in the file, and occurs 2 times",
        ),
        ("edit_file", {"path": "text", "old": "", "new": "y"}, "`old` must occur once in the file, and occurs 0 times"),
        ("read_file", {"file": "text"}, "the arguments of read_file are wrong: path: Field required; file: "),
        ("read_file", {"path": "text", "first_line": 0}, "the arguments of read_file are wrong: first_line: "),
    ],
)
def test_what_a_model_got_wrong_is_told_to_it(work: Path, name: str, arguments: dict[str, Any], words: str) -> None:
    (work / "binary").write_bytes(b"\xff\xfe\x00")
    (work / "large").write_bytes(bytes(4_000_001))
    (work / "text").write_text("x and x")

    text, failed = call(work, name, **arguments)

    assert failed
    assert text.startswith(words)
    assert (work / "text").read_text() == "x and x"


def test_the_schemas_hold_no_more_than_a_model_needs() -> None:
    read = FileTools(Path(), TraceRecorder()).list_tools()[0]

    assert read.input_schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "first_line": {"type": "integer", "exclusiveMinimum": 0, "default": 1},
            "line_count": {"type": "integer", "exclusiveMinimum": 0, "default": 2000},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
