"""Tools for the files of a session's workspace: for agents that have no shell, and for models that write better so."""

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from pydantic import BaseModel, ConfigDict, JsonValue, PositiveInt, ValidationError

from ghx_profiler.agents.tools.toolset import Tool, ToolAnswer, value_of
from ghx_profiler.recorder import TraceRecorder

_MOST_BYTES = 4_000_000


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str


class _ReadFile(_Arguments):
    """Return the text of a file, or some of its lines; the path is relative to the working directory."""

    first_line: PositiveInt = 1
    line_count: PositiveInt = 2000


class _WriteFile(_Arguments):
    """Write a file, and the folders that lead to it; its earlier content is lost."""

    content: str


class _EditFile(_Arguments):
    """Replace a text that occurs exactly once in a file by another."""

    old: str
    new: str


class _RefusedError(Exception):
    """A call cannot be done; the message is for the model."""


class FileTools:
    """Reads and changes files of one folder, and none outside of it, whatever links there are."""

    def __init__(self, directory: Path, recorder: TraceRecorder) -> None:
        self._directory, self._recorder = directory, recorder
        self._tools: Mapping[str, tuple[type[_Arguments], Callable[[Any], str]]] = {
            "read_file": (_ReadFile, self._read),
            "write_file": (_WriteFile, self._write),
            "edit_file": (_EditFile, self._edit),
        }

    def list_tools(self) -> tuple[Tool, ...]:
        """Return the tools as definitions for a model."""
        return tuple(_describe(name, arguments) for name, (arguments, _) in self._tools.items())

    def call(self, name: str, arguments: Mapping[str, JsonValue] | str) -> ToolAnswer:
        """Call one of the tools; a mistake of the model is a failed answer with a message."""
        values = value_of(arguments) if isinstance(arguments, str) else dict(arguments)
        model, do = self._tools[name]
        with self._recorder.timed_tool_call(name, values) as call:
            try:
                call.output = text = do(model.model_validate(values))
            except ValidationError as error:
                wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
                call.output = call.error = text = f"the arguments of {name} are wrong: {wrong}"
            except (OSError, _RefusedError) as error:
                call.output = call.error = text = getattr(error, "strerror", None) or str(error)
        return ToolAnswer(text=text, value=value_of(text), failed=call.error is not None)

    def _read(self, request: _ReadFile) -> str:
        with self._open(request.path, os.O_RDONLY) as file:
            lines = _read_text(file).splitlines(keepends=True)
        first = request.first_line - 1
        page, left = lines[first : first + request.line_count], len(lines) - first - request.line_count
        return "".join(page) + (f"({left} more lines)\n" if left > 0 else "")

    def _write(self, request: _WriteFile) -> str:
        with self._open(request.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            return f"{file.write(request.content.encode(errors='replace'))} bytes written"

    def _edit(self, request: _EditFile) -> str:
        with self._open(request.path, os.O_RDWR) as file:
            text = _read_text(file)
            times = text.count(request.old) if request.old else 0
            if times != 1:
                raise _RefusedError(f"`old` must occur once in the file, and occurs {times} times")
            file.seek(0)
            file.truncate(file.write(text.replace(request.old, request.new).encode(errors="replace")))
        return "edited"

    def _open(self, path: str, flags: int) -> BinaryIO:
        """Open a file, folder by folder and without following links: one made in this very moment could lead out."""
        inside = PurePosixPath(path)
        with suppress(ValueError):
            inside = inside.relative_to(self._directory)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts:
            raise _RefusedError(f"{path!r} is not the path of a file in the working directory")
        to_folder = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        with ExitStack() as folders:
            folder = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
            folders.callback(os.close, folder)
            for name in inside.parts[:-1]:
                if flags & os.O_CREAT:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                folder = os.open(name, to_folder, dir_fd=folder)
                folders.callback(os.close, folder)
            # Without waiting: the other end of a named pipe may never be opened.
            number = os.open(inside.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise _RefusedError(f"{path!r} is not a file")
        return os.fdopen(number, "r+b" if flags & os.O_RDWR else "wb" if flags else "rb")


def _read_text(file: BinaryIO) -> str:
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise _RefusedError(f"the file has more than {_MOST_BYTES:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise _RefusedError("the file is no text") from None


def _describe(name: str, arguments: type[_Arguments]) -> Tool:
    schema = cast("dict[str, JsonValue]", arguments.model_json_schema())
    # Titles repeat the names, and would be paid for in every request.
    for each in (schema, *cast("dict[str, dict[str, JsonValue]]", schema["properties"]).values()):
        each.pop("title")
    return Tool(name=name, description=str(schema.pop("description")), input_schema=schema)
