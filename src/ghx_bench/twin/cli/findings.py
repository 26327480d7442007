"""What a command asked of a world and changed in it, written to files."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ghx_bench._base.errors import FlagError
from ghx_bench.twin.difference import diff as differences
from ghx_bench.twin.world import Snapshot, World


def require_writable(*, journal: Path | None, diff: Path | None) -> None:
    """Refuse files that cannot be written, before anything is done that they should tell of."""
    for flag, path in (("--journal", journal), ("--diff", diff)):
        if path is None or (path.exists() and not path.is_file() and not path.is_dir()):
            continue  # whoever reads a pipe would see its end
        is_new = not path.exists()
        with _told(flag, path):
            path.open("ab").close()
            if is_new:
                path.unlink()


def write_findings(world: World, before: Snapshot, *, journal: Path | None, diff: Path | None) -> None:
    """Write the journal as lines of JSON and the difference as one array, where files were named."""
    if journal is not None:
        _write("--journal", journal, "".join(f"{json.dumps(asdict(entry))}\n" for entry in world.journal))
    if diff is not None:
        found = [asdict(difference) for difference in differences(before, world)]
        _write("--diff", diff, json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def _write(flag: str, path: Path, text: str) -> None:
    with _told(flag, path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def _told(flag: str, path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise FlagError(flag, f"{path} cannot be written: {error.strerror or error}") from error
