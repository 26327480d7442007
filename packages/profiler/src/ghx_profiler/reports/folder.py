"""The folder of a report: what is written there, and what an earlier report left that this one does not have."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

from ghx_profiler.reports.errors import unwritable


def write_file(path: Path, content: str | bytes) -> None:
    """Write one file of a report, or raise a one-line error; a report can be generated again, so nothing is synced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    except OSError as error:
        raise unwritable(path, error) from error


Format = Literal["html", "markdown", "data", "parquet"]
FORMATS: tuple[Format, ...] = ("html", "markdown", "data")
"""The default formats; `data` has a Parquet file too, where that can be written."""
LIST = "files.txt"
"""Names every file that reports have written here, one a line: what may be removed when a report is made again."""
_OWN: dict[Format, re.Pattern[str]] = {
    "html": re.compile(r"index\.html|(?:sessions|side-by-side)/(?:[^/]+/)*[^/]+\.html"),
    "markdown": re.compile(r"report\.md|analysis\.md|charts/[^/]+\.svg"),
    "data": re.compile(r"data/(?:results\.csv|results\.json|summary\.json|rows\.parquet)"),
    "parquet": re.compile(r"data/rows\.parquet"),
}


class ReportFolder:
    """Writes the files of one report; in the end, what earlier reports wrote in its formats and it did not is removed.

    The list of files is kept while writing, so that a report which fails, or is killed, leaves none that no later
    report would know for its own. Files that no report wrote are never removed.
    """

    def __init__(self, path: Path, formats: Collection[Format]) -> None:
        self.path = path
        self._formats = formats
        self._earlier: list[str] = []
        self._written: dict[str, None] = {}
        self._list: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._list is not None:
            self._list.close()
        if kind is None:
            self._clear()

    def write(self, name: str, content: str | bytes) -> None:
        """Write one file, by its path below the folder."""
        self.claim(name)
        write_file(self.path / name, content)

    def claim(self, name: str) -> Path:
        """Put a file on the list that is about to be written, and return where it lies."""
        if name not in self._written:
            self._written[name] = None
            self._note(name)
        return self.path / name

    def _note(self, name: str) -> None:
        try:
            if self._list is None:
                self.path.mkdir(parents=True, exist_ok=True)
                self._earlier = list(self._list_files())
                # Line by line: a report that is killed has named what it wrote.
                self._list = (self.path / LIST).open("a", encoding="utf-8", buffering=1)
            self._list.write(f"{name}\n")
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _list_files(self) -> Iterator[str]:
        try:
            yield from (self.path / LIST).read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return

    def _clear(self) -> None:
        written = dict.fromkeys(self._written)
        for name in dict.fromkeys(self._earlier):
            if name in written or not any(pattern.fullmatch(name) for pattern in _OWN.values()):
                continue
            if any(_OWN[each].fullmatch(name) for each in self._formats):
                self._remove(name)
            elif (self.path / name).is_file():
                written[name] = None
        write_file(self.path / LIST, "".join(f"{name}\n" for name in sorted(written)))

    def _remove(self, name: str) -> None:
        """Remove a file of an earlier report, and folders that are empty without it; nothing outside is touched."""
        path, home = self.path / name, self.path.resolve()
        if ".." in path.relative_to(self.path).parts or not path.parent.resolve().is_relative_to(home):
            return
        try:
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder == self.path or next(folder.iterdir(), None) is not None:
                    return
                folder.rmdir()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise unwritable(path, error) from error
