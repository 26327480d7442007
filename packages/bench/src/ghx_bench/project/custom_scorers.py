"""The scorers that `custom` conditions may name: those of installed packages, and those of a project's own file."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import ClassVar, cast

from ghx_base.errors import InputError
from ghx_base.problems import Tokens
from ghx_bench.project.object_references import explain_import, load_from_file
from ghx_bench.scenario.condition_base import Condition, CustomScorer
from ghx_bench.scenario.conditions import Custom
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.errors import UnknownNameError

ENTRY_POINTS = "ghx_bench.scorers"
"""The group under which packages register scorers: `name = "module:function"`."""

IN_PROJECT_FILE = "SCORERS"
"""The object in a project's file: a dict from names to functions."""


class BadScorerError(InputError):
    """A registered scorer cannot be imported, or is not a function."""

    code: ClassVar[str] = "BAD_SCORER"


def scorer_names(project_file: Path | None = None) -> frozenset[str]:
    """Return the names of all registered scorers; of all code, only the project's file is executed for it."""
    return frozenset([*_find_installed(), *_load_from_project(project_file)])


def load_scorers(names: Iterable[str], project_file: Path | None = None) -> dict[str, CustomScorer]:
    """Import the scorers with these names; the project's own go before installed ones of the same name."""
    own, installed = _load_from_project(project_file), _find_installed()
    scorers: dict[str, CustomScorer] = {}
    for name in names:
        if name in own:
            scorers[name] = own[name]
        elif name in installed:
            scorers[name] = _import_scorer(installed[name])
        else:
            raise UnknownNameError("custom scorer", name, known={*own, *installed})
    return scorers


def scorers_named_in(scenarios: Iterable[EvalScenario]) -> frozenset[str]:
    """Return the names of the custom scorers that scenarios need."""
    return frozenset(
        custom.scorer
        for scenario in scenarios
        for checkpoint in scenario.assertions.checkpoints
        for _, custom in custom_conditions_in(checkpoint.condition)
    )


def custom_conditions_in(condition: Condition, at: Tokens = ()) -> Iterator[tuple[Tokens, Custom]]:
    """Yield the `custom` conditions in a condition, and where they are."""
    for part in condition.walk(at):
        if isinstance(part.condition, Custom):
            yield part.tokens, part.condition


@cache
def _find_installed() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _import_scorer(entry: EntryPoint) -> CustomScorer:
    try:
        scorer = entry.load()
    except (Exception, SystemExit) as error:
        # Plugin call: another package's module may raise anything while it is imported, and may even end the program.
        reason = explain_import(error)
        raise BadScorerError(f"scorer {entry.name!r} ({entry.value}) cannot be imported: {reason}") from error
    return _require_function(entry.name, scorer, entry.value)


def _load_from_project(path: Path | None) -> Mapping[str, CustomScorer]:
    if path is None:
        return {}
    scorers = cast("dict[object, object]", load_from_file(path, IN_PROJECT_FILE, dict))
    return {str(name): _require_function(str(name), scorer, str(path)) for name, scorer in scorers.items()}


def _require_function(name: str, scorer: object, place: str) -> CustomScorer:
    if not callable(scorer):
        raise BadScorerError(f"scorer {name!r} ({place}) is a {type(scorer).__name__}, not a function")
    return cast("CustomScorer", scorer)
