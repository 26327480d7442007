"""Everything wrong with a project's files: scenarios, sets, fixtures, manifests, configurations; alone and together."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from ghx_bench._base.errors import InputError
from ghx_bench.documents import (
    Document,
    DocumentError,
    Problem,
    problem,
    problems_of,
    read_document,
    validate_document,
)
from ghx_bench.eval.checking.config_rules import choice_problems, chosen_ids, config_doubts, config_problems, unknown
from ghx_bench.eval.checking.fixture_references import mistakes_in_fixtures
from ghx_bench.eval.checking.known_names import Configured, Surroundings, built_in_ids
from ghx_bench.eval.checking.mode_rules import mode_file_problems
from ghx_bench.eval.checking.scenario_rules import Known, find_doubts
from ghx_bench.eval.checking.solution_rules import Solutions, solved_by
from ghx_bench.eval.fixtures.library import read_fixture, repeated_name
from ghx_bench.eval.project.config import EvalConfig
from ghx_bench.eval.project.custom_scorers import scorer_names
from ghx_bench.eval.project.file_kinds import Kind, kind_by_name, kind_of, mentions_ours, record_in
from ghx_bench.eval.project.folders import CONFIG_FILE, PathLike, documents_in
from ghx_bench.eval.project.loader import read_scenario, read_sets, repeated_id
from ghx_bench.eval.scenario.binding import variable_names
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.eval.scenario.manifest import FixtureManifest
from ghx_bench.profiler.scenario import ScenarioSets

T = TypeVar("T")

_NOT_OURS = ("__pycache__", "node_modules", "results", "reports")
"""Folders in which nobody keeps what is checked here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedFile:
    """A file that was looked into, and what it is; `None` where it could not be told."""

    path: Path
    kind: Kind | None


@dataclass(slots=True, kw_only=True)
class Inspection:
    """What was looked into, what is wrong with it, and what is allowed but probably not meant."""

    files: list[InspectedFile] = field(default_factory=list[InspectedFile])
    problems: list[Problem] = field(default_factory=list[Problem])
    doubts: list[Problem] = field(default_factory=list[Problem])


def inspect_files(paths: Sequence[PathLike], *, config: PathLike | None = None) -> Inspection:
    """Look into the files named, and into those files of the folders named that are ours.

    The scorers that scenarios may name are those of the configurations among the files, and of `config`; without one,
    of the current folder's `eval.config.yaml`. The files with these scorers are executed.
    """
    inspector = _Inspector()
    for path in map(Path, paths):
        if path.is_dir():
            top = os.path.basename(os.path.realpath(path))  # noqa: PTH119 - resolve() fails where links form a circle
            for file in documents_in(path, skip=_NOT_OURS):
                inspector.read(file, (top, *file.relative_to(path).parts[:-1]), is_named=False)
        else:
            inspector.read(path, (path.parent.name,) if path.is_absolute() else path.parts[:-1], is_named=True)
    if config is not None:
        inspector.read(Path(config), (), is_named=True, kind="configuration")
    return inspector.finish(beside=Path(CONFIG_FILE) if config is None else None)


class _Inspector:
    """Reads all files first, because what one may name depends on the others."""

    def __init__(self) -> None:
        self._result = Inspection()
        self._documents: dict[Kind, list[Document]] = {}
        self._seen: set[str] = set()
        self._scenarios: dict[str, Path] = {}
        self._tags: dict[str, tuple[str, ...]] = {}
        self._variables: dict[str, frozenset[str]] = {}
        self._sets: dict[str, Sequence[str]] = {}
        self._configs: list[Configured] = []

    def read(self, path: Path, folders: Collection[str], *, is_named: bool, kind: Kind | None = None) -> None:
        """Read a file, found in these folders; it is a `kind`, or whatever its name and content tell."""
        if os.path.realpath(path) in self._seen:
            return
        try:
            document = read_document(path)
        except DocumentError as error:
            self._add_unreadable(path, kind or kind_by_name(path, folders), error, is_named=is_named)
            return
        kind = kind or kind_of(document.value, path, folders, is_named=is_named)
        if kind:
            self._documents.setdefault(kind, []).append(document)
        elif is_named:
            self._result.problems.append(_unrecognised(document))
        if kind or is_named:
            self._note(path, kind)

    def _add_unreadable(self, path: Path, kind: Kind | None, error: DocumentError, *, is_named: bool) -> None:
        if not (is_named or kind or mentions_ours(path)):
            return
        self._note(path, kind)
        self._result.problems += error.problems
        if kind == "scenario":
            self._scenarios.setdefault(path.stem, path)  # so that nobody is told that it does not exist

    def finish(self, *, beside: Path | None) -> Inspection:
        """Check everything that was read; `beside` is a configuration whose scorers are known as well."""
        scorers = self._check_configurations(beside)
        manifests = [each for _, each in self._validated("manifest", partial(validate_document, model=FixtureManifest))]
        self._check_fixtures()
        around = self._surroundings(beside)
        fixtures = around.fixtures(self._documents.get("fixture", ()), manifests) if around else None
        known = Known(scorers=scorers, fixtures=fixtures)
        solved = {solved_by(each.path) for each in self._documents.get("solution", ())}
        for document, scenario in self._validated("scenario", partial(read_scenario, known=known)):
            self._add_scenario(document, scenario, known)
            # Scenarios themselves are not kept: there may be many, and little of them is asked for later.
            self._tags.setdefault(scenario.id, scenario.tags)
            if scenario.id in solved:
                self._variables.setdefault(scenario.id, variable_names(scenario))
        for document, sets in self._validated("sets", read_sets):
            self._sets.update(sets.root)
            self._result.problems += self._check_sets(document, sets)
        for document in self._documents.get("mode", ()):
            self._result.problems += mode_file_problems(document)
        self._check_solutions(around)
        for each in self._configs:
            self._result.problems += choice_problems(each, self._scenarios, self._sets)
        return self._sorted()

    def _sorted(self) -> Inspection:
        """Return the result in the order of files and lines, each thing once, be it found in two ways."""
        for found in (self._result.problems, self._result.doubts):
            found[:] = sorted(dict.fromkeys(found), key=lambda each: (each.file, each.line or 0, each.column or 0))
        return self._result

    def _surroundings(self, beside: Path | None) -> Surroundings | None:
        """Return what is around the files; None where a configuration is wrong, and nobody knows what it meant."""
        is_known = len(self._configs) == sum(each.kind == "configuration" for each in self._result.files)
        return Surroundings.around(self._configs, beside) if is_known else None

    def _check_solutions(self, around: Surroundings | None) -> None:
        solutions = Solutions(self._scenarios, self._variables)
        for document in self._documents.get("solution", ()):
            problems, doubts = solutions.inspect(document, around.modes if around else None)
            self._result.problems += problems
            self._result.doubts += doubts
        for each in self._configs:
            chosen = chosen_ids(each.placed, self._sets, self._tags)
            self._result.doubts += solutions.missing(each, chosen)

    def _check_fixtures(self) -> None:
        seen: dict[str, Path] = {}
        for document, fixture in self._validated("fixture", read_fixture):
            first = seen.setdefault(fixture.name, document.path)
            if first != document.path:
                self._result.problems.append(repeated_name(document, fixture.name, first))
            if document.path.stem != fixture.name:
                said = f"the file is called {document.path.name!r} and the fixture {fixture.name!r}"
                self._result.doubts.append(problem(document, "/name", said, "call both the same"))

    def _check_configurations(self, beside: Path | None) -> Callable[[], frozenset[str]]:
        """Check the configurations; return how to find the scorers that scenarios may name because of them."""
        names = scorer_names()
        for document, config in self._validated("configuration", partial(validate_document, model=EvalConfig)):
            self._configs.append(Configured.of(document, config))
            self._result.doubts += config_doubts(document, config)
            self._result.problems += config_problems(document, config)
            names |= self._scorers_of(document, config)
            for file in config.mode_files:
                self._note(document.path.parent / file, "mode")

        @cache
        def every_name() -> frozenset[str]:
            return names | self._scorers_beside(beside)

        return every_name

    def _scorers_beside(self, path: Path | None) -> frozenset[str]:
        """Return the scorers of a configuration that was not asked for; it matters only if a scenario names one."""
        if path is None or os.path.realpath(path) in self._seen or not path.is_file():
            return frozenset()
        try:
            document = read_document(path)
            return self._scorers_of(document, validate_document(document, EvalConfig))
        except DocumentError as error:
            self._result.problems += error.problems
            return frozenset()

    def _scorers_of(self, document: Document, config: EvalConfig) -> frozenset[str]:
        try:
            return scorer_names(config.scorers)
        except InputError as error:
            self._result.problems.append(problem(document, "/scorers", str(error)))
            return frozenset()

    def _add_scenario(self, document: Document, scenario: EvalScenario, known: Known) -> None:
        first = self._scenarios.setdefault(scenario.id, document.path)
        if first != document.path:
            self._result.problems.append(repeated_id(document, scenario.id, first))
        if known.fixtures is not None:
            found = problems_of(document, mistakes_in_fixtures(scenario, known.fixtures))
            (self._result.problems if known.fixtures.is_certain else self._result.doubts).extend(found)
        self._result.doubts += problems_of(document, find_doubts(scenario, known))
        if document.path.stem != scenario.id:
            said = f"the file is called {document.path.name!r} and the scenario {scenario.id!r}"
            self._result.doubts.append(problem(document, "/id", said, "call both the same to find one by the other"))

    def _check_sets(self, document: Document, sets: ScenarioSets) -> Iterator[Problem]:
        if not self._scenarios:
            return  # the sets were given alone
        known = {*self._scenarios, *built_in_ids()}
        for name, ids in sets.root.items():
            for index, each in enumerate(ids):
                if each not in known:
                    yield unknown(document, (name, index), "scenario", each, known)

    def _validated(self, kind: Kind, validate: Callable[[Document], T]) -> Iterator[tuple[Document, T]]:
        for document in self._documents.get(kind, []):
            try:
                record = validate(document)
            except DocumentError as error:
                self._result.problems += error.problems
                if kind == "scenario":
                    self._remember_id(document)
            else:
                yield document, record

    def _remember_id(self, document: Document) -> None:
        """Remember a scenario that is wrong, so that nobody is told that it does not exist."""
        id_ = document.value.get("id") if isinstance(document.value, dict) else None
        if isinstance(id_, str):
            self._scenarios.setdefault(id_, document.path)

    def _note(self, path: Path, kind: Kind | None) -> None:
        place = os.path.realpath(path)
        if place not in self._seen:
            self._seen.add(place)
            self._result.files.append(InspectedFile(path=path, kind=kind))


def _unrecognised(document: Document) -> Problem:
    record = record_in(document.value)
    if record:
        return problem(document, "", f"this is {record}, not a file that people write", "leave it out")
    told = (
        "a scenario has 'prompt' and 'assertions', a fixture 'name' and 'issues' or 'pulls', a manifest 'seedId' and "
        "'fixtures', a configuration 'modes', a mode 'name' and 'extends' or 'tools', and sets are lists of scenario "
        "ids by name"
    )
    return problem(document, "", "it cannot be told what this file is", told)
