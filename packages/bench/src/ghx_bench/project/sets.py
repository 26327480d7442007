"""Named sets of scenarios, and the file that has them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ghx_base.documents import (
    Complaint,
    Document,
    DocumentError,
    Problem,
    problems_of,
    read_document,
    validate_document,
)
from ghx_base.problems import shortened
from ghx_bench.project.folders import SETS_NAME, SUFFIXES, PathLike
from ghx_profiler.scenario import ScenarioSets

SCHEMA_KEY = "$schema"
"""Names the JSON Schema of the file, for editors; every other key is a set."""


def load_scenario_sets(path: PathLike) -> ScenarioSets:
    """Read the sets from a file, or from the `scenario-sets` file of a folder; raise `DocumentError` if it is wrong."""
    path = Path(path)
    return read_sets(read_document(_require_file(path) if path.is_dir() else path))


def sets_file(folder: Path) -> Path | None:
    """Return the file with the sets of a folder's scenarios, if it has one."""
    files = (folder / f"{SETS_NAME}{suffix}" for suffix in SUFFIXES)
    return next((file for file in files if file.is_file()), None)


def read_sets(document: Document) -> ScenarioSets:
    """Make sets of a document."""
    value = document.value
    if isinstance(value, dict):
        value = {name: ids for name, ids in value.items() if name != SCHEMA_KEY}
    sets = validate_document(replace(document, value=value), ScenarioSets)
    problems = problems_of(document, _repetitions(sets))
    if problems:
        raise DocumentError(problems)
    return sets


def _repetitions(sets: ScenarioSets) -> Iterator[Complaint]:
    for name, ids in sets.root.items():
        unique = set[str]()
        for index, each in enumerate(ids):
            if each in unique:
                reason = f"scenario {shortened(each)} is given twice in set {shortened(name)}"
                yield Complaint(tokens=(name, index), reason=reason, suggestion="name it once")
            unique.add(each)


def _require_file(folder: Path) -> Path:
    if path := sets_file(folder):
        return path
    raise DocumentError(
        [
            Problem(
                file=str(folder),
                reason=f"there is no {SETS_NAME}.json in this folder",
                suggestion='write one: {"default": ["pr-review-001"]}',
            )
        ]
    )
