"""What is wrong with the modes of a configuration, as far as it can be seen without starting anything."""

from collections.abc import Iterator
from pathlib import Path

from ghx_bench._base.documents import Document, problem
from ghx_bench._base.errors import DocumentError, InputError
from ghx_bench._base.problems import Problem
from ghx_bench.eval.config import EvalConfig
from ghx_bench.eval.mode_definitions import Definitions, ModeDefinition
from ghx_bench.eval.mode_entries import load_mode_definition


def mode_problems(document: Document, config: EvalConfig) -> Iterator[Problem]:
    """Yield what is wrong with files of modes, with what modes extend, and with names that nobody knows."""
    filed, problems = _filed(config, document.path.parent)
    yield from problems
    if problems:
        return  # the modes of these files would only seem to be unknown
    try:
        definitions = Definitions((*config.mode_definitions, *filed))
    except InputError as error:
        yield problem(document, "/modes", str(error))
        return
    for index, name in enumerate(config.modes):
        try:
            definitions.lineage(name)
        except InputError as error:
            yield problem(document, f"/modes/{index}", str(error))


def _filed(config: EvalConfig, folder: Path) -> tuple[list[ModeDefinition], list[Problem]]:
    definitions: list[ModeDefinition] = []
    problems: list[Problem] = []
    for file in config.mode_files:
        try:
            definitions.append(load_mode_definition(folder / file))
        except DocumentError as error:
            problems += error.problems
    return definitions, problems
