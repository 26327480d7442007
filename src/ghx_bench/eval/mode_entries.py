"""Modes as a configuration lists them: by name, described on the spot, or in a file of their own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from ghx_bench.documents import (
    DocumentError,
    RefusedError,
    explain,
    problem,
    read_document,
    validate_document,
)
from ghx_bench.eval.mode_definitions import ModeDefinition

FILE_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


def take_modes_apart(values: Mapping[str, object]) -> dict[str, object]:
    """Return a configuration whose `modes` are names; what stood there is in `mode_definitions` and `mode_files`."""
    entries = values.get("modes")
    if not isinstance(entries, list | tuple):
        return dict(values)
    names: list[object] = []
    described: list[object] = []
    files: list[object] = []
    for index, entry in enumerate(cast("Sequence[object]", entries)):
        match entry:
            case dict() | ModeDefinition():
                definition = _definition(cast("object", entry), index)
                names.append(definition.name)
                described.append(definition)
            case str() if Path(entry).suffix in FILE_SUFFIXES:
                names.append(Path(entry).stem)
                files.append(entry)
            case _:
                names.append(entry)
    return {
        **values,
        "modes": names,
        **_longer(values, "mode_definitions", described),
        **_longer(values, "mode_files", files),
    }


def load_mode_definition(path: Path) -> ModeDefinition:
    """Read a mode from a file of its own; raise `DocumentError` with everything wrong with it."""
    document = read_document(path)
    definition = validate_document(document, ModeDefinition)
    if definition.name != path.stem:
        said = f"the file is called {path.name!r} and the mode {definition.name!r}"
        raise DocumentError([problem(document, "/name", said, "call both the same")])
    return definition.described_in(path)


def _longer(values: Mapping[str, object], key: str, more: list[object]) -> dict[str, object]:
    given = values.get(key, ())
    if not more or not isinstance(given, list | tuple):
        return {}
    return {key: [*cast("Sequence[object]", given), *more]}


def _definition(entry: object, index: int) -> ModeDefinition:
    try:
        return ModeDefinition.model_validate(entry)
    except ValidationError as error:
        first = explain(error, ModeDefinition, entry)[0]
        raise RefusedError(
            first.reason, at=("modes", index, *first.tokens), suggestion=first.suggestion, at_key=first.at_key
        ) from None
