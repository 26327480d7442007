"""Everything wrong with a project's files: scenarios, sets, fixtures, manifests, configurations; alone and together."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from ghx_bench._base.documents import (
    Document,
    DocumentError,
    Problem,
    problem,
    problems_of,
    read_document,
    validate_document,
)
from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import did_you_mean, pointer_of, shortened
from ghx_bench.agents.solution import SUFFIX, SolutionFile
from ghx_bench.eval.config import EvalConfig
from ghx_bench.eval.examination import Known, find_doubts
from ghx_bench.eval.fixtures.library import read_fixture, repeated_name
from ghx_bench.eval.folders import CONFIG_FILE, PathLike, documents_in
from ghx_bench.eval.kinds import Kind, kind_by_name, kind_of, mentions_ours
from ghx_bench.eval.loader import read_scenario, repeated_id
from ghx_bench.eval.manifest import FixtureManifest
from ghx_bench.eval.mode_inspection import mode_problems
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.scorers import scorer_names
from ghx_bench.eval.sets import read_sets
from ghx_bench.eval.templates import Tokens
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
        self._sets: set[str] = set()
        self._configs: list[tuple[Document, EvalConfig]] = []

    def read(self, path: Path, folders: Collection[str], *, is_named: bool, kind: Kind | None = None) -> None:
        """Read a file, found in these folders; it is a `kind`, or whatever its name and content tell."""
        if os.path.realpath(path) in self._seen:
            return
        try:
            document = read_document(path)
        except DocumentError as error:
            self._add_unreadable(path, kind or kind_by_name(path, folders), error, is_named=is_named)
            return
        kind = kind or kind_of(document.value, path, folders)
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
        known = self._check_configurations(beside)
        for document, scenario in self._validated("scenario", partial(read_scenario, known=known)):
            self._add_scenario(document, scenario, known)
        for document, sets in self._validated("sets", read_sets):
            self._sets.update(sets.names())
            self._result.problems += self._check_sets(document, sets)
        self._result.problems += self._check_choices()
        self._check_fixtures()
        for _ in self._validated("manifest", partial(validate_document, model=FixtureManifest)):
            pass  # nothing else depends on it
        self._check_solutions()
        for found in (self._result.problems, self._result.doubts):
            found.sort(key=lambda each: (each.file, each.line or 0, each.column or 0))
        return self._result

    def _check_solutions(self) -> None:
        for document, _ in self._validated("solution", partial(validate_document, model=SolutionFile)):
            id_ = document.path.name.removesuffix(SUFFIX)
            if id_ not in self._scenarios:
                said = f"there is no scenario {id_!r} that this could be a solution of"
                hint = did_you_mean(id_, self._scenarios, otherwise="a solution has the name of its scenario")
                self._result.doubts.append(problem(document, "", said, hint))

    def _check_fixtures(self) -> None:
        seen: dict[str, Path] = {}
        for document, fixture in self._validated("fixture", read_fixture):
            first = seen.setdefault(fixture.name, document.path)
            if first != document.path:
                self._result.problems.append(repeated_name(document, fixture.name, first))
            if document.path.stem != fixture.name:
                said = f"the file is called {document.path.name!r} and the fixture {fixture.name!r}"
                self._result.doubts.append(problem(document, "/name", said, "call both the same"))

    def _check_configurations(self, beside: Path | None) -> Known:
        """Check the configurations; return what scenarios may name because of them."""
        names = scorer_names()
        for document, config in self._validated("configuration", partial(validate_document, model=EvalConfig)):
            self._configs.append((document, config))
            self._result.doubts += [Problem(file=str(document.path), reason=note) for note in config.notes()]
            self._result.problems += mode_problems(document, config)
            names |= self._scorers_of(document, config)

        @cache
        def every_name() -> frozenset[str]:
            return names | self._scorers_beside(beside)

        return Known(scorers=every_name)

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
        self._result.doubts += problems_of(document, find_doubts(scenario, known))
        if document.path.stem != scenario.id:
            said = f"the file is called {document.path.name!r} and the scenario {scenario.id!r}"
            self._result.doubts.append(problem(document, "/id", said, "call both the same to find one by the other"))

    def _check_sets(self, document: Document, sets: ScenarioSets) -> Iterator[Problem]:
        if not self._scenarios:
            return  # the sets were given alone
        for name, ids in sets.root.items():
            for index, each in enumerate(ids):
                if each not in self._scenarios:
                    yield self._unknown(document, (name, index), "scenario", each, self._scenarios)

    def _check_choices(self) -> Iterator[Problem]:
        """Yield what configurations choose that is not there, as far as it was looked for."""
        for document, config in self._configs:
            chosen = config.scenarios
            if chosen.set is not None and self._sets and chosen.set not in self._sets and not chosen.ids:
                yield self._unknown(document, ("scenarios", "set"), "set", chosen.set, self._sets)
            for index, each in enumerate(chosen.ids):
                if self._scenarios and each not in self._scenarios:
                    yield self._unknown(document, ("scenarios", "ids", index), "scenario", each, self._scenarios)

    def _unknown(self, document: Document, tokens: Tokens, kind: str, name: str, known: Collection[str]) -> Problem:
        reason = f"there is no {kind} {shortened(name)}"
        return problem(document, pointer_of(tokens), reason, did_you_mean(name, sorted(known)))

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
        self._seen.add(os.path.realpath(path))
        self._result.files.append(InspectedFile(path=path, kind=kind))


def _unrecognised(document: Document) -> Problem:
    told = (
        "a scenario has 'prompt' and 'assertions', a fixture 'name' and 'issues' or 'pulls', a manifest 'seedId' and "
        "'fixtures', a configuration 'modes', and sets are lists of scenario ids by name"
    )
    return problem(document, "", "it cannot be told what this file is", told)
