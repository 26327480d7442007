"""What a command asked of a world and changed in it, written to files."""

import json
from dataclasses import asdict
from pathlib import Path

from ghx_bench._base.errors import FlagError
from ghx_bench.twin.difference import diff as differences
from ghx_bench.twin.world import Snapshot, World


def write_findings(world: World, before: Snapshot, *, journal: Path | None, diff: Path | None) -> None:
    """Write the journal as lines of JSON and the difference as one array, where files were named."""
    if journal is not None:
        _write("--journal", journal, "".join(f"{json.dumps(asdict(entry))}\n" for entry in world.journal))
    if diff is not None:
        found = [asdict(difference) for difference in differences(before, world)]
        _write("--diff", diff, json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def _write(flag: str, path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FlagError(flag, f"{path} cannot be written: {error.strerror or error}") from error
