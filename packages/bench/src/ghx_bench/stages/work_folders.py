"""The folder that an agent worked in, copied to be kept: as far as it is small, and leads nowhere else."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from ghx_base.files.folder_files import leads_out
from ghx_base.problems import plural

MOST_BYTES = 20 << 20
MOST_FILES = 5_000
"""What is kept of a folder; agents install whole distributions into theirs."""

_MOST_NAMED = 20


def copy_work(source: Path, target: Path, *, redact: Callable[[str], str]) -> tuple[str, ...]:
    """Copy a folder without secrets into a new one; return what was left out and why, in words.

    What is too large is left out as a whole: half of a checkout would look like something that the agent did.
    """
    target.mkdir()
    found = list(_walk(source))
    sizes = [each.lstat().st_size for each in found]
    if len(found) > MOST_FILES or sum(sizes) > MOST_BYTES:
        size = f"{plural(len(found), 'file')}, {sum(sizes) / (1 << 20):,.0f} MiB"
        limit = f"up to {MOST_FILES:,} files and {MOST_BYTES >> 20} MiB are kept"
        return (f"the folder that the agent worked in: {size}, and {limit}",)
    left_out: list[str] = []
    for path in found:
        name = path.relative_to(source).as_posix()
        if reason := _copy(path, target / name, name, redact):
            left_out.append(f"{name.encode(errors='replace').decode()}: {reason}")
    more = (f"and {len(left_out) - _MOST_NAMED} more",) if len(left_out) > _MOST_NAMED else ()
    return (*left_out[:_MOST_NAMED], *more)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield everything in a folder but folders that are not empty, without following links."""
    for path, folders, files in os.walk(folder):
        links = [name for name in folders if Path(path, name).is_symlink()]
        yield from (Path(path, name) for name in (*files, *links))
        if not folders and not files and Path(path) != folder:
            yield Path(path)


def _copy(path: Path, place: Path, name: str, redact: Callable[[str], str]) -> str | None:
    """Copy what is at a path; return why it is left out, if it is."""
    if reason := _why_left_out(path, name):
        return reason
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            place.symlink_to(path.readlink())
        elif path.is_dir():
            place.mkdir()
        else:
            # What is no text stays as it is, byte for byte, wherever it stands in one.
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            place.write_bytes(redact(text).encode("utf-8", "surrogateescape"))
            shutil.copymode(path, place)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _why_left_out(path: Path, name: str) -> str | None:
    if any("\udc80" <= character <= "\udcff" for character in name):
        return "its name is no text"
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "a link that leads out of the folder" if leads_out(name, str(path.readlink())) else None
    return None if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else "no file"
